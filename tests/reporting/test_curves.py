"""Curves and scores as plain data: every point of the metric files, once."""

import csv
import json

import pytest

from serrm.reporting.curves import write_curves, write_scores
from serrm.reporting.results import all_runs


@pytest.fixture
def runs(load, full_files, tmp_path):
    """The evaluations of all tasks, after their curves and scores were written."""
    results, _ = load(full_files)
    write_curves(results, tmp_path / "curves")
    write_scores(results, tmp_path / "scores.json")
    return {run.name: run for run in all_runs(results)}


def test_every_point_is_there(runs, tmp_path):
    depth, learning = (
        [*csv.DictReader((tmp_path / "curves" / f"{name}.csv").read_text().splitlines())]
        for name in ("depth", "learning")
    )
    assert len(depth) == sum(len(part.steps) for run in runs.values() for part in run.scored.values())
    assert len(learning) == sum(len(run.learning_curve) for run in runs.values())
    assert len({(row["panel"], row["model"], row["steps"]) for row in depth}) == len(depth)
    assert {row["panel"].split()[0] for row in depth} == {row["panel"] for row in learning}
    assert all(0 <= float(row["solved"]) <= 100 for row in depth + learning)


def test_the_scores_are_those_after_the_last_step(runs, tmp_path):
    scores = json.loads((tmp_path / "scores.json").read_text())
    assert scores.keys() == runs.keys()
    for name, run in runs.items():
        for of_set, rates in scores[name].items():
            part = run.scored[of_set]
            last = part.steps[max(part.steps)]
            if part.demonstrations is not None:
                last = last | part.demonstrations.steps[max(part.demonstrations.steps)]
            assert rates == {rate: round(100 * last[rate], 2) for rate in rates} and rates
