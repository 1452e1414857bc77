"""Rules of claims: each judges the scores of a check's models, in the check's order, with the check's number.

A rule has its words beside it, which the table of claims prints: it tests exactly these. Ahead, behind, level and
undecided are those of `serrm.scoring.verdicts`.
"""

import math
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from serrm.reporting.results import Score, difference, p_value_of
from serrm.scoring.intervals import Difference
from serrm.scoring.verdicts import AHEAD, BEHIND, LEVEL, MARGIN, UNDECIDED, relation

HOLDS, PARTLY, FAILS, UNTESTED = "holds", "holds in part", "does not hold", "not tested"
BY_CONSTRUCTION = "by construction"  # settings alone decide, whatever the runs score
ONLY_WITH_FAULT = "only with the fault"  # of the published code, which shifts the rotation by the prefix
FAULT: Final = "_published"  # the end of the names of variants with the fault
DECIDED: Final = (HOLDS, PARTLY, ONLY_WITH_FAULT, FAILS)
NEARLY_NONE: Final = 2.0  # percent, about the upper end of 0 of 216, the paper's 16×16 Sudokus; our choice


class Judgement(NamedTuple):
    """A verdict, the deciding line of evidence as text (empty without one), and the p-value behind it (NaN without)."""

    verdict: str
    deciding: str = ""
    p: float = math.nan


class Rule(NamedTuple):
    """A rule: the function that judges scores, given the check's number, and its words, with {number} in them."""

    judge: Callable[..., Judgement]
    text: str


def verdict_by_bounds(intervals: Iterable[Difference | Score], holds_above: float, fails_below: float) -> str:
    """Choose FAILS if an interval lies below `fails_below`, else HOLDS if all lie above `holds_above`, or UNDECIDED."""
    intervals = list(intervals)
    if any(interval.high < fails_below for interval in intervals):
        return FAILS
    return HOLDS if all(interval.low > holds_above for interval in intervals) else UNDECIDED


def margin(*scores: Score) -> float:
    """Choose the difference below which models are level; where all scores are lower, it is the highest score."""
    return min(MARGIN, max(score.value for score in scores))


def _deciding(
    first: Score, others: Iterable[Score], bound: float, *, has_same_runs: bool = False
) -> tuple[list[Difference], str, float]:
    """List all differences, and the one with the least lower end as text, with its p-value against a bound.

    A difference without an interval comes first, because it leaves everything undecided.
    """
    pairs = [(difference(first, other, has_same_runs=has_same_runs), other) for other in others]
    least, other = min(pairs, key=lambda pair: -math.inf if math.isnan(pair[0].low) else pair[0].low)
    name = "difference" if len(pairs) == 1 else "deciding difference"
    p = p_value_of(first, other, bound, has_same_runs=has_same_runs)
    return [pair[0] for pair in pairs], f"{name} {least}", p


def ahead(points: float, first: Score, *others: Score, has_same_runs: bool = False) -> Judgement:
    """Judge that the first is ahead of all others, by more than `points`."""
    differences, deciding, p = _deciding(first, others, points, has_same_runs=has_same_runs)
    return Judgement(verdict_by_bounds(differences, points, points), deciding, p)


def not_behind(_: float, first: Score, *others: Score) -> Judgement:
    """Judge that the first is behind no other by as much as the margin, and significantly behind none."""
    bound = -margin(first, *others)
    differences, deciding, p = _deciding(first, others, bound)
    verdict = verdict_by_bounds(differences, bound, 0.0)
    if verdict == FAILS:
        p = _deciding(first, others, 0.0)[2]
    return Judgement(verdict, deciding, p)


def comparable(_: float, first: Score, second: Score) -> Judgement:
    """Judge that the two differ by less than the margin; it fails if one is ahead, and they may differ by more."""
    interval, points = difference(first, second), margin(first, second)
    is_level = max(-interval.low, interval.high) < points
    word = LEVEL if is_level else relation(interval, 0.0)
    verdict = HOLDS if is_level else FAILS if word in (AHEAD, BEHIND) else UNDECIDED
    bounds = (0.0,) if verdict == FAILS else (-points, points)
    return Judgement(
        verdict, f"difference {interval}", max(p_value_of(first, second, bound) for bound in bounds)
    )


def nearly_none(_: float, *scores: Score) -> Judgement:
    """Judge that every score's interval lies below NEARLY_NONE."""
    if all(score.high < NEARLY_NONE for score in scores):
        return Judgement(HOLDS)
    return Judgement(FAILS if any(score.low > NEARLY_NONE for score in scores) else UNDECIDED)


def others_nearly_none(number: float, _: Score, *others: Score) -> Judgement:
    """Judge that every score except the first is nearly none."""
    return nearly_none(number, *others)


def above(chance: float, first: Score) -> Judgement:
    """Judge that the score is above chance, in percent, which is known exactly: a t interval compares seeds with it."""
    exact = Score(chance, chance, chance, 0, by_seed=((chance, chance, chance),) * len(first.seeds))
    interval = difference(first, exact, has_same_runs=True)
    verdict = verdict_by_bounds([interval], 0.0, 0.0)
    deciding = f"legal guesses {chance:.2f}; difference {interval}"
    return Judgement(verdict, deciding, p_value_of(first, exact, 0.0, has_same_runs=True))


def lowest_ahead(num: float, *scores: Score) -> Judgement:
    """Judge that the lowest of the first `num` scores is ahead of the lowest of the others."""
    groups = scores[: int(num)], scores[int(num) :]
    return ahead(0.0, *(min(group, key=lambda score: score.value) for group in groups))


RULES: Final[dict[str, Rule]] = {
    "ahead": Rule(
        ahead,
        "Holds if the interval of the difference to every other model lies above {number:g} points; fails if one lies "
        "below.",
    ),
    "not_behind": Rule(
        not_behind,
        f"Holds if the intervals of all differences lie above -{MARGIN:g} points (or the highest score, if lower) and "
        "none lies wholly below zero; fails if one does.",
    ),
    "comparable": Rule(
        comparable,
        f"Holds if the models are level: the interval of the difference lies within ±{MARGIN:g} points (or the higher "
        "score, if lower). Else fails if one model is ahead.",
    ),
    "nearly_none": Rule(
        nearly_none,
        f"Holds if the intervals of all scores lie below {NEARLY_NONE:g}%; fails if one lies above.",
    ),
    "others_nearly_none": Rule(
        others_nearly_none,
        f"Holds if the intervals of the other models' scores lie below {NEARLY_NONE:g}%; fails if one lies above.",
    ),
    "lowest_ahead": Rule(
        lowest_ahead,
        "Holds if the interval of the difference between the lowest mean scores of both groups lies above zero; fails "
        "if it lies below.",
    ),
}
