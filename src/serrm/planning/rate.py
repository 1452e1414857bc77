"""How fast this machine is, by a few seconds' measurement, and the line that says what a workload will take here.

Tried is what takes the time: of each family's longest training, forward and backward passes of some puzzles, random
tokens that cost what puzzles cost. A product of matrices says little: between machines alike in it, trainings differ
two- to threefold (docs/performance.md). Nothing is compiled for it but native kernels, so that trainings that run
compiled are faster. Making or fetching puzzles is not in it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from serrm.planning.workload import Stage
from serrm.progress import duration
from serrm.puzzles.alphabet import alphabet
from serrm.training.settings import Execution, TrainCell

if TYPE_CHECKING:
    import torch

    from serrm.training.loop import Trainer

TRIAL_SECONDS = 0.25  # a pass of as many puzzles as take so long, at most a whole batch
NUM_PASSES = 3
# Of a stage besides its arithmetic: DVC, imports, MLflow, the trial before a training, reading and writing.
COMPUTING_SECONDS, DATA_SECONDS = 5.0, 1.5
PREFIXES = ("", "k", "M", "G", "T", "P", "E", "Z")


@dataclass(frozen=True)
class Rate:
    """Operations a second that stages reach; measured here in some arithmetic, or None if it was given."""

    operations: float
    precision: str | None = None


def measured_rate(stages: Sequence[Stage], execution: Execution) -> Rate:
    """What the trainings and evaluations among the stages reach here: a trial of each family's longest cell.

    The evaluations count at the rate of trainings.
    """
    from serrm.training.device import prepare_device

    device = prepare_device(execution)
    longest: dict[str, tuple[TrainCell, int]] = {}
    operations: Counter[str] = Counter()
    for stage in sorted(stages, key=lambda each: each.operations):
        if stage.cell is not None:
            family = stage.cell.model.family
            longest[family] = stage.cell, stage.side
            operations[family] += stage.operations
    tried = {family: _tried(*cell_and_side, execution, device) for family, cell_and_side in longest.items()}
    seconds = sum(number / tried[family].operations for family, number in operations.items())
    precisions = sorted({rate.precision for rate in tried.values() if rate.precision is not None})
    return Rate(operations.total() / seconds, " and ".join(precisions))


def _tried(cell: TrainCell, side: int, execution: Execution, device: "torch.device") -> Rate:
    """The rate of a training on grids of a side: the fastest of some passes, for the others were disturbed."""
    from serrm.arrays.stream import random_stream
    from serrm.kernels.accelerate import accelerate
    from serrm.models.operations import count_work
    from serrm.training.begin import build_cell_model
    from serrm.training.device import can_compile, has_fast_bfloat16
    from serrm.training.loop import Trainer

    is_short = has_fast_bfloat16(device) and (can_compile(device) or not cell.train.compile)
    precision = cell.train.precision if is_short else "float32"
    # A trial brings its own puzzles: of the trainer's slots, which would hold a state each, one will do.
    settings = cell.train.model_copy(update={"precision": precision, "compile": False, "batch_size": 1})
    stream = random_stream(side, alphabet(cell.task, side).num_symbols)
    model = build_cell_model(cell, stream).to(device)
    accelerate(model, is_native=execution.native, compiles=False)
    trainer = Trainer(model.train(), stream, settings, cell.seed)
    num, seconds = _trial(trainer, min(cell.train.batch_size, execution.micro_batch or cell.train.batch_size))
    work = count_work(cell.model, side**2, stream.num_symbols).training(settings.halting)
    return Rate(num * work / seconds, precision)


def _trial(trainer: "Trainer", most: int) -> tuple[int, float]:
    """(puzzles, seconds) of a pass, long enough to be timed if `most` puzzles are and the GPU can hold them."""
    import torch

    from serrm.training.device import seconds_of
    from serrm.training.estimate import sample_of

    def timed(num: int) -> float:
        sample = sample_of(trainer, num)
        return seconds_of(lambda: trainer.work_on(sample), trainer.model.initial.device)

    timed(1)  # begins: memory, kernels
    num, seconds = 1, timed(1)
    try:
        while seconds < TRIAL_SECONDS and num < most:
            more = min(2 * num, most)
            num, seconds = more, timed(more)
        if seconds < 2 * TRIAL_SECONDS:
            seconds = min(seconds, *(timed(num) for _ in range(NUM_PASSES - 1)))
    except torch.cuda.OutOfMemoryError:
        pass  # what fitted is what is known
    return num, seconds


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
