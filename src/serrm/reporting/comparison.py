"""Differences between two models' scores with 95% intervals, over puzzles and, with several seeds, over seeds too.

Over puzzles it is Newcombe's interval for a difference of two proportions, made of their Wilson intervals (hybrid score
interval, https://doi.org/10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I). Over seeds it is Welch's t
interval, or for one model after two numbers of steps the paired t interval. The distances of both intervals' ends from
the difference are added in squares (MOVER, Zou and Donner, https://doi.org/10.1002/sim.3095). As both models have the
same puzzles, but the interval takes them as independent, it is rather too wide.
"""

import math
from statistics import fmean, variance
from typing import Final, NamedTuple

from serrm.reporting.results import Score

LEVEL: Final = 0.975  # of a one-sided interval: both ends together leave 5%


class Difference(NamedTuple):
    """The difference of two scores in points, with its 95% interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """Such as "+13.28 (7.05 to 19.63)"."""
        return f"{self.value:+.2f} ({self.low:.2f} to {self.high:.2f})"


def difference(first: Score, second: Score, *, is_paired: bool = False) -> Difference:
    """The first score minus the second; `is_paired` if both are of the same runs in the same order."""
    seeds = first.seeds, second.seeds
    means, below, above = zip(*map(_over_puzzles, seeds), strict=True)
    values = [[value for value, _, _ in each] for each in seeds]
    by_seed = _paired(*values) if is_paired else _welch(*values)
    value = means[0] - means[1]
    low = value - math.hypot(below[0], above[1], by_seed)
    high = value + math.hypot(above[0], below[1], by_seed)
    return Difference(*(round(each, 2) for each in (value, low, high)))


def _over_puzzles(seeds: tuple[tuple[float, ...], ...]) -> tuple[float, float, float]:
    """The mean of the seeds, and the distances of the ends of its interval: those of the seeds, on average.

    All seeds have the same puzzles, so that the mean's error is at most the mean of their errors.
    """
    return (
        fmean(value for value, _, _ in seeds),
        fmean(value - low for value, low, _ in seeds),
        fmean(high - value for value, _, high in seeds),
    )


def _welch(first: list[float], second: list[float]) -> float:
    """Half of Welch's t interval; 0 with one seed each, or if no seed differs from another.

    A model with one seed is taken to vary as much as the other.
    """
    spread = [(variance(each), len(each) - 1) for each in (first, second) if len(each) > 1]
    if not any(of_model for of_model, _ in spread):
        return 0.0
    errors = [
        spread[min(place, len(spread) - 1)][0] / len(each) for place, each in enumerate((first, second))
    ]
    if len(spread) == 1:
        degrees = float(spread[0][1])
    else:
        degrees = sum(errors) ** 2 / sum(e**2 / num for e, (_, num) in zip(errors, spread, strict=True))
    return _quantile(degrees) * math.sqrt(sum(errors))


def _paired(first: list[float], second: list[float]) -> float:
    """Half of the t interval of the seeds' differences; 0 with one seed."""
    pairs = [one - other for one, other in zip(first, second, strict=True)]
    return (
        _quantile(float(len(pairs) - 1)) * math.sqrt(variance(pairs) / len(pairs)) if len(pairs) > 1 else 0.0
    )


def _quantile(degrees: float) -> float:
    """The quantile of Student's t distribution."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, LEVEL))
