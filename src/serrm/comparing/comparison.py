"""Compare the scores of two revisions: the differences with their intervals and a verdict in words.

A difference is the second revision's score minus the first's. Several seeds of a variant on a data set are one line.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from serrm.comparing.changes import changes_of
from serrm.comparing.effects import (
    HIGHER,
    LOWER,
    SAME,
    UNKNOWN,
    common_steps,
    compare_scores,
    no_nan,
)
from serrm.comparing.revisions import WORKSPACE, Revision, active_profile, read_revision
from serrm.reporting.results import Key, Score, are_pairs, grouped, score
from serrm.scoring.intervals import Difference
from serrm.scoring.metrics import metrics_of
from serrm.scoring.schema import Evaluation, ScoredSet
from serrm.scoring.verdicts import AHEAD, BEHIND, LEVEL, UNDECIDED

ONLY_FIRST, ONLY_SECOND = "only in the first", "only in the second"
# The verdicts on scores that differ, in the order of the summary.
DIFFERENT: Final = (AHEAD, BEHIND, HIGHER, LOWER, LEVEL, UNDECIDED, UNKNOWN)
SCORE_FIELDS: Final = ("value", "low", "high", "num_puzzles")


class Line(NamedTuple):
    """A score at both revisions, or at the only one that has it."""

    run: str
    """The run's name, or data set, variant and number of seeds."""
    data_set: str
    variant: str
    set: str
    metric: str
    metric_name: str
    """With the number of steps, unless that is the headline's at both revisions."""
    steps: int
    first: Score | None
    second: Score | None
    difference: Difference | None
    """None if only one revision has the score."""
    verdict: str
    are_pairs: bool
    num_seeds: int
    is_main: bool
    """True for the main metric on the main set, the only score whose spread over seeds is looked up."""

    @property
    def key(self) -> Key:
        """Give the data set and the variant."""
        return self.data_set, self.variant


@dataclass(frozen=True)
class Comparison:
    """The scores of two revisions, one line per score.

    `only` has, for the first and for the second revision, the names of runs and of sets of runs that only this revision
    has. `setting_changes` has the settings of each run that differ, as text. `others` has the runs of both revisions of
    which only other numbers differ: scores after other numbers of steps, curves, searches, equivariance.
    """

    first: Revision
    second: Revision
    lines: tuple[Line, ...]
    only: tuple[tuple[str, ...], tuple[str, ...]]
    setting_changes: Mapping[str, Sequence[str]]
    others: tuple[str, ...] = ()

    @property
    def common_lines(self) -> list[Line]:
        """List the lines of scores that both revisions have."""
        return [line for line in self.lines if line.difference is not None]

    @property
    def different(self) -> list[Line]:
        """List the lines of scores that both revisions have and that differ."""
        return [line for line in self.common_lines if line.verdict != SAME]

    @property
    def changed(self) -> list[Line]:
        """List the lines of scores that differ or that only one revision has."""
        return [line for line in self.lines if line.verdict != SAME]

    @property
    def is_same(self) -> bool:
        """True if both have the same runs with equal numbers, of the checkpoints in place."""
        return not (self.changed or self.others or any(self.only) or self.first.stale or self.second.stale)


def compare(
    root: Path,
    first: str = "HEAD",
    second: str = WORKSPACE,
    profile: str | None = None,
    *,
    has_all: bool = False,
) -> Comparison:
    """Compare two revisions (`serrm.comparing.revisions`), by default with the profile that is active in the second.

    With `has_all` there are lines for all numbers of steps and all metrics, not only for the main metrics after the
    headline steps.

    Raises:
        UnknownRevision: a name stands for no scores.
        ValueError: a file is malformed.
    """
    profile = profile or active_profile(root, second)
    revisions = read_revision(root, first, profile), read_revision(root, second, profile)
    return compared(*revisions, has_all=has_all)


def compared(first: Revision, second: Revision, *, has_all: bool = False) -> Comparison:
    """Compare two revisions whose scores have been read."""
    first_runs, second_runs = grouped(first.runs.values()), grouped(second.runs.values())
    lines = [
        line
        for key in dict.fromkeys((*second_runs, *first_runs))
        for line in _lines(key, (first_runs.get(key, []), second_runs.get(key, [])), has_all=has_all)
    ]
    names = [name for name in second.runs if name in first.runs]
    setting_changes = {name: list(changes_of(first, second, name)) for name in names}
    keys = {line.key for line in lines if line.verdict != SAME}
    others = [
        name
        for name in names
        if (second.runs[name].data_set, second.runs[name].variant) not in keys
        and _numbers(first.runs[name]) != _numbers(second.runs[name])
    ]
    return Comparison(
        first,
        second,
        lines=tuple(lines),
        only=(tuple(_missing(first, second)), tuple(_missing(second, first))),
        setting_changes={name: settings for name, settings in setting_changes.items() if settings},
        others=tuple(others),
    )


def _numbers(run: Evaluation) -> tuple[object, ...]:
    """List the fields of an evaluation that hold numbers."""
    return run.sets, run.learning_curve, run.first_verified, run.attempts, run.equivariance


# All seeds of a variant at both revisions; one side may have none.
Sides = tuple[Sequence[Evaluation], Sequence[Evaluation]]


def _lines(key: Key, runs: Sides, *, has_all: bool) -> Iterator[Line]:
    """Yield the scores of a variant on a data set that all its seeds have at both revisions, or that one side has.

    A score that some seeds of a side have and others have not is left out.
    """
    records = metrics_of((runs[1] or runs[0])[0].task)
    for name, steps in _scored(runs, has_all=has_all):
        for metric in [metric for metric, record in records.items() if has_all or record.is_listed]:
            scores = [score(side, metric, name, steps) for side in runs]
            has_metric = [
                any(metric in run.scored[name].steps.get(steps, {}) for run in side if name in run.scored)
                for side in runs
            ]
            if any(scores) and has_metric == [value is not None for value in scores]:
                yield _line(key, runs, name, metric, steps, *scores)


def _scored(runs: Sides, *, has_all: bool) -> Iterator[tuple[str, int]]:
    """Yield the scored sets with the numbers of steps to compare, which are those of the first seeds."""
    for name in dict.fromkeys(name for side in reversed(runs) for run in side for name in run.scored):
        sets = [_first_set(side, name) for side in runs if any(name in run.scored for run in side)]
        steps = common_steps(sets[0], sets[-1])
        if has_all:
            yield from ((name, num) for num in dict.fromkeys(sets[-1].steps | sets[0].steps))
        elif steps is not None:
            yield name, steps


def _first_set(runs: Iterable[Evaluation], name: str) -> ScoredSet:
    return next(run.scored[name] for run in runs if name in run.scored)


def _line(
    key: Key, runs: Sides, name: str, metric: str, steps: int, first: Score | None, second: Score | None
) -> Line:
    nums = len(runs[0]), len(runs[1])
    example = (runs[1] or runs[0])[0]
    record = metrics_of(example.task)[metric]
    label = example.name
    if max(nums) > 1:
        seeds = "/".join(f"{num}" for num in dict.fromkeys(nums) if num)
        label = f"{'-'.join(key)}, {seeds} seeds"
    headlines = {run.scored[name].headline_steps for side in runs for run in side if name in run.scored}
    delta = None
    word = ONLY_FIRST if first else ONLY_SECOND
    if first and second:
        delta, word = compare_scores(first, second, record)
    return Line(
        run=label,
        data_set=key[0],
        variant=key[1],
        set=name,
        metric=metric,
        metric_name=record.short if headlines == {steps} else f"{record.short}, {steps} steps",
        steps=steps,
        first=first,
        second=second,
        difference=delta,
        verdict=word,
        are_pairs=bool(first and second and are_pairs(first, second)),
        num_seeds=max(nums),
        is_main=(name, metric) == (example.main_set, example.main_metric),
    )


def _missing(one: Revision, other: Revision) -> Iterator[str]:
    """Yield names of the runs, and of the sets of common runs, that one revision has and the other does not."""
    for name, run in one.runs.items():
        if name not in other.runs:
            yield name
        else:
            yield from (f"{name} {key}" for key in run.scored if key not in other.runs[name].scored)


def summary(comparison: Comparison) -> str:
    """Describe the comparison in one line."""
    name, num = comparison.first.name, len(comparison.common_lines)
    if comparison.is_same:
        return f"the same as {name} to the last digit ({counted(num, 'score')})"
    verdicts = Counter(line.verdict for line in comparison.different)
    if verdicts:
        words = ", ".join(f"{verdicts[word]} {word}" for word in DIFFERENT if verdicts[word])
        clauses = [f"{verdicts.total()} of {counted(num, 'score')} differ from {name} ({words})"]
    else:
        clauses = [f"{counted(num, 'score')} the same as in {name}"]
        if comparison.others:
            clauses.append(f"other fields of {counted(len(comparison.others), 'run')} differ")
    for revision, word, names in zip(
        (comparison.first, comparison.second), (ONLY_FIRST, ONLY_SECOND), comparison.only, strict=True
    ):
        if num_scores := sum(line.verdict == word for line in comparison.lines):
            clauses.append(f"{counted(num_scores, 'score')} only in {revision.name}")
        elif names:
            clauses.append(f"{counted(len(names), 'run or set', 'runs or sets')} only in {revision.name}")
        if revision.stale:
            clauses.append(f"{counted(len(revision.stale), 'run')} without current scores in {revision.name}")
    return "; ".join(clauses)


def counted(num: int, one: str, several: str = "") -> str:
    """Write a number with its noun, such as "1 score" or "2 scores"."""
    return f"{num} {one if num == 1 else several or one + 's'}"


def as_json(comparison: Comparison, *, has_all: bool = False) -> dict[str, Any]:
    """Convert the comparison to plain data; only lines that differ, unless `has_all`."""
    sides = comparison.first, comparison.second
    return {
        "first": {"name": comparison.first.name, "profile": comparison.first.profile},
        "second": {"name": comparison.second.name, "profile": comparison.second.profile},
        "is_same": comparison.is_same,
        "num_scores": len(comparison.common_lines),
        "other_numbers_differ": comparison.others,
        "stale": {side.name: side.stale for side in sides if side.stale},
        "only_first": comparison.only[0],
        "only_second": comparison.only[1],
        "settings": comparison.setting_changes,
        "scores": [
            line._asdict()
            | {
                "first": line.first and no_nan(line.first, SCORE_FIELDS),
                "second": line.second and no_nan(line.second, SCORE_FIELDS),
                "difference": line.difference and no_nan(line.difference, Difference._fields),
            }
            for line in (comparison.lines if has_all else comparison.changed)
        ],
    }
