"""Time beside the machine's own speed: a piece of work and a plain matrix product in turns, so that a drift hits both.

With one thread on a CPU the clock is that thread's processor time, which a busy machine does not lengthen; else it is
the wall clock.
"""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from serrm.training.device import seconds_of

# Rows, width and columns of the product whose rate is the measure. On a CPU the rows of 8 Sudokus with 4 registers and
# 11 planes and SwiGLU's first weight; on a GPU a product large enough to fill it, a millisecond or more.
PRODUCT = {"cpu": (7480, 256, 1536), "cuda": (8192, 8192, 8192)}
PRODUCTS = 4  # a turn


@dataclass(frozen=True)
class Timing:
    """Medians over the turns."""

    seconds: float
    rate: float  # operations a second of the matrix product just before and after
    share: float  # of that rate which the work reached, turn by turn


class Stopwatch:
    """Times work and matrix products on one device and dtype."""

    def __init__(self, device: torch.device, dtype: torch.dtype) -> None:
        self.device = device
        rng = torch.Generator().manual_seed(0)
        rows, width, columns = PRODUCT[device.type]
        self.operations = 2 * rows * width * columns
        self.left, self.right = (
            torch.randn(shape, generator=rng).to(device, dtype) for shape in ((rows, width), (columns, width))
        )

    def seconds(self, work: Callable[[], object]) -> float:
        """Seconds of one call, to the end of what it started on the device."""
        is_alone = self.device.type == "cpu" and torch.get_num_threads() == 1
        return seconds_of(work, self.device, time.thread_time if is_alone else time.perf_counter)

    def matrix_rate(self) -> float:
        """Operations a second of the matrix product."""
        seconds = self.seconds(lambda: [F.linear(self.left, self.right) for _ in range(PRODUCTS)])
        return PRODUCTS * self.operations / seconds

    def compare(
        self, works: Mapping[str, Callable[[], object]], operations: float, turns: int, warm_up: int = 2
    ) -> dict[str, Timing]:
        """Each work's timing; all of them and the matrix product take turns."""
        for _ in range(warm_up):
            for work in works.values():
                work()
            self.matrix_rate()
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
        for _ in range(turns):
            for name, work in works.items():
                before, seconds, after = self.matrix_rate(), self.seconds(work), self.matrix_rate()
                taken[name].append((seconds, (before + after) / 2))
        return {name: _timing(pairs, operations) for name, pairs in taken.items()}


def _timing(pairs: list[tuple[float, float]], operations: float) -> Timing:
    seconds, rates = zip(*pairs, strict=True)
    shares = [operations / taken / rate for taken, rate in pairs]
    return Timing(statistics.median(seconds), statistics.median(rates), statistics.median(shares))
