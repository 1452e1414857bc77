"""How fast this machine is, by a second's measurement, and the line that says what a workload will take here.

The measurement is a plain product of matrices as large as those of the run, in the arithmetic it will use. Whole stages
reach a share of that rate, which was measured once for each way of computing (benchmarks/README.md).
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from serrm.config import Execution
from serrm.forecast.workload import Stage
from serrm.progress import duration

MEASURE_SECONDS = 1.0
# Of the rate of plain products: our native kernels; PyTorch's operations on a CPU, and on a GPU (not measured).
SHARES = {"native": 0.58, "cpu": 0.35, "cuda": 0.35}
PROCESS_SECONDS = 6.0  # of a stage besides its arithmetic: DVC, imports, MLflow, reading and writing
PREFIXES = ("", "k", "M", "G", "T", "P", "E", "Z")


@dataclass(frozen=True)
class Rate:
    """Operations a second that stages reach; measured here in some arithmetic, or None if it was given."""

    operations: float
    precision: str | None = None


def measured_rate(product: tuple[int, int], execution: Execution) -> Rate:
    """The rate of [rows × width]·[width × 6·width] here, times the share that the run's way of computing reaches."""
    import torch
    import torch.nn.functional as F

    from serrm.training.device import has_fast_bfloat16, prepare_device

    device = prepare_device(execution)
    is_short = has_fast_bfloat16(device)
    way = "native" if is_short and device.type == "cpu" and execution.native else device.type
    dtype = torch.bfloat16 if is_short else torch.float32
    rows, width = product
    left, right = (torch.ones(shape, device=device, dtype=dtype) for shape in (product, (6 * width, width)))
    num, start = -2, time.perf_counter()
    while (seconds := time.perf_counter() - start) < MEASURE_SECONDS or num < 1:
        if num == 0:
            start = time.perf_counter()  # the first two only warm up
        made = F.linear(left, right)
        made[-1, -1].item()  # waits for a GPU
        num += 1
    return Rate(SHARES[way] * num * 12 * rows * width**2 / seconds, str(dtype).removeprefix("torch."))


def seconds_of(stages: Sequence[Stage], rate: float) -> float:
    """What the stages take one after the other."""
    return sum(stage.operations for stage in stages) / rate + PROCESS_SECONDS * len(stages)


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
