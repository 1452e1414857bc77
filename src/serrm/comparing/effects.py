"""Effects of changes: a baseline, and for each change its score, the difference from the baseline, and a verdict.

A difference is the change's score minus the baseline's, with the interval of `serrm.reporting.results.difference`.
The variants of a profile, the experiments of a sweep and the two sides of `serrm compare` use it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any, NamedTuple

from serrm.comparing.changes import NUM_CHANGES
from serrm.comparing.revisions import Revision, shared_settings
from serrm.core.differences import changes, value_text
from serrm.reporting.claim_rules import margin
from serrm.reporting.results import (
    Key,
    Score,
    are_pairs,
    difference,
    grouped,
    headline_score,
    score,
)
from serrm.scoring.intervals import Difference
from serrm.scoring.metrics import MEAN, Metric, metrics_of
from serrm.scoring.schema import Evaluation, ScoredSet
from serrm.scoring.verdicts import AHEAD, BEHIND, relation

HIGHER, LOWER, UNKNOWN, SAME = "higher", "lower", "no interval", "the same"
BASELINE, NO_SCORE = "baseline", "no score"
# Settings that these scores cannot show: test-time compute has scores of its own, and snapshots are of the curve.
NO_CHANGE = ("evaluate.test_time_compute.", "train.snapshots", "train.log_every")


@dataclass
class Group:
    """The runs of a variant on a data set with equal settings except for the seed, and where they are from."""

    key: Key
    settings: Mapping[str, Any]  # by the keys of `composed`
    runs: list[Evaluation] = field(default_factory=list)
    source: str = ""
    """Names of revisions, as `serrm compare` takes them; empty for a profile's variants."""


class Effect(NamedTuple):
    """A row of the table of effects."""

    group: Group
    changes: Mapping[str, Any]
    """The settings that differ from the baseline's; of the baseline, its values of all that differ in other rows."""
    score: Score | None
    difference: Difference | None
    """None of the baseline, and if a side has no such score."""
    verdict: str


def compare_scores(first: Score, second: Score, metric: Metric) -> tuple[Difference, str]:
    """Subtract the first score from the second, with a verdict."""
    delta = difference(second, first)
    return delta, SAME if are_equal(first, second) else verdict(delta, metric, first, second)


def are_equal(first: Score, second: Score) -> bool:
    """True if the seeds' values are equal, and the outcomes of the same puzzles. Intervals follow from the scores."""
    values = [[value for value, *_ in side.seeds] for side in (first, second)]
    return values[0] == values[1] and (not are_pairs(first, second) or first.outcomes == second.outcomes)


def verdict(delta: Difference, metric: Metric, *scores: Score) -> str:
    """Choose the verdict on a difference of two scores.

    UNKNOWN for a score without an interval. For a metric that is not a rate, higher need not be better.
    """
    if isnan(delta.low):
        return UNKNOWN
    word = relation(delta, margin(*scores))
    if metric.statistic is MEAN:
        return {AHEAD: HIGHER, BEHIND: LOWER}.get(word, word)
    return word


def common_steps(first: ScoredSet, second: ScoredSet) -> int | None:
    """Choose the steps after which two scored sets are compared: the second's headline steps, or else the first's.

    None if neither set was scored after the headline steps of the other.
    """
    choices = (second.headline_steps, first.headline_steps)
    return next((steps for steps in choices if steps in first.steps and steps in second.steps), None)


def effects(baseline: Group, others: Sequence[Group], metric: str = "", test_set: str = "") -> list[Effect]:
    """Tabulate the rows of the baseline and of every other group, for a metric and a set, by default the main ones.

    Raises:
        ValueError: no score of the data set has the metric, or no group the set.
    """
    example = baseline.runs[0]
    metric, test_set = metric or example.main_metric, test_set or example.main_set
    records = metrics_of(example.task)
    if metric not in records:
        raise ValueError(f"metric {metric!r}: {example.data_set} has {', '.join(records)}")
    sets = dict.fromkeys(name for group in (baseline, *others) for name in group.runs[0].scored)
    if test_set not in sets:
        raise ValueError(f"set {test_set!r}: {example.data_set} has {', '.join(sets) or 'none'}")
    group_changes = [
        {change.key: change.second for change in changes(baseline.settings, group.settings)}
        for group in others
    ]
    changed = {key: baseline.settings.get(key) for values in group_changes for key in values}
    baseline_score = headline_score(baseline.runs, test_set, metric)
    rows = [Effect(baseline, changed, baseline_score, None, BASELINE if baseline_score else NO_SCORE)]
    for group, values in zip(others, group_changes, strict=True):
        steps = _steps(baseline, group, test_set)
        first, second = (
            None if steps is None else score(side.runs, metric, test_set, steps) for side in (baseline, group)
        )
        if first is None or second is None:
            rows.append(Effect(group, values, headline_score(group.runs, test_set, metric), None, NO_SCORE))
        else:
            rows.append(Effect(group, values, second, *compare_scores(first, second, records[metric])))
    return rows


def _steps(baseline: Group, group: Group, test_set: str) -> int | None:
    first, second = (side.runs[0].scored.get(test_set) for side in (baseline, group))
    return common_steps(first, second) if first and second else None


def effects_of_profile(
    revision: Revision, metric: str = "", test_set: str = "", baseline: str = ""
) -> list[Effect]:
    """Tabulate the effects of a profile's variants, per data set and family.

    The baseline is the variant of the family's name, or else the first one; a family without another variant has no
    rows. With the name of a variant as `baseline`, all variants on its data sets are compared with it. Data sets
    without the metric or the set are left out, unless all are.

    Raises:
        ValueError: the profile has no such variant, or no data set has the metric and the set.
    """
    variants = dict.fromkeys(run.variant for run in revision.runs.values())
    if baseline and baseline not in variants:
        raise ValueError(f"baseline {baseline!r}: profile {revision.profile} has {', '.join(variants)}")
    compared: dict[tuple[str, str], list[Group]] = {}  # by data set and the baseline's name
    for key, runs in grouped(revision.runs.values()).items():
        name = next(name for name, run in revision.runs.items() if run is runs[0])
        values = composed(shared_settings(revision.settings.get(name, {}), name))
        settings = {name: value for name, value in values.items() if not name.startswith(NO_CHANGE)}
        table = key[0], baseline or runs[0].model_info.family
        compared.setdefault(table, []).append(Group(key, settings, runs))
    rows, errors = [], []
    for (_, name), groups in compared.items():
        named = (group for group in groups if group.key[1] == name)
        first = next(named, None if baseline else groups[0])
        if first is not None and len(groups) > 1:
            try:
                rows += effects(first, [group for group in groups if group is not first], metric, test_set)
            except ValueError as error:
                errors.append(error)
    if errors and not rows:
        raise errors[0]
    return rows


def composed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Compose the values that a run uses by their keys below model, train, arrays, evaluate and so on.

    `settings` are by the keys of the params file, in the order of its levels, of which later ones win as in
    `serrm.config`: the model, the data set, the recipe, the changes of the run. Names of sections are left out.
    """
    data_set, model = settings.get("run.data_set"), settings.get("run.model")
    levels = {
        f"models.{model}.train.": "train.",
        f"models.{model}.": "model.",
        f"data_sets.{data_set}.": "",
        f"recipes.{data_set}.{model}.model.": "model.",
        f"recipes.{data_set}.{model}.arrays.": "arrays.",
        f"recipes.{data_set}.{model}.": "train.",
        "run.changes.": "",
    }
    values, level_of = dict[str, Any](), dict[str, str]()
    for key, value in settings.items():
        level = next((begin for begin in levels if key.startswith(begin)), "")
        short = levels.get(level, "") + key.removeprefix(level)
        setting = ".".join(short.split(".")[:2])  # is replaced as a whole, with the settings inside
        if level_of.setdefault(setting, level) != level:
            values = {name: old for name, old in values.items() if not f"{name}.".startswith(f"{setting}.")}
            level_of[setting] = level
        if key not in ("run.data_set", "run.model"):
            values[short] = value
    return values


def labels(rows: Iterable[Effect]) -> dict[str, str]:
    """Choose short names of the settings that differ, without their sections where these are not needed."""
    names = dict.fromkeys(name for row in rows for name in row.changes)
    short = {name: name.rpartition(".")[2] for name in names}
    num = [*short.values()]
    return {
        name: label if num.count(label) == 1 and label != "kind" else name for name, label in short.items()
    }


def as_rows(rows: Sequence[Effect]) -> list[dict[str, str]]:
    """Write the table as text: run, settings that differ, seeds, score, difference, verdict, sources if any."""
    names = labels(rows)
    return [
        {
            "run": "-".join(row.group.key),
            "change": _changes_text(row, names),
            "seeds": f"{len(row.group.runs)}",
            "score": score_text(row.score),
            "difference (95%)": "" if row.difference is None or row.verdict == SAME else f"{row.difference}",
            "verdict": row.verdict,
        }
        | ({"revisions": row.group.source} if row.group.source else {})
        for row in rows
    ]


def _changes_text(row: Effect, names: Mapping[str, str]) -> str:
    """Write the settings of a row, at most NUM_CHANGES, those of the evaluation last; many of a baseline are left out.

    A setting that another kind does not have is left out too, such as the exploration of a halting rule.
    """
    kinds = {key.rpartition(".")[0] for key in row.changes if key.endswith(".kind")}
    keys = [
        key for key, value in row.changes.items() if value is not None or key.rpartition(".")[0] not in kinds
    ]
    keys.sort(key=lambda key: key.startswith("evaluate."))
    texts = [f"{names[key]} {value_text(row.changes[key])}" for key in keys[:NUM_CHANGES]]
    if len(keys) > NUM_CHANGES:
        texts = [] if row.verdict == BASELINE else [*texts, f"and {len(keys) - NUM_CHANGES} more"]
    return ", ".join(texts)


def score_text(value: Score | None) -> str:
    """Format a score, such as "61.20 ± 1.10", or with one seed "61.33"; a dash for none."""
    if value is None:
        return "—"
    return f"{value.value:.2f}" + ("" if value.sd is None else f" ± {value.sd:.2f}")


def as_json(rows: Iterable[Effect]) -> list[dict[str, Any]]:
    """Convert the table to plain data; ends of intervals that are not known are None."""
    return [
        {
            "data_set": row.group.key[0],
            "variant": row.group.key[1],
            "revisions": row.group.source,
            "changes": dict(row.changes),
            "num_seeds": len(row.group.runs),
            "score": row.score and no_nan(row.score, ("value", "sd", "low", "high")),
            "difference": row.difference and no_nan(row.difference, Difference._fields),
            "verdict": row.verdict,
        }
        for row in rows
    ]


def no_nan(numbers: Score | Difference, names: Iterable[str]) -> dict[str, float | None]:
    """Select numbers by name, with None for an end of an interval that is not known, because JSON has no NaN."""
    values = {name: getattr(numbers, name) for name in names}
    return {name: None if value is None or isnan(value) else value for name, value in values.items()}
