"""How fast this machine is, by a second's measurement, and the line that says what a workload will take here.

The measurement is a plain product of matrices as wide as those of the run, in the arithmetic it will use. Whole stages
reach a share of that rate, measured once for each way of computing (docs/performance.md). Making or fetching puzzles is
not in it.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from serrm.planning.workload import Stage
from serrm.progress import duration
from serrm.training.settings import Execution

MEASURE_SECONDS = 1.0
LEAST_OPERATIONS = 4e9  # of the product: long enough for two threads to meet on a busy machine
MOST_ROWS = 2**14  # more are no faster, and those of a whole batch at the paper's size do not fit into memory
# Of the rate of plain products: native kernels, without and with tile registers; PyTorch's, on a GPU a guess.
SHARES = {"native": 0.58, "tiles": 0.17, "cpu": 0.55, "cuda": 0.35}
# Of a stage besides its arithmetic: DVC, imports, MLflow, the trial before a training, reading and writing.
COMPUTING_SECONDS, DATA_SECONDS = 5.0, 1.5
PREFIXES = ("", "k", "M", "G", "T", "P", "E", "Z")


@dataclass(frozen=True)
class Rate:
    """Operations a second that stages reach; measured here in some arithmetic, or None if it was given."""

    operations: float
    precision: str | None = None


def measured_rate(product: tuple[int, int], execution: Execution) -> Rate:
    """The rate of [rows × width]·[width × 6·width] here, times the share that the run's way of computing reaches."""
    import torch

    from serrm.kernels.cpu.build import may_use_tiles
    from serrm.training.device import has_fast_bfloat16, prepare_device

    device = prepare_device(execution)
    is_short = has_fast_bfloat16(device)
    way = device.type
    if is_short and way == "cpu" and execution.native:
        way = "tiles" if may_use_tiles() else "native"
    dtype = torch.bfloat16 if is_short else torch.float32
    width = product[1]
    rows = max(min(product[0], MOST_ROWS), int(LEAST_OPERATIONS / (12 * width**2)))
    left, right, made = (
        torch.ones(shape, device=device, dtype=dtype)
        for shape in ((rows, width), (6 * width, width), (rows, 6 * width))
    )
    taken: list[float] = []
    end = time.perf_counter() + MEASURE_SECONDS
    while not taken or time.perf_counter() < end:
        start = time.perf_counter()
        torch.mm(left, right.T, out=made)
        made[-1, -1].item()  # waits for a GPU
        taken.append(time.perf_counter() - start)
    fastest = 12 * rows * width**2 / min(taken)  # the others were disturbed
    return Rate(SHARES[way] * fastest, str(dtype).removeprefix("torch."))


def seconds_of(stages: Sequence[Stage], rate: float) -> float:
    """What the stages take one after the other."""
    processes = sum(COMPUTING_SECONDS if stage.operations else DATA_SECONDS for stage in stages)
    return sum(stage.operations for stage in stages) / rate + processes


def words(profile: str, stages: Sequence[Stage], rate: Rate) -> str:
    """The forecast in a line."""
    num = sum(stage.name == "train" for stage in stages)
    trainings = "1 training" if num == 1 else f"{num} trainings"
    needs = f"{trainings}, at most {with_prefix(sum(stage.operations for stage in stages))}FLOP in all"
    pace = f"{with_prefix(rate.operations)}FLOP/s"
    pace = f"at {pace}" if rate.precision is None else f"this machine does about {pace} in {rate.precision}"
    takes = f"about {duration(seconds_of(stages, rate.operations))}"
    return f"profile {profile}: {needs}; {pace}: {takes}"


def with_prefix(number: int | float) -> str:
    """ "38 T", "0.64 P": two digits and the prefix of a unit."""
    power = 0
    while number >= 999.5 and power < len(PREFIXES) - 1:
        number, power = number / 1000, power + 1
    return f"{number:.{0 if number >= 9.95 else 1}f} {PREFIXES[power]}"
