"""Compare the scores of two revisions: the differences with their intervals and a verdict in words.

A difference is the second revision's score minus the first's. Several seeds of a variant on a data set are one line.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from serrm.comparing.changes import changes_of, in_lines, not_seeds, seeds_of_variants, variant_of
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
from serrm.reporting.results import Key, Results, Score, are_pairs, score
from serrm.scoring.intervals import Difference
from serrm.scoring.metrics import metrics_of
from serrm.scoring.schema import Evaluation
from serrm.scoring.verdicts import AHEAD, BEHIND, LEVEL, UNDECIDED

ONLY_FIRST, ONLY_SECOND = "only in the first", "only in the second"
# The verdicts on scores that differ, in the order of the summary.
DIFFERENT: Final = (AHEAD, BEHIND, HIGHER, LOWER, LEVEL, UNDECIDED, UNKNOWN)


class Line(NamedTuple):
    """A score at both revisions, or at the only one that has it."""

    run: str
    """The run's name, or data set, variant and number of seeds."""
    key: Key
    set: str
    metric: str
    metric_name: str
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


@dataclass(frozen=True)
class Comparison:
    """The scores of two revisions, one line per score.

    `only` has, for the first and for the second revision, the names of runs and of sets of runs that only this revision
    has. `headline_changes` has the runs and sets whose headline steps differ: both numbers, and the number after which
    they are compared (None if they have none in common). `setting_changes` has the settings of each run that differ, as
    text. `others` has the runs of both revisions of which only other numbers differ: scores after other numbers of
    steps, curves, searches, equivariance. `not_seeds` says which runs of a variant differ in more than the seed.
    """

    first: Revision
    second: Revision
    lines: tuple[Line, ...]
    only: tuple[tuple[str, ...], tuple[str, ...]]
    setting_changes: Mapping[str, Sequence[str]]
    headline_changes: Mapping[tuple[str, str], tuple[int, int, int | None]] = field(default_factory=dict)
    others: tuple[str, ...] = ()
    not_seeds: tuple[str, ...] = ()

    @property
    def of_both(self) -> list[Line]:
        """The lines of scores that both revisions have."""
        return [line for line in self.lines if line.difference is not None]

    @property
    def different(self) -> list[Line]:
        """The lines of scores that both revisions have and that differ."""
        return [line for line in self.of_both if line.verdict != SAME]

    @property
    def changed(self) -> list[Line]:
        """The lines of scores that differ or that only one revision has."""
        return [line for line in self.lines if line.verdict != SAME]

    @property
    def is_same(self) -> bool:
        """True if both have the same runs with equal numbers and equal headline steps, of the checkpoints in place."""
        has_stale = self.first.stale or self.second.stale
        return not (self.changed or self.others or any(self.only) or self.headline_changes or has_stale)


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
    apart = not_seeds(first), not_seeds(second)
    split = apart[0].keys() | apart[1].keys()
    first_runs, second_runs = (seeds_of_variants(side, split) for side in (first, second))
    lines = [
        line
        for key in dict.fromkeys((*second_runs, *first_runs))
        for line in _lines(key, (first_runs.get(key, []), second_runs.get(key, [])), has_all=has_all)
    ]
    names = [name for name in second.runs if name in first.runs]
    changes = {name: list(changes_of(first, second, name)) for name in names}
    only = tuple(_missing(first, second)), tuple(_missing(second, first))
    with_line = {line.key for line in lines if line.verdict != SAME}
    others = [
        name
        for name in names
        if variant_of(second, name, split) not in with_line
        and _numbers(first.runs[name]) != _numbers(second.runs[name])
    ]
    return Comparison(
        first,
        second,
        lines=tuple(lines),
        only=only,
        setting_changes={name: settings for name, settings in changes.items() if settings},
        headline_changes=dict(_headline_changes(first_runs, second_runs)),
        others=tuple(others),
        not_seeds=tuple(
            f"{side.name}: {line}"
            for side, by_key in zip((first, second), apart, strict=True)
            for by_run in by_key.values()
            for line in in_lines({runs: [*map(str, different)] for runs, different in by_run.items()})
        ),
    )


def _numbers(run: Evaluation) -> tuple[object, ...]:
    """The fields of an evaluation that hold numbers."""
    return run.sets, run.learning_curve, run.first_verified, run.attempts, run.equivariance


# All seeds of a variant at both revisions; one side may have none.
Sides = tuple[Sequence[Evaluation], Sequence[Evaluation]]


def _lines(key: Key, runs: Sides, *, has_all: bool) -> Iterator[Line]:
    """The scores of a variant on a data set that all its seeds have at both revisions, or that only one side has.

    A score that some seeds of a side have and others have not is left out.
    """
    records = metrics_of((runs[1] or runs[0])[0].task)
    for name, steps in _scored(runs, has_all=has_all):
        for metric in [metric for metric, record in records.items() if has_all or record.is_listed]:
            counts = [
                sum(metric in run.scored[name].steps.get(steps, {}) for run in side if name in run.scored)
                for side in runs
            ]
            if any(0 < count < len(side) for count, side in zip(counts, runs, strict=True)):
                continue
            first, second = (
                score(side, metric, name, steps) if count else None
                for count, side in zip(counts, runs, strict=True)
            )
            if first or second:
                yield _line(key, runs, name, metric, steps, first, second)


def _scored(runs: Sides, *, has_all: bool) -> Iterator[tuple[str, int]]:
    """The sets that a side's seeds have scored, with the numbers of steps to compare.

    A set that some seeds of a side have and others have not is left out.
    """
    for name in dict.fromkeys(name for side in reversed(runs) for run in side for name in run.scored):
        parts = [[run.scored[name] for run in side if name in run.scored] for side in runs]
        if any(part and len(part) < len(side) for part, side in zip(parts, runs, strict=True)):
            continue
        sets = [part[0] for part in parts if part]
        if has_all:
            yield from ((name, steps) for steps in dict.fromkeys(sets[-1].steps | sets[0].steps))
        elif (steps := common_steps(sets[0], sets[-1])) is not None:
            yield name, steps


def _headline_changes(
    first: Results, second: Results
) -> Iterator[tuple[tuple[str, str], tuple[int, int, int | None]]]:
    """(run, set) pairs whose headline steps differ, with both numbers and the one after which they are compared.

    Of several seeds the first ones tell, as for the lines.
    """
    for key in [key for key in second if key in first]:
        first_sets, second_sets = first[key][0].scored, second[key][0].scored
        for name in [name for name in second_sets if name in first_sets]:
            steps = first_sets[name].headline_steps, second_sets[name].headline_steps
            if steps[0] != steps[1]:
                common = common_steps(first_sets[name], second_sets[name])
                yield (second[key][0].name, name), (*steps, common)


def _line(
    key: Key, runs: Sides, name: str, metric: str, steps: int, first: Score | None, second: Score | None
) -> Line:
    nums, example = (len(runs[0]), len(runs[1])), (runs[1] or runs[0])[0]
    record, label = metrics_of(example.task)[metric], example.name
    if max(nums) > 1:
        seeds = "/".join(f"{num}" for num in dict.fromkeys(nums) if num)
        label = f"{'-'.join(key)}, {seeds} seeds"
    delta, has_pairs = None, False
    if first and second:
        delta, word = compare_scores(first, second, record)
        has_pairs = are_pairs(first, second)
    else:
        word = ONLY_FIRST if first else ONLY_SECOND
    return Line(
        run=label,
        key=key,
        set=name,
        metric=metric,
        metric_name=record.short,
        steps=steps,
        first=first,
        second=second,
        difference=delta,
        verdict=word,
        are_pairs=has_pairs,
        num_seeds=max(nums),
        is_main=(name, metric) == (example.main_set, example.main_metric),
    )


def _missing(one: Revision, other: Revision) -> Iterator[str]:
    """Names of the runs, and of the sets of common runs, that one revision has and the other does not."""
    for name, run in one.runs.items():
        if name not in other.runs:
            yield name
        else:
            yield from (f"{name} {of_set}" for of_set in run.scored if of_set not in other.runs[name].scored)


def summary(comparison: Comparison) -> str:
    """The comparison in one line."""
    name, num = comparison.first.name, len(comparison.of_both)
    if comparison.is_same:
        return f"the same as {name} to the last digit ({counted(num, 'score')})"
    changed = comparison.different
    counts = {word: sum(line.verdict == word for line in changed) for word in DIFFERENT}
    verdicts = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    parts = [
        f"{len(changed)} of {counted(num, 'score')} differ from {name}{f' ({verdicts})' if verdicts else ''}"
    ]
    if not changed:
        parts = [f"{counted(num, 'score')} the same as in {name}"]
        num_others = len(comparison.others)
        parts += [f"other fields of {counted(num_others, 'run')} differ"] if num_others else []
    if comparison.headline_changes:
        parts.append(f"{counted(len(comparison.headline_changes), 'headline')} after another number of steps")
    for revision, word, names in zip(
        (comparison.first, comparison.second), (ONLY_FIRST, ONLY_SECOND), comparison.only, strict=True
    ):
        if num_scores := sum(line.verdict == word for line in comparison.lines):
            parts.append(f"{counted(num_scores, 'score')} only in {revision.name}")
        elif names:
            parts.append(f"{counted(len(names), 'run or set', 'runs or sets')} only in {revision.name}")
        if revision.stale:
            parts.append(f"{counted(len(revision.stale), 'run')} without current scores in {revision.name}")
    return "; ".join(parts)


def counted(num: int, one: str, several: str = "") -> str:
    """A number with its noun, such as "1 score" or "2 scores"."""
    return f"{num} {one if num == 1 else several or one + 's'}"


def as_json(comparison: Comparison, *, has_all: bool = False) -> dict[str, Any]:
    """The comparison as plain data; only lines that differ, unless `has_all`."""

    def of_score(value: Score | None) -> dict[str, Any] | None:
        if value is None:
            return None
        return {**no_nan(value, ("value", "low", "high")), "num_puzzles": value.num_puzzles}

    lines = comparison.lines if has_all else comparison.changed
    return {
        "first": {"name": comparison.first.name, "profile": comparison.first.profile},
        "second": {"name": comparison.second.name, "profile": comparison.second.profile},
        "is_same": comparison.is_same,
        "num_scores": len(comparison.of_both),
        "other_numbers_differ": list(comparison.others),
        "stale": {
            side.name: dict(side.stale) for side in (comparison.first, comparison.second) if side.stale
        },
        "only_first": list(comparison.only[0]),
        "only_second": list(comparison.only[1]),
        "headline_steps": [
            {"run": run, "set": name, "first": steps[0], "second": steps[1], "compared": steps[2]}
            for (run, name), steps in comparison.headline_changes.items()
        ],
        "settings": {name: list(changes) for name, changes in comparison.setting_changes.items()},
        "scores": [
            {
                "run": line.run,
                "data_set": line.key[0],
                "variant": line.key[1],
                "num_seeds": line.num_seeds,
                "set": line.set,
                "metric": line.metric,
                "steps": line.steps,
                "first": of_score(line.first),
                "second": of_score(line.second),
                "difference": no_nan(line.difference, Difference._fields) if line.difference else None,
                "verdict": line.verdict,
                "are_pairs": line.are_pairs,
            }
            for line in lines
        ],
    }
