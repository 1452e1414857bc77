"""p-values of differences, as their intervals give them, and their correction for the number of comparisons."""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Final

from serrm.scoring.intervals import QUANTILE, Spread, t_quantile

LEAST_P: Final = 1e-9  # below which a p-value is not distinguished


def p_value(spread: Spread, bound: float = 0.0) -> float:
    """Find the two-sided p-value of a difference: the level at which an end of its interval meets `bound`.

    It is below 0.05 just where the 95% interval excludes the bound. At other levels the distance over puzzles grows as
    the normal distribution's quantile, and the distance over seeds as Student's. NaN without an interval.
    """
    distance = abs(spread.value - bound)
    puzzles = spread.below if spread.value > bound else spread.above
    if math.isnan(puzzles):
        return math.nan
    if distance == 0:
        return 1.0
    if puzzles == spread.error == 0:
        return LEAST_P
    unit = NormalDist().inv_cdf(QUANTILE)

    def reach(p: float) -> float:
        by_seed = t_quantile(spread.degrees, 1 - p / 2) * spread.error if spread.error else 0.0
        return math.hypot(NormalDist().inv_cdf(1 - p / 2) / unit * puzzles, by_seed)

    low, high = LEAST_P, 1.0
    while high / low > 1 + 1e-9:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if reach(middle) > distance else (low, middle)
    return high


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for their number by Holm's method (1979), in the same order.

    If those below 0.05 are taken as findings, the chance of one false finding among all is at most 5%.
    Source: https://www.jstor.org/stable/4615733.
    """
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    corrected, largest = [1.0] * len(p_values), 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = largest
    return corrected


def least_permutation_p(num_first: int, num_second: int) -> float:
    """Compute the least two-sided p-value of a permutation test of seeds: 0.1 with 3 against 3."""
    return min(1.0, 2 / math.comb(num_first + num_second, num_first))
