"""Compare the scores of two revisions: the differences with their intervals and a verdict in words.

A difference is the second revision's score minus the first's. Several seeds of a variant on a data set are one line.
Scores and intervals are computed as for the claims (`serrm.reporting.results.difference`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from pathlib import Path
from typing import Any, Final, NamedTuple

from serrm.reporting.changes import changes_of
from serrm.reporting.results import Key, Score, are_pairs, difference, grouped, score
from serrm.reporting.revisions import WORKSPACE, Revision, active_profile, read_revision
from serrm.scoring.intervals import Difference
from serrm.scoring.metrics import MEAN, Metric, metrics_of
from serrm.scoring.schema import Evaluation, ScoredSet

BETTER, WORSE, UNDECIDED, SAME = "better", "worse", "not distinguishable", "the same"
HIGHER, LOWER, UNKNOWN, UNCLEAR = "higher", "lower", "no interval", "unclear"
# The verdicts on scores that differ, in the order of the summary.
DIFFERENT: Final = (BETTER, WORSE, HIGHER, LOWER, UNDECIDED, UNCLEAR, UNKNOWN)


class Line(NamedTuple):
    """A score at both revisions."""

    run: str
    """The run's name, or data set, variant and number of seeds."""
    key: Key
    set: str
    metric: str
    metric_name: str
    steps: int
    first: Score
    second: Score
    difference: Difference
    verdict: str
    are_pairs: bool
    num_seeds: int


@dataclass(frozen=True)
class Comparison:
    """The scores of two revisions, one line per score that both have.

    `num_others` is how many numbers differ and have no line, of the runs and sets that both revisions have: scores
    after other numbers of steps and of other metrics, learning curves, searches, equivariance. `only` has, for the
    first and for the second revision, the names of runs and of sets of runs that only this revision has. `headlines`
    has the runs and sets whose headline steps differ: both numbers, and the number after which they are compared (None
    if they have none in common).
    """

    first: Revision
    second: Revision
    lines: tuple[Line, ...]
    num_others: int
    only: tuple[tuple[str, ...], tuple[str, ...]]
    settings: Mapping[str, Sequence[str]]
    headlines: Mapping[tuple[str, str], tuple[int, int, int | None]] = field(default_factory=dict)

    @property
    def changed(self) -> list[Line]:
        """The lines whose scores differ."""
        return [line for line in self.lines if line.verdict != SAME]

    @property
    def is_same(self) -> bool:
        """True if both have the same runs with equal numbers and equal headline steps."""
        return not (self.changed or self.num_others or any(self.only) or self.headlines)


def compare(
    root: Path,
    first: str = "HEAD",
    second: str = WORKSPACE,
    profile: str | None = None,
    *,
    has_all: bool = False,
) -> Comparison:
    """Compare two revisions (`serrm.reporting.revisions`), by default with the profile that is active in the second.

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
    lines = list[Line]()
    for key in [key for key in second_runs if key in first_runs]:
        runs = first_runs[key], second_runs[key]
        for name, steps in _scored(*runs, has_all=has_all):
            for metric, record in metrics_of(runs[1][0].kind).items():
                first_score, second_score = (score(seeds, metric, name, steps) for seeds in runs)
                if first_score and second_score and (has_all or record.is_listed):
                    lines.append(_line(key, runs, name, metric, steps, first_score, second_score))
    names = [name for name in second.runs if name in first.runs]
    changes = {name: list(changes_of(first, second, name)) for name in names}
    return Comparison(
        first,
        second,
        lines=tuple(lines),
        num_others=sum(_num_others(first.runs[name], second.runs[name], lines) for name in names),
        only=(tuple(_missing(first, second)), tuple(_missing(second, first))),
        settings={name: settings for name, settings in changes.items() if settings},
        headlines=dict(_headlines(first, second)),
    )


def _scored(
    first: Sequence[Evaluation], second: Sequence[Evaluation], *, has_all: bool
) -> Iterator[tuple[str, int]]:
    """The sets that both have scored, with the numbers of steps to compare."""
    for name, part in second[0].scored.items():
        if all(name in run.scored for run in (*first, *second)):
            for steps in part.steps if has_all else [_headline_steps(first[0].scored[name], part)]:
                if steps is not None:
                    yield name, steps


def _headline_steps(first: ScoredSet, second: ScoredSet) -> int | None:
    """The steps after which two scored sets are compared: the second's headline steps, or else the first's.

    None if neither set was scored after the headline steps of the other.
    """
    choices = (second.headline_steps, first.headline_steps)
    return next((steps for steps in choices if steps in first.steps and steps in second.steps), None)


def _headlines(
    first: Revision, second: Revision
) -> Iterator[tuple[tuple[str, str], tuple[int, int, int | None]]]:
    """(run, set) of headlines whose steps differ, with both numbers and the one after which they are compared."""
    for run in second.runs:
        second_sets = second.runs[run].scored
        first_sets = first.runs[run].scored if run in first.runs else {}
        for name in [name for name in second_sets if name in first_sets]:
            steps = first_sets[name].headline_steps, second_sets[name].headline_steps
            if steps[0] != steps[1]:
                yield (run, name), (*steps, _headline_steps(first_sets[name], second_sets[name]))


def _line(
    key: Key,
    runs: tuple[Sequence[Evaluation], Sequence[Evaluation]],
    name: str,
    metric: str,
    steps: int,
    first: Score,
    second: Score,
) -> Line:
    nums, label = (len(runs[0]), len(runs[1])), runs[1][0].name
    if max(nums) > 1:
        seeds = f"{nums[1]}" if nums[0] == nums[1] else f"{nums[0]}/{nums[1]}"
        label = f"{'-'.join(key)}, {seeds} seeds"
    delta = difference(second, first)
    is_equal = first.seeds == second.seeds and (
        not are_pairs(first, second) or first.outcomes == second.outcomes
    )
    record, pairs = metrics_of(runs[1][0].kind)[metric], are_pairs(first, second)
    word = SAME if is_equal else verdict(delta, record)
    return Line(label, key, name, metric, record.short, steps, first, second, delta, word, pairs, max(nums))


def verdict(delta: Difference, metric: Metric) -> str:
    """The verdict on a difference.

    For a metric that is not a rate, higher need not be better. The interval of a metric per cell is too narrow for a
    verdict.
    """
    if isnan(delta.low):
        return UNKNOWN
    if delta.low <= 0 <= delta.high:
        return UNDECIDED
    if metric.is_per_cell:
        return UNCLEAR
    better, worse = (HIGHER, LOWER) if metric.statistic is MEAN else (BETTER, WORSE)
    return better if delta.low > 0 else worse


def _missing(one: Revision, other: Revision) -> Iterator[str]:
    """Names of the runs, and of the sets of common runs, that one revision has and the other does not."""
    for name, run in one.runs.items():
        if name not in other.runs:
            yield name
        else:
            yield from (f"{name} {of_set}" for of_set in run.scored if of_set not in other.runs[name].scored)


def _num_others(first: Evaluation, second: Evaluation, lines: Iterable[Line]) -> int:
    """The number of scores of a run that differ and have no line."""
    with_line = {
        ("sets", line.set, "steps", line.steps, line.metric)
        for line in lines
        if line.key == (second.task, second.variant)
    }
    unmatched = {
        name for name in first.sets | second.sets if not (name in first.scored and name in second.scored)
    }
    first_numbers, second_numbers = numbers(first), numbers(second)
    return sum(
        first_numbers.get(key) != second_numbers.get(key)
        for key in first_numbers | second_numbers
        if key not in with_line and not (key[0] == "sets" and key[1] in unmatched)
    )


COMPARED: Final = ("sets", "learning_curve", "first_verified", "guesses", "equivariance")
# Keys as dumped, which are the aliases in `serrm.scoring.schema`.
# Outcomes of single puzzles, which older scores do not have; grids and texts; and what has a sentence of its own.
NOT_COMPARED: Final = {
    *("puzzles", "solved", "solved_after_most", "credits"),
    *("example", "reason", "headline_steps"),
}


def numbers(run: Evaluation) -> dict[tuple[str | int, ...], Any]:
    """The numbers of a run's scores by their keys, with words such as a set's `status`.

    Ends of intervals are left out, as they follow from the scores.
    """

    def leaves(value: Any, keys: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
        if isinstance(value, Mapping | list | tuple):
            parts = value.items() if isinstance(value, Mapping) else enumerate(value)
            for key, part in parts:
                if key not in NOT_COMPARED and not str(key).endswith(("_lo", "_hi")):
                    yield from leaves(part, (*keys, key))
        elif value is not None:
            yield keys, value

    return dict(leaves(run.model_dump(include=set(COMPARED)), ()))


def summary(comparison: Comparison) -> str:
    """The comparison in one line."""
    name, num, changed = comparison.first.name, len(comparison.lines), comparison.changed
    if comparison.is_same:
        return f"the same as {name} to the last digit ({num} scores)"
    counts = {word: sum(line.verdict == word for line in changed) for word in DIFFERENT}
    verdicts = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    parts = [f"{len(changed)} of {num} scores differ from {name}{f' ({verdicts})' if verdicts else ''}"]
    if not changed and comparison.num_others:
        parts = [f"{num} scores are those of {name}, {comparison.num_others} other numbers differ"]
    if comparison.headlines:
        parts.append(f"{len(comparison.headlines)} headlines are after another number of steps")
    parts += [
        f"{len(names)} only in {revision.name}"
        for revision, names in zip((comparison.first, comparison.second), comparison.only, strict=True)
        if names
    ]
    return "; ".join(parts)


def as_json(comparison: Comparison, *, has_all: bool = False) -> dict[str, Any]:
    """The comparison as plain data; only lines that differ, unless `has_all`."""

    def of_score(value: Score) -> dict[str, Any]:
        return {"value": value.value, "low": value.low, "high": value.high, "num_puzzles": value.num_puzzles}

    lines = comparison.lines if has_all else comparison.changed
    return {
        "first": {"name": comparison.first.name, "profile": comparison.first.profile},
        "second": {"name": comparison.second.name, "profile": comparison.second.profile},
        "is_same": comparison.is_same,
        "num_scores": len(comparison.lines),
        "num_other_numbers": comparison.num_others,
        "only_first": list(comparison.only[0]),
        "only_second": list(comparison.only[1]),
        "headline_steps": [
            {"run": run, "set": name, "first": steps[0], "second": steps[1], "compared": steps[2]}
            for (run, name), steps in comparison.headlines.items()
        ],
        "settings": {name: list(changes) for name, changes in comparison.settings.items()},
        "scores": [
            {
                "run": line.run,
                "task": line.key[0],
                "model": line.key[1],
                "num_seeds": line.num_seeds,
                "set": line.set,
                "metric": line.metric,
                "steps": line.steps,
                "first": of_score(line.first),
                "second": of_score(line.second),
                "difference": line.difference._asdict(),
                "verdict": line.verdict,
                "are_pairs": line.are_pairs,
            }
            for line in lines
        ],
    }
