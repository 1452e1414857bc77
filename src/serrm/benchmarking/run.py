"""One case measured in a process of its own, so that its memory is its own; and all of them, as a table's rows."""

import gc
import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import torch

from serrm.benchmarking.cases import HALTING, STEPS, Case
from serrm.benchmarking.timing import Stopwatch, Timing
from serrm.models.formulations import DTYPES
from serrm.models.operations import count_work
from serrm.training.device import keep_memory, peak_memory, repeat_arithmetic


@dataclass(frozen=True)
class Setup:
    """Where and how often is measured."""

    device: str
    precision: str
    threads: int
    turns: int


@dataclass(frozen=True)
class Measured:
    """A case in training or evaluation: its engine's timing, the plain form's, and the memory it came to need."""

    case: Case
    kind: str
    operations: int  # a puzzle-step
    engine: Timing
    plain: Timing | None
    memory: int  # bytes at most, less what the process held before

    @property
    def throughput(self) -> float:
        """Puzzle-steps a second."""
        return self.case.batch_size / self.engine.seconds

    @property
    def rate(self) -> float:
        """Operations a second."""
        return self.throughput * self.operations

    @property
    def gain(self) -> float | None:
        """How many times as fast as the plain form, by shares of the rate measured beside each."""
        return None if self.plain is None else self.engine.share / self.plain.share


def measure(case: Case, kind: str, setup: Setup, *, has_plain: bool = True) -> Measured:
    """Measure in this process. `memory` means something only if nothing else was done in it."""
    torch.set_num_threads(setup.threads)
    keep_memory()
    device, step = torch.device(setup.device), STEPS[kind]
    repeat_arithmetic(device)  # as trainings and evaluations do
    watch = Stopwatch(device, DTYPES[setup.precision])
    work = count_work(case.settings, case.side**2, case.num_symbols)
    operations = work.training(HALTING) if kind == "training" else work.evaluation
    before = peak_memory(device)
    works = {"engine": step(case, device, setup.precision, is_plain=False)}
    works["engine"]()
    works["engine"]()
    gc.collect()
    memory = peak_memory(device) - before
    if has_plain:
        works["plain"] = step(case, device, setup.precision, is_plain=True)
    timings = watch.compare(works, float(operations * case.batch_size), setup.turns)
    return Measured(case, kind, operations, timings["engine"], timings.get("plain"), memory)


def measure_all(
    cases: Sequence[Case], kinds: Sequence[str], setup: Setup, *, has_plain: bool = True
) -> Iterator[Measured]:
    """Each case and kind, in a fresh process."""
    context = multiprocessing.get_context("spawn")
    for case in cases:
        for kind in kinds:
            with ProcessPoolExecutor(1, mp_context=context) as pool:
                yield pool.submit(measure, case, kind, setup, has_plain=has_plain).result()
