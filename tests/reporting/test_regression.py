"""What moved is told, what moved too far fails: on metric files and training logs written here."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serrm.cli import main
from serrm.reporting.regression import (
    Change,
    Expectations,
    Tolerance,
    Value,
    changes_table,
    compare,
    measure,
    read_expectations,
)
from serrm.reporting.training_log import read_training_log, write_training_log

RATES = {"fsr": 0.5, "fsr_lo": 0.4, "fsr_hi": 0.6}
RATES |= {"gpa": 0.7, "gpa_lo": 0.6, "gpa_hi": 0.8, "gpa_guess": 0.2}
GUESSED = {**RATES, "fsr": 0.0, "gpa": 0.25}  # of 32 puzzles: the interval reaches below one fifth
ROOT = Path(__file__).parents[2]
NAME = "sudoku-trm-s0"
numbers = st.floats(-1e6, 1e6)


def metric_file(**changes: Any) -> dict[str, Any]:
    """A cell of the ci profile; the scores after 16 steps on 9×9 are changed."""
    sets = {
        "9x9": {"status": "scored", "num_puzzles": 32, "steps": {"1": GUESSED, "16": RATES | changes}},
        "16x16": {"status": "scored", "num_puzzles": 2, "steps": {"16": RATES}},
        "25x25": {"status": "cannot_extrapolate", "reason": "no weights"},
    }
    return {
        "profile": "ci",
        "task": "sudoku",
        "model": "trm",
        "seed": 0,
        "model_info": {"family": "trm", "parameters": 1000, "parameters_with_task_types": 1016},
        "training": {"steps": 60, "samples": 76, "seconds": 1.5},
        "data": {"source": "generated puzzles", "train_puzzles": 64, "hash": "d"},
        "sets": sets,
        "learning_curve": [],
    }


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one result of the ci profile."""
    for name in ("params.yaml", "profiles/ci.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text())
    reports = tmp_path / "reports" / "ci"
    (reports / "metrics").mkdir(parents=True)
    (reports / "metrics" / f"{NAME}.json").write_text(json.dumps(metric_file()))
    write_log(reports, 1.25)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_log(reports: Path, loss: float) -> None:
    records = [{"step": 20, "samples": 16, "loss": 2.0}, {"step": 40, "samples": 30, "loss": loss}]
    write_training_log(reports / "training" / f"{NAME}.csv", records)


def keyed(**losses: float) -> dict[Any, Value]:
    return {(NAME, "loss", name): Value(value) for name, value in losses.items()}


def test_what_is_measured(project: Path) -> None:
    reports = project / "reports" / "ci"
    measured: dict[str, dict[str, float]] = {}
    for (_, kind, name), (value, _) in measure(reports / "metrics", reports / "training").items():
        measured.setdefault(kind, {})[name] = value
    assert measured["loss"] == {"step 20": 2.0, "step 40": 1.25}
    assert measured["fsr"] == {"9x9 fsr after 1": 0.0, "9x9 fsr after 16": 0.5}, "two puzzles are too few"
    assert measured["gpa"].keys() == {"9x9 gpa after 1", "9x9 gpa after 16", "16x16 gpa after 16"}
    assert measured["count"]["9x9 puzzles"] == 32 and measured["count"]["parameters"] == 1000
    assert measured["samples"] == {"training samples": 76}


@given(numbers, numbers, st.floats(0, 10), st.floats(0, 1))
def test_a_value_is_outside_if_it_moved_by_more_than_is_allowed(
    old: float, new: float, absolute: float, relative: float
) -> None:
    tolerance = Tolerance(absolute=absolute, relative=relative)
    expectations = Expectations(tolerances={"loss": tolerance}, cells={NAME: {"loss": {"step": old}}})
    changes = compare(expectations, keyed(step=new))
    if changes:
        (change,) = changes
        assert change.is_outside == (abs(new - old) > max(absolute, relative * abs(old)))
    else:
        assert new == pytest.approx(old, rel=1e-8, abs=0)
    assert compare(expectations, keyed(step=old)) == []


def test_what_is_gone_or_no_number_fails_and_what_is_new_does_not() -> None:
    expectations = Expectations(cells={NAME: {"loss": {"a": 1.0, "b": 1.0}}})
    changes = compare(expectations, keyed(b=float("nan"), c=3.0))
    assert {change.key[2]: change.is_outside for change in changes} == {"a": True, "b": True, "c": False}
    assert all(change.is_outside for change in compare(expectations, {}))


@pytest.mark.parametrize(
    ("changes", "code", "told"),
    [
        ({}, 0, "0 moved"),
        ({"gpa": 0.71}, 0, "1 moved, 0 outside"),
        ({"gpa": 0.73}, 1, "1 moved, 1 outside"),
        # What falls to the level of guessing is still looked at.
        ({"gpa": 0.1, "fsr": 0.0}, 1, "2 moved, 2 outside"),
        ({"fsr": 0.45}, 0, "1 moved, 0 outside"),
        ({"fsr": 0.75}, 1, "1 moved, 1 outside"),
    ],
)
def test_a_score_above_guessing_fails_if_it_moves(
    project: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, float], code: int, told: str
) -> None:
    main(["regress", "--update"])
    capsys.readouterr()
    (project / "reports" / "ci" / "metrics" / f"{NAME}.json").write_text(json.dumps(metric_file(**changes)))
    assert main(["regress"]) == code
    assert told in capsys.readouterr().out


def test_the_table_begins_with_what_is_outside() -> None:
    changes = [
        Change(("cell", "loss", "step 1"), 1.0, 1.01, 0.05),
        Change(("cell", "gpa", "9x9"), 0.5, 0.75, 0.05),
        Change(("cell", "count", "new"), None, 3.0),
    ]
    lines = changes_table(changes).splitlines()
    assert [line.split("|")[3].strip(" -") for line in lines] == ["value", "", "9x9", "step 1", "new"]
    assert "0.75" in lines[2] and "OUTSIDE" in lines[2] and "OUTSIDE" not in lines[3]
    assert len({len(line) for line in lines}) == 1


def test_the_command(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["regress"]) == 1
    assert "--update" in capsys.readouterr().err
    assert main(["regress", "--update"]) == 0
    capsys.readouterr()
    file = project / "regression" / "ci.json"
    before = file.read_bytes()
    assert main(["regress"]) == 0
    assert capsys.readouterr().out.strip().startswith("1 cells, 11 values: 0 moved")
    write_log(project / "reports" / "ci", 1.26)
    assert main(["regress"]) == 0
    assert "1 moved, 0 outside" in capsys.readouterr().out
    write_log(project / "reports" / "ci", 1.5)
    assert main(["regress"]) == 1
    assert "OUTSIDE" in capsys.readouterr().out
    assert file.read_bytes() == before
    assert main(["regress", "--update"]) == 0 and main(["regress"]) == 0
    assert read_expectations(file).cells[NAME]["loss"]["step 40"] == 1.5


def test_faults_are_one_line(project: Path, tmp_path: Path) -> None:
    file = tmp_path / "expected.json"
    file.write_text('{"tolerances": {"loss": {"absolute": -1}}, "cells": {}}')
    with pytest.raises(ValueError, match=r"expected.json: tolerances/loss/absolute: "):
        read_expectations(file)
    with pytest.raises(ValueError, match="no metric files; has the profile been run"):
        measure(tmp_path / "nowhere", tmp_path)
    (tmp_path / "log.csv").write_text("step,loss\n1,many\n")
    with pytest.raises(ValueError, match=r"log.csv: line 2: no training log"):
        read_training_log(tmp_path / "log.csv")
