"""Scores by group of puzzles, and intervals of scores whose puzzles are not independent.

Puzzles of one unit, such as ARC-like puzzles of one rule, tend to be solved together. The interval is then Wilson's
with an effective number of puzzles: their number, divided by the ratio of the cluster-robust variance of the mean to
that of independent puzzles (the design effect), and reduced for the few degrees of freedom of few units (Korn and
Graubard 1998, Survey Methodology 24:193; Dean and Pagano 2015, https://doi.org/10.1093/jssam/smv024).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
from jaxtyping import Float

from serrm.scoring.metrics import CONFIDENCE_LEVEL, wilson
from serrm.scoring.schema import GroupScore

QUANTILE: Final = (1 + CONFIDENCE_LEVEL) / 2


def clustered_wilson(values: Float[np.ndarray, " N"], units: Sequence[str]) -> tuple[float, float]:
    """Compute the Wilson interval of a mean of values from 0 to 1 with the effective number of puzzles, as fractions.

    `units` has the unit of every value. If all values are 0 or all are 1, which says nothing about how alike the values
    of a unit are, the effective number is that of units.
    """
    num = effective_number(values, units)
    return wilson(float(values.mean()) * num, num)


def effective_number(values: Float[np.ndarray, " N"], units: Sequence[str]) -> float | int:
    """Count the independent puzzles with as exact a mean; at least 1, at most the number of puzzles."""
    from scipy.special import ndtri, stdtrit

    num, (_, numbers) = len(values), np.unique(units, return_inverse=True)
    num_units, mean = int(numbers.max()) + 1, float(values.mean())
    independent = mean * (1 - mean) / num
    if num_units == num:
        return num
    if num_units == 1 or independent == 0:
        return num_units
    sums = np.bincount(numbers, weights=values - mean)
    variance = num_units / (num_units - 1) * float(sums @ sums) / num**2
    if variance == 0:
        return num
    few_units = float(ndtri(QUANTILE) / stdtrit(num_units - 1, QUANTILE)) ** 2
    return max(1.0, min(float(num), num * independent / variance * few_units))


def group_scores(
    outcomes: Float[np.ndarray, " N"], groups: Mapping[str, Sequence[str]], units: Sequence[str] | None = None
) -> dict[str, dict[str, GroupScore]]:
    """Score every group by kind and name, names sorted; all sequences have an entry per puzzle."""
    units = [str(number) for number in range(len(outcomes))] if units is None else units
    return {
        kind: {
            name: _group_score(outcomes, units, [n for n, other in enumerate(names) if other == name])
            for name in sorted(set(names))
        }
        for kind, names in groups.items()
    }


def _group_score(
    outcomes: Float[np.ndarray, " N"], units: Sequence[str], members: Iterable[int]
) -> GroupScore:
    members = list(members)
    values, member_units = outcomes[members], [units[number] for number in members]
    low, high = clustered_wilson(values, member_units)
    return GroupScore(
        num_puzzles=len(members),
        num_units=len(set(member_units)),
        num_solved=round(float(values.sum()), 6),
        low=low,
        high=high,
    )
