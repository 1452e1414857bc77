"""A sweep: DVC experiments from one commit as one table, a row per point, with mean and deviation over its seeds.

The seeds of a point may be experiments with one run (`-S runs.RUN.seed=0,1`), runs of one experiment, or both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from serrm.comparing.changes import INIT, SEED, value_text, values_used_by
from serrm.comparing.revisions import UnknownRevision, experiments, read_revision
from serrm.core.project import git
from serrm.reporting.results import Key, Score, headline_score
from serrm.scoring.schema import Evaluation


@dataclass
class Point:
    """The runs of a data set and variant with the same settings except for the seed, of one or several experiments."""

    key: Key
    settings: Mapping[str, Any]  # those that differ between points, by dotted key
    experiments: list[str] = field(default_factory=list)
    runs: dict[int, Evaluation] = field(default_factory=dict)  # by seed

    @property
    def name(self) -> str:
        """A name that `serrm compare` takes."""
        return ",".join(self.experiments)

    def scores(self) -> dict[str, Score]:
        """The main score of every set after the headline steps, over all seeds."""
        runs = list(self.runs.values())
        scores = {name: headline_score(runs, name) for name in runs[0].scored}
        return {name: value for name, value in scores.items() if value is not None}


def points_of(root: Path, pattern: str = "*") -> list[Point]:
    """The points of the DVC experiments from HEAD whose names match a pattern such as "rate-*".

    Variants with the same settings and seeds in all experiments are left out. UnknownRevision if there is no such
    experiment.
    """
    head = git(root, "rev-parse", "HEAD")
    names = [name for start, name, _ in experiments(root) if start == head and fnmatch(name, pattern)]
    if not names:
        raise UnknownRevision(f"no DVC experiment from HEAD is named {pattern}; `dvc exp list` lists them")
    runs: dict[Key, list[tuple[str, Evaluation, dict[str, Any]]]] = {}
    for name in sorted(names, key=_in_order):
        revision = read_revision(root, name)
        for run in revision.runs.values():
            values = _settings_of_point(revision.params, run.name)
            runs.setdefault((run.data_set, run.variant), []).append((name, run, values))
    return [point for key, entries in runs.items() for point in _points(key, entries)]


def _in_order(name: str) -> tuple[str, int]:
    """The key that sorts the experiments of a queue: rate-2 before rate-10."""
    stem, _, number = name.rpartition("-")
    return (stem, int(number)) if number.isdecimal() else (name, 0)


def _settings_of_point(params: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The settings of a run that the other seeds of its point share.

    The run's seed is left out. A checkpoint to start from loses its number if that is the run's own, because every
    seed of a variant may continue the run of its own number.
    """
    values = values_used_by(params, name)
    values.pop(SEED, None)
    if INIT in values:
        values[INIT] = str(values[INIT]).removesuffix(f"-{name.rpartition('-')[2]}")
    return values


def _points(key: Key, entries: Sequence[tuple[str, Evaluation, Mapping[str, Any]]]) -> list[Point]:
    """The points of a data set and variant; `entries` are runs, each with its experiment and settings."""
    keys = dict.fromkeys(name for *_, values in entries for name in values)
    differing = [name for name in keys if len({value_text(values.get(name)) for *_, values in entries}) > 1]
    seeds: dict[str, set[int]] = {}
    for name, run, _ in entries:
        seeds.setdefault(name, set()).add(run.seed)
    if not differing and len({*map(frozenset, seeds.values())}) == 1:
        return []
    points: dict[tuple[str, ...], Point] = {}
    for name, run, values in entries:
        settings = {setting: values.get(setting) for setting in differing}
        point_key = tuple(value_text(value) for value in settings.values())
        point = points.setdefault(point_key, Point(key, settings))
        if name not in point.experiments and run.seed not in point.runs:
            point.experiments.append(name)
        point.runs.setdefault(run.seed, run)
    return list(points.values())


def rows(points: Sequence[Point]) -> list[dict[str, str]]:
    """A row per point: its run, the settings that differ, its seeds, the score of every set, its experiments."""
    settings = dict.fromkeys(name for point in points for name in point.settings)
    sets = dict.fromkeys(name for point in points for name in point.scores())
    labels = {name: name.rpartition(".")[2] for name in settings}
    if len({*labels.values()}) < len(labels):
        labels = {name: name for name in settings}
    lines = []
    for point in points:
        scores = point.scores()
        line = {"run": "-".join(point.key)}
        for name, label in labels.items():
            line[label] = value_text(point.settings[name]) if name in point.settings else ""
        line["seeds"] = str(len(point.runs))
        line |= {name.replace("x", "×"): _mean(scores[name]) if name in scores else "" for name in sets}
        lines.append(line | {"experiments": point.name})
    return lines


def _mean(value: Score) -> str:
    """Such as "61.20 ± 1.10", or with one seed "61.33 (55.23–67.09)"."""
    return str(value) if value.sd is None else f"{value.value:.2f} ± {value.sd:.2f}"
