"""Rules of claims: each judges the scores of a check's models, in the check's order, with the check's number.

A model is ahead only if the interval of the difference (`serrm.scoring.intervals`) lies wholly above zero.
"""

from collections.abc import Callable, Iterable
from typing import Final

from serrm.reporting.results import Score, difference
from serrm.scoring.intervals import Difference

HOLDS, PARTLY, UNDECIDED = "holds", "holds in part", "undecided"
FAILS, UNTESTED = "does not hold", "not tested"
MARGIN: Final = 10.0  # points within which two models are comparable; our choice, as the paper names none
NEARLY_NONE: Final = 1.0  # percent; our choice, too
Judgement = tuple[str, str]  # a verdict, and the least difference as text (empty for a rule without one)


def verdict_by_bounds(intervals: Iterable[Difference | Score], holds_above: float, fails_below: float) -> str:
    """FAILS if an interval lies below `fails_below`; else HOLDS if all lie above `holds_above`, or else UNDECIDED."""
    intervals = list(intervals)
    if any(interval.high < fails_below for interval in intervals):
        return FAILS
    return HOLDS if all(interval.low > holds_above for interval in intervals) else UNDECIDED


def margin(*scores: Score) -> float:
    """The difference below which models are comparable; where all scores are low, it is the highest score."""
    return min(MARGIN, max(score.value for score in scores))


def ahead(points: float, first: Score, *others: Score, has_same_runs: bool = False) -> Judgement:
    """The first is ahead of all others, by more than `points`."""
    differences = [difference(first, other, has_same_runs=has_same_runs) for other in others]
    least = "least difference" if len(differences) > 1 else "difference"
    return verdict_by_bounds(differences, points, points), f"{least} {min(differences)}"


def not_behind(_: float, first: Score, *others: Score) -> Judgement:
    """The first is behind no other by as much as the margin, and significantly behind none by however little."""
    differences = [difference(first, other) for other in others]
    verdict = verdict_by_bounds(differences, -margin(first, *others), 0.0)
    return verdict, f"least difference {min(differences)}"


def comparable(_: float, first: Score, second: Score) -> Judgement:
    """The two differ by less than the margin; it fails if one is ahead of the other, and they may differ by more."""
    interval = difference(first, second)
    if max(-interval.low, interval.high) < margin(first, second):
        verdict = HOLDS
    else:
        verdict = FAILS if interval.low > 0 or interval.high < 0 else UNDECIDED
    return verdict, f"difference {interval}"


def all_zero(_: float, *scores: Score) -> Judgement:
    """Every score is zero."""
    return (FAILS if any(score.value for score in scores) else HOLDS), ""


def nearly_none(_: float, *scores: Score) -> Judgement:
    """Every score is zero, or its interval lies below NEARLY_NONE."""
    if all(score.value == 0 or score.high < NEARLY_NONE for score in scores):
        return HOLDS, ""
    return FAILS if any(score.low > NEARLY_NONE for score in scores) else UNDECIDED, ""


def others_nearly_none(number: float, _: Score, *others: Score) -> Judgement:
    """Every score but the first is nearly none."""
    return nearly_none(number, *others)


def above(chance: float, first: Score) -> Judgement:
    """The score is above chance, in percent."""
    return verdict_by_bounds([first], chance, chance), f"chance {chance:.2f}"


def lowest_ahead(num: float, *scores: Score) -> Judgement:
    """The lowest of the first `num` scores is ahead of the lowest of the others."""
    groups = scores[: int(num)], scores[int(num) :]
    return ahead(0.0, *(min(group, key=lambda score: score.value) for group in groups))


Rule = Callable[..., Judgement]
RULES: Final[dict[str, Rule]] = {
    rule.__name__: rule
    for rule in (
        ahead,
        not_behind,
        comparable,
        all_zero,
        nearly_none,
        others_nearly_none,
        above,
        lowest_ahead,
    )
}
