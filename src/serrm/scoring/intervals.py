"""Differences between scores with 95% intervals, over puzzles and, with several seeds, over seeds too.

Over puzzles it is Newcombe's interval, made of the Wilson intervals of both scores: for scores of different puzzles the
hybrid score interval of independent proportions (Newcombe 1998, Statistics in Medicine 17:873, method 10,
https://doi.org/10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I), and for scores of the same puzzles
that of paired proportions, which their correlation narrows (Newcombe 1998, Statistics in Medicine 17:2635, method 10,
https://doi.org/10.1002/(SICI)1097-0258(19981130)17:22<2635::AID-SIM954>3.0.CO;2-C). Over seeds it is Welch's t
interval, or for two scores of the same runs the paired t interval. The distances of both intervals' ends from the
difference are added in squares (MOVER, Zou and Donner, https://doi.org/10.1002/sim.3095).
"""

import math
from collections.abc import Sequence
from statistics import fmean, variance
from typing import Final, NamedTuple

import numpy as np
from jaxtyping import Float

from serrm.scoring.metrics import CONFIDENCE_LEVEL

QUANTILE: Final = (1 + CONFIDENCE_LEVEL) / 2  # both ends of an interval together leave 5%
SeedScores = Sequence[Sequence[float]]
"""Per seed the value of a score and the two ends of its interval."""


class Difference(NamedTuple):
    """The difference of two scores with its 95% interval, in the unit of the scores."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """Format the difference, such as "+13.28 (7.05 to 19.63)"; without the interval if its ends are not known."""
        value, low, high = (round(number, 2) + 0.0 for number in self)  # no negative zero
        return f"{value:+.2f}" + (
            "" if math.isnan(low) or math.isnan(high) else f" ({low:.2f} to {high:.2f})"
        )


class Spread(NamedTuple):
    """The value of a difference, and all that its interval at any level follows from.

    `below` and `above` are the distances to the ends of the 95% interval over puzzles, NaN where that is not known, and
    `error` is the standard error over seeds with its degrees of freedom, 0 if each score has one seed.
    """

    value: float
    below: float
    above: float
    error: float
    degrees: float


def spread(
    first: SeedScores, second: SeedScores, *, correlation: float = 0.0, has_same_runs: bool = False
) -> Spread:
    """Compute the spread of the first score minus the second.

    `correlation` is that of the outcomes (`newcombe_correlation`) if both scores are of the same puzzles; without it
    they count as independent. `has_same_runs` is true if both scores are of the same runs in the same order.

    A score whose interval over puzzles is not known (NaN) is compared over seeds alone, if both have several.
    """
    seeds = first, second
    means, below, above = zip(*map(_over_puzzles, seeds), strict=True)
    values = [[value for value, _, _ in of_score] for of_score in seeds]
    error, degrees = _paired(*values) if has_same_runs else _welch(*values)
    distances = _combined(below[0], above[1], correlation), _combined(above[0], below[1], correlation)
    if math.isnan(sum(distances)) and min(map(len, values)) > 1:
        distances = 0.0, 0.0
    return Spread(means[0] - means[1], *distances, error, degrees)


def difference(
    first: SeedScores, second: SeedScores, *, correlation: float = 0.0, has_same_runs: bool = False
) -> Difference:
    """Subtract the second score from the first, with the interval of their `spread`."""
    value, below, above, error, degrees = spread(
        first, second, correlation=correlation, has_same_runs=has_same_runs
    )
    by_seed = t_quantile(degrees, QUANTILE) * error if error else 0.0
    return Difference(value, value - math.hypot(below, by_seed), value + math.hypot(above, by_seed))


def newcombe_correlation(first: Float[np.ndarray, " N"], second: Float[np.ndarray, " N"]) -> float:
    """Correlate two models' outcomes (each from 0 to 1) on the same N puzzles, by Newcombe's method.

    With a, b, c and d the numbers of puzzles solved by both, only the first, only the second and neither, it is
    ad − bc over √((a+b)(c+d)(a+c)(b+d)), where a positive ad − bc is first reduced by N/2, at most to zero. Sums in
    place of counts extend it to credits between 0 and 1, as on ARC-AGI with several test inputs and in means of seeds.
    The interval is then rather too wide, because a Wilson interval takes outcomes as 0 or 1, which have the largest
    variance for their mean.
    """
    num, num_first, num_second = len(first), float(first.sum()), float(second.sum())
    assert num == len(second), "outcomes of the same puzzles"
    common = num * float(first @ second) - num_first * num_second  # ad − bc
    scale = num_first * (num - num_first) * num_second * (num - num_second)
    if scale <= 0:
        return 0.0
    return (max(0.0, common - num / 2) if common > 0 else common) / math.sqrt(scale)


def _combined(one: float, other: float, correlation: float) -> float:
    """Combine the distances of two terms' ends from their values into that of their difference; NaN if one is."""
    squared = one**2 - 2 * correlation * one * other + other**2
    return math.nan if math.isnan(squared) else math.sqrt(max(0.0, squared))


def _over_puzzles(seeds: SeedScores) -> tuple[float, float, float]:
    """Average the seeds' values, and their distances to the ends of their intervals.

    All seeds have the same puzzles, so the error of the mean is at most the mean of their errors.
    """
    return (
        fmean(value for value, _, _ in seeds),
        fmean(value - low for value, low, _ in seeds),
        fmean(high - value for value, _, high in seeds),
    )


def _welch(first: list[float], second: list[float]) -> tuple[float, float]:
    """Compute error and degrees of freedom of Welch's t interval; no error with one seed each, or of equal seeds.

    A model with one seed is taken to vary as much as the other.
    """
    variances = [variance(values) for values in (first, second) if len(values) > 1]
    if not any(variances):
        return 0.0, math.inf
    if len(variances) == 1:  # one seed of the other
        num_seeds = max(len(first), len(second))
        errors = [variances[0] / len(first), variances[0] / len(second)]
        return math.sqrt(sum(errors)), float(num_seeds - 1)
    errors = [variances[0] / len(first), variances[1] / len(second)]
    degrees = sum(errors) ** 2 / (errors[0] ** 2 / (len(first) - 1) + errors[1] ** 2 / (len(second) - 1))
    return math.sqrt(sum(errors)), degrees


def _paired(first: list[float], second: list[float]) -> tuple[float, float]:
    """Compute standard error and degrees of freedom of the seeds' differences; no error with one seed."""
    pairs = [one - other for one, other in zip(first, second, strict=True)]
    if len(pairs) < 2:
        return 0.0, math.inf
    return math.sqrt(variance(pairs) / len(pairs)), float(len(pairs) - 1)


def t_quantile(degrees: float, share: float) -> float:
    """Find the quantile of Student's t distribution below which a share lies."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, share))
