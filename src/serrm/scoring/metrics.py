"""The metrics: one record each, by name, from which scoring, tables and figures read what differs.

A custom metric is a function and an entry of METRICS. Training imports nothing from here, so a change repeats none.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np
from jaxtyping import Bool, Shaped, UInt8

from serrm.core.entries import Entries
from serrm.puzzles.task import PADDING, GridTask, Rule, obey
from serrm.puzzles.tasks import TASKS

CONFIDENCE_LEVEL: Final = 0.95  # of all intervals
PASS_AT: Final = (1, 2, 5, 10, 100, 1000)  # the k of pass@k
NUM_ANSWERS_ALLOWED: Final = 2  # per test input by ARC-AGI's rules; one has to be right


class Batch(NamedTuple):
    """N puzzles of a task with their predictions and answers (the labels), all as tokens."""

    questions: UInt8[np.ndarray, "N I"]
    predictions: UInt8[np.ndarray, "N I"]
    answers: UInt8[np.ndarray, "N I"]
    """The labels, with PADDING at the positions that have none; a metric must leave these out."""
    task: GridTask

    @property
    def is_open(self) -> Bool[np.ndarray, "N I"]:
        """The cells to fill; the label's padding is none of them."""
        return np.asarray(self.task.is_open(self.questions) & (self.answers != PADDING))


def wilson(successes: float | int, num: float | int, level: float = CONFIDENCE_LEVEL) -> tuple[float, float]:
    """Compute the Wilson score interval of a proportion, without continuity correction, as two fractions in 0..1.

    Successes may be fractional, as the credits of ARC-AGI puzzles with several test inputs are, and so may trials, as
    an effective number of puzzles is.
    Source: Wilson (1927), https://doi.org/10.1080/01621459.1927.10502953, in its closed form.

    Raises:
        ValueError: no trials, successes outside 0..num, or a level outside 0..1.
    """
    if num < 1:
        raise ValueError(f"a Wilson interval needs at least one trial, not {num}")
    if not 0 <= successes <= num:
        raise ValueError(f"successes must lie in 0..{num}, not {successes}")
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not {level}")
    z = NormalDist().inv_cdf((1 + level) / 2)
    rate = successes / num
    centre = (rate + z**2 / (2 * num)) / (1 + z**2 / num)
    half = z * math.sqrt(rate * (1 - rate) / num + z**2 / (4 * num**2)) / (1 + z**2 / num)
    # Rounding must not push the ends past the rate itself, which they meet at no and at all successes.
    return min(rate, max(0.0, centre - half)), max(rate, min(1.0, centre + half))


def normal(total: float | int, num: int, squares: float | int) -> tuple[float, float]:
    """Compute the normal interval of a mean, from the sums of `num` values and of their squares."""
    mean = total / num
    variance = max(0.0, squares - total * mean) / max(1, num - 1)
    half = NormalDist().inv_cdf((1 + CONFIDENCE_LEVEL) / 2) * math.sqrt(variance / num)
    return mean - half, mean + half


Sums = Mapping[str, float | int]


def sums_of_values(values: Shaped[np.ndarray, " trials"]) -> dict[str, float | int]:
    """Count the values, and sum them and their squares."""
    wide = values.astype(np.result_type(values, np.int64))  # squares of small integers would overflow
    return {"num": len(wide), "total": wide.sum().item(), "squares": (wide * wide).sum().item()}


def sums_of_counts(counts: Shaped[np.ndarray, "N 2"]) -> dict[str, float | int]:
    """Sum counts of right and of all cells over puzzles, their squares and products."""
    right, cells = counts.astype(np.int64).T
    squares = {"squares": right @ right, "num_squares": cells @ cells, "products": right @ cells}
    return {
        "puzzles": len(counts),
        "num": cells.sum().item(),
        "total": right.sum().item(),
        **{name: value.item() for name, value in squares.items()},
    }


def effective_cells(sums: Sums) -> float:
    """Count the independent cells that would give the rate of right cells as exactly as these puzzles do.

    The variance of the ratio of sums is that of its residuals over puzzles, right − rate · cells (Cochran, Sampling
    Techniques, 3rd edition, section 6.3). The number is at least 1 and at most all cells. If there is no variance, as
    with all cells right, it is the number of puzzles.
    """
    num, total, puzzles = sums["num"], sums["total"], sums["puzzles"]
    # The sum of squared residuals times num², in whole numbers, so that no rounding makes it up.
    residuals = sums["squares"] * num**2 - 2 * total * num * sums["products"] + total**2 * sums["num_squares"]
    if residuals == 0:
        return float(puzzles)
    variance = puzzles / max(1, puzzles - 1) * (residuals / num**4)
    return min(float(num), max(1.0, total * (num - total) / num**2 / variance))


def _with_ends(name: str, sums: Sums, ends: tuple[float, float]) -> dict[str, float]:
    return {name: sums["total"] / sums["num"], f"{name}_lo": ends[0], f"{name}_hi": ends[1]}


class Statistic(NamedTuple):
    """How a metric's values become a score: sums over batches, the scores by (name, sums), factor and sign in print."""

    sums: Callable[[Shaped[np.ndarray, "..."]], dict[str, float | int]]
    scores: Callable[[str, Sums], dict[str, float]]
    factor: int
    sign: str


RATE: Final = Statistic(
    sums_of_values, lambda name, sums: _with_ends(name, sums, wilson(sums["total"], sums["num"])), 100, "%"
)
MEAN: Final = Statistic(
    sums_of_values,
    lambda name, sums: _with_ends(name, sums, normal(sums["total"], int(sums["num"]), sums["squares"])),
    1,
    "",
)
RATIO: Final = Statistic(
    sums_of_counts,
    lambda name, sums: {name: sums["total"] / sums["num"], f"{name}_effective": effective_cells(sums)},
    100,
    "%",
)


def interval(name: str, statistic: Statistic, scores: Mapping[str, float]) -> tuple[float, float]:
    """Find the ends of a score's 95% interval, NaN where they are not known.

    Of a RATIO it is Wilson's with the effective number of cells. Older scores lack the number: they have Wilson
    intervals of independent cells, which are four to five times too narrow.
    """
    if statistic is RATIO:
        num = scores.get(f"{name}_effective")
        return (math.nan, math.nan) if num is None else wilson(scores[name] * num, num)
    return scores.get(f"{name}_lo", math.nan), scores.get(f"{name}_hi", math.nan)


@dataclass(frozen=True)
class Metric:
    """A metric: its names, and its values over a batch, one per trial.

    Cells of a puzzle depend on one another, so a rate of cells is a RATIO, whose values are pairs per puzzle: right
    cells, and all that count.
    """

    name: str  # on axes and in sentences
    short: str  # in columns
    # None: pass@k, which `ArcTally` counts.
    values: Callable[[Batch], Shaped[np.ndarray, "trials *_"]] | None = None
    statistic: Statistic = RATE
    tasks: tuple[str, ...] = ()  # that have it; empty: all on square grids, or all whose answers vote
    meaning: str = ""  # of a rule of the task, beneath tables
    is_listed: bool = True  # in lists of scores, not only in a table of its own

    def __post_init__(self) -> None:
        assert all(task in TASKS for task in self.tasks), f"{self.name}: {self.tasks} are not all tasks"

    @property
    def is_of_votes(self) -> bool:
        """True if it counts the votes on ARC-AGI, and not a batch of predictions."""
        return self.values is None

    @property
    def is_criterion(self) -> bool:
        """True if it counts the predictions that obey a rule of the task."""
        return bool(self.meaning)

    def is_of(self, task: str) -> bool:
        """Return True if puzzles of this task, a key of TASKS, are scored by it."""
        has_votes = not isinstance(TASKS[task], GridTask)
        return self.is_of_votes == has_votes and (not self.tasks or task in self.tasks)


def are_solved(batch: Batch) -> Shaped[np.ndarray, " N"]:
    """Find the right predictions, by the task's rule or by the label (`Task.right_answers`)."""
    return batch.task.are_right(batch.questions, batch.predictions, batch.answers)


def right_cells(batch: Batch) -> Shaped[np.ndarray, "N 2"]:
    """Count the cells that agree with the label, and the cells to fill."""
    is_right = (batch.predictions == batch.answers) & batch.is_open
    return np.stack([is_right.sum(axis=1), batch.is_open.sum(axis=1)], axis=1)


def are_obeying(rule: Rule, batch: Batch) -> Shaped[np.ndarray, " N"]:
    """Find the predictions that obey a rule of the task."""
    return obey(rule, batch.questions, batch.predictions)


METRICS: Final = Entries[Metric](
    {
        "fsr": Metric("Fully solved rate", "FSR", are_solved),
        "gpa": Metric("Grid-point accuracy", "GPA", right_cells, RATIO),
        **{f"pass_at_{k}": Metric(f"pass@{k}", f"pass@{k}", is_listed=k <= 2) for k in PASS_AT},
    }
)


def metrics_of(task: str) -> Mapping[str, Metric]:
    """List the metrics of a task, a key of TASKS, by name: those of METRICS for the task, then its criteria."""
    record = TASKS[task]
    metrics = {name: metric for name, metric in METRICS.items() if metric.is_of(task)}
    criteria = record.criteria if isinstance(record, GridTask) else {}
    return metrics | {
        name: Metric(rule.name, rule.name, partial(are_obeying, rule.holds), meaning=rule.meaning)
        for name, rule in criteria.items()
    }
