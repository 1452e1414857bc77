"""A sweep as a table of effects: DVC experiments from one commit, with the commit's own settings as the baseline.

The seeds of a point may be experiments with one run (`-S runs.RUN.seed=0,1`), runs of one experiment, or both.
"""

from collections import Counter
from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from serrm.comparing.effects import Effect, Group, composed, effects
from serrm.comparing.revisions import (
    UnknownRevision,
    experiments,
    find_commit,
    read_revision,
    shared_settings,
)
from serrm.core.differences import value_text
from serrm.reporting.results import Key
from serrm.scoring.schema import Evaluation

# A run with the name of its revision and its settings.
Entry = tuple[str, Evaluation, Mapping[str, Any]]


def sweep(
    root: Path, pattern: str = "*", base: str = "HEAD", metric: str = "", test_set: str = ""
) -> list[Effect]:
    """Tabulate the effects of the DVC experiments from a commit whose names match a pattern such as "rate-*".

    The baseline is the point with the settings of the commit, with its committed scores, or else the first point.
    Variants with the same settings and seeds in all experiments are left out.

    Raises:
        UnknownRevision: there is no such experiment.
        ValueError: a file is malformed, or no score has the metric or the set.
    """
    start = find_commit(root, base)
    matching = [(commit, name) for commit, name, _ in experiments(root) if fnmatch(name, pattern)]
    names = [name for commit, name in matching if commit == start]
    if not names:
        others = "".join(
            f"; some start from {commit[:7]}: add --rev {commit[:7]}" for commit, _ in matching[:1]
        )
        raise UnknownRevision(f"no DVC experiment from {base} is named {pattern}{others}")
    runs: dict[Key, list[Entry]] = {}
    for name in (base, *sorted(names, key=_in_order)):
        try:
            revision = read_revision(root, name)
        except UnknownRevision:
            if name != base:
                raise
            continue  # no scores were committed with these settings
        for run_name, run in revision.runs.items():
            settings = composed(shared_settings(revision.settings[run_name], run.name))
            runs.setdefault((run.data_set, run.variant), []).append((name, run, settings))
    rows = []
    for key, entries in runs.items():
        if points := _points(key, entries):
            rows += effects(points[0], points[1:], metric, test_set)
    return rows


def unfinished(root: Path) -> Counter[str]:
    """Count the experiments of DVC's queue that are "queued" or "running"."""
    counts = Counter[str]()
    # The folder is there once an experiment was queued; importing DVC takes seconds.
    if (root / ".dvc/tmp/exps/celery").is_dir():
        from dvc.repo import Repo

        with Repo(str(root)) as repo:
            counts.update(task["status"].lower() for task in repo.experiments.celery_queue.status())
    return Counter({state: counts[state] for state in ("queued", "running") if counts[state]})


def _in_order(name: str) -> tuple[str, int]:
    """Make the key that sorts the experiments of a queue: rate-2 before rate-10."""
    stem, _, number = name.rpartition("-")
    return (stem, int(number)) if number.isdecimal() else (name, 0)


def _points(key: Key, entries: list[Entry]) -> list[Group]:
    """Group a variant's entries by point, that of the first entry first; none if all are of one point."""
    points: dict[tuple[tuple[str, str], ...], Group] = {}
    seeds: dict[str, set[int]] = {}
    for name, run, settings in entries:
        seeds.setdefault(name, set()).add(run.seed)
        identity = tuple(sorted((setting, value_text(value)) for setting, value in settings.items()))
        point = points.setdefault(identity, Group(key, settings))
        known = {other.seed for other in point.runs}
        if run.seed not in known:
            point.runs.append(run)
            point.source = ",".join(dict.fromkeys(filter(None, [*point.source.split(","), name])))
    has_equal_seeds = len({*map(frozenset, seeds.values())}) == 1
    return [] if len(points) == 1 and has_equal_seeds else [*points.values()]
