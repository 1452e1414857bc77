"""Curves and scores as plain data: every point of the metric files, once."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from serrm.reporting.curves import write_curves, write_scores
from serrm.reporting.results import Results, ScoredSet


@pytest.fixture
def results(load: Callable[..., Any], full_files: list[Any]) -> Results:
    """Those of all tasks."""
    loaded, _ = load(full_files)
    assert isinstance(loaded, dict)
    return loaded


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_point_is_there(results: Results, tmp_path: Path) -> None:
    write_curves(results, tmp_path / "curves")
    depth, learning = read(tmp_path / "curves" / "depth.csv"), read(tmp_path / "curves" / "learning.csv")
    runs = [run for seeds in results.values() for run in seeds]
    parts = [part for run in runs for part in run.sets.values() if isinstance(part, ScoredSet)]
    assert len(depth) == sum(len(part.steps) for part in parts)
    assert len(learning) == sum(len(run.learning_curve) for run in runs)
    assert len({(row["panel"], row["model"], row["steps"]) for row in depth}) == len(depth)
    assert {row["panel"].split()[0] for row in depth} == {row["panel"] for row in learning}
    assert all(0 <= float(row["solved"]) <= 100 for row in depth + learning)


def test_the_scores_are_those_after_the_last_step(results: Results, tmp_path: Path) -> None:
    write_scores(results, tmp_path / "scores.json")
    scores = json.loads((tmp_path / "scores.json").read_text())
    runs = {run.name: run for seeds in results.values() for run in seeds}
    assert scores.keys() == runs.keys()
    for name, run in runs.items():
        for of_set, rates in scores[name].items():
            part = run.sets[of_set]
            assert isinstance(part, ScoredSet)
            last = dict(part.steps[max(part.steps)])
            if part.demonstrations is not None:
                last |= part.demonstrations.steps[max(part.demonstrations.steps)]
            assert rates == {rate: round(100 * last[rate], 2) for rate in rates} and rates
