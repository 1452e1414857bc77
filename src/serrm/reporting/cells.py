"""One cell of a table: what we measured, what the paper prints, and whether the two intervals part."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import fmean, stdev
from typing import Literal

from serrm.reporting.paper import IntervalKind, PaperCell, PaperColumn
from serrm.reporting.results import Evaluation, RefusedSet, ScoredSet

NOT_RUN = "not run"
CANNOT_EXTRAPOLATE = "cannot extrapolate"
DASH, QUOTED = "—", "†"


@dataclass(frozen=True)
class Reading:
    """One side of a cell: a number in percent with its 95% interval, or `words` where there is none.

    Over several seeds the value is the mean, `sd` the standard deviation, and the interval reaches from the
    lowest end of the seeds' intervals to the highest.
    """

    words: str = ""
    value: Decimal | None = None
    lo: Decimal | None = None
    hi: Decimal | None = None
    sd: Decimal | None = None
    num_seeds: int = 1
    num_puzzles: int | None = None
    interval: IntervalKind | None = None
    marks: tuple[str, ...] = ()
    is_bold: bool = False

    @property
    def ends(self) -> str:
        """The interval in words, such as "55.23–67.09"; empty where there is none."""
        return "" if self.lo is None else f"{self.lo}–{self.hi}"

    def __str__(self) -> str:
        """Without marks: "61.33 (55.23–67.09)" or "61.20 ± 1.10 (54.02–68.11)"."""
        if self.value is None:
            return self.words
        spread = "" if self.sd is None else f" ± {self.sd}"
        return f"{self.value}{spread}{f' ({self.ends})' if self.ends else ''}"


@dataclass(frozen=True)
class Comparison:
    """Our reading and the paper's, side by side."""

    ours: Reading
    paper: Reading

    @property
    def side(self) -> Literal["", "above", "below"]:
        """Where our interval lies if it does not touch the paper's; empty if it does or either is missing."""
        if self.ours.lo is None or self.ours.hi is None or self.paper.lo is None or self.paper.hi is None:
            return ""
        if self.ours.lo > self.paper.hi:
            return "above"
        return "below" if self.ours.hi < self.paper.lo else ""


def percent(rate: float, low: float, high: float) -> str:
    """A fraction with its interval in words."""
    return f"{100 * rate:.2f} ({100 * low:.2f}–{100 * high:.2f})"


def our_reading(evaluations: Sequence[Evaluation], column: PaperColumn) -> Reading:
    """What the evaluations of one variant, one a seed, say for a column."""
    sets = [part for evaluation in evaluations if (part := part_of(evaluation, column)[1])]
    if any(isinstance(part, RefusedSet) for part in sets):
        return Reading(words=CANNOT_EXTRAPOLATE)
    scored = [part for part in sets if isinstance(part, ScoredSet) and column.steps in part.steps]
    scores = [part.steps[column.steps] for part in scored]
    if not scores or any(column.metric not in score for score in scores):
        return Reading(words=NOT_RUN)
    values = [score[column.metric] for score in scores]
    return Reading(
        value=_percent(fmean(values)),
        lo=_percent(min(score[f"{column.metric}_lo"] for score in scores)),
        hi=_percent(max(score[f"{column.metric}_hi"] for score in scores)),
        sd=_percent(stdev(values)) if len(values) > 1 else None,
        num_seeds=len(values),
        num_puzzles=int(scores[0].get("num_puzzles", scored[0].num_puzzles)),
    )


def part_of(evaluation: Evaluation, column: PaperColumn) -> tuple[str, ScoredSet | RefusedSet | None]:
    """The set of an evaluation that a column shows, by its name; None where there is none."""
    if column.takes_other_sizes and column.set not in evaluation.sets and len(evaluation.sets) == 1:
        return next(iter(evaluation.sets.items()))
    return column.set, evaluation.sets.get(column.set)


def paper_reading(cell: PaperCell | None, column: PaperColumn) -> Reading:
    """What the paper prints for a column; a dash where it prints nothing."""
    if cell is None or not cell.printed:
        return Reading(words=DASH, marks=cell.marks if cell else ())
    value, lo, hi = cell.numbers
    interval = None if lo is None else cell.interval or column.interval
    return Reading(
        value=value,
        lo=lo,
        hi=hi,
        num_puzzles=cell.num or column.num,
        interval=interval,
        marks=(*cell.marks, QUOTED) if cell.quoted else cell.marks,
        is_bold=cell.is_bold,
    )


def _percent(fraction: float) -> Decimal:
    return Decimal(f"{100 * fraction:.2f}")
