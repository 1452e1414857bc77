"""Changes are listed and those outside their tolerance fail, on metric files and training logs written here."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from serrm.cli import main
from serrm.reporting.regression import Expectations, changes, expected_from, measure, read_expectations
from serrm.training.log import read_training_log, write_training_log

RATES = {"fsr": 0.5, "fsr_lo": 0.4, "fsr_hi": 0.6}
RATES |= {"gpa": 0.7, "gpa_lo": 0.6, "gpa_hi": 0.8, "gpa_guess": 0.2}
GUESSED = {**RATES, "fsr": 0.0, "gpa": 0.25}  # of 32 puzzles: the interval reaches below one fifth
ROOT = Path(__file__).parents[2]
NAME = "sudoku-trm-s0"


def metric_file(**changes: Any) -> dict[str, Any]:
    """A run of the ci profile; the scores after 16 steps on 9×9 are changed."""
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


def test_what_is_measured(project: Path) -> None:
    reports = project / "reports" / "ci"
    expected = expected_from(measure(reports / "metrics", reports / "training"))[NAME]
    assert expected["loss"] == {"step 20": 2.0, "step 40": 1.25}
    assert expected["fsr"] == {"9x9 fsr after 16": 0.5}, (
        "guesses are not expected, and two puzzles are too few"
    )
    assert expected["gpa"].keys() == {"9x9 gpa after 16"}
    assert expected["count"]["9x9 puzzles"] == 32 and expected["count"]["parameters"] == 1000
    assert expected["samples"] == {"training samples": 76}


@pytest.mark.parametrize(
    ("kind", "old", "new", "is_outside"),
    [
        ("loss", 1.0, 1.009, False),
        ("loss", 1.0, 1.011, True),
        ("loss", 100.0, 100.9, False),
        ("gpa", 0.5, 0.515, False),
        ("gpa", 0.5, 0.525, True),
        ("count", 5.0, 6.0, True),
        ("loss", 1.0, float("nan"), True),
        ("loss", 1.0, None, True),  # gone
        ("loss", None, 1.0, False),  # new
        ("loss", 1.0, 1.0 + 1e-12, None),  # the same
    ],
)
def test_a_value_is_outside_if_it_moved_by_more_than_is_allowed(
    kind: Any, old: float | None, new: float | None, is_outside: bool | None
) -> None:
    expectations = Expectations(runs={NAME: {kind: {} if old is None else {"a": old}}})
    lines = [] if new is None else [(NAME, kind, "a", new, False)]
    measured = pd.DataFrame(lines, columns=["run", "kind", "value", "measured", "is_guess"])
    assert changes(expectations, measured)["outside"].tolist() == ([] if is_outside is None else [is_outside])


@pytest.mark.parametrize(
    ("scores", "code", "told"),
    [
        ({}, 0, "0 values moved"),
        ({"gpa": 0.71}, 0, "1 values moved, 0 outside"),
        # What falls to the level of guessing is still compared.
        ({"gpa": 0.1, "fsr": 0.0}, 1, "2 values moved, 2 outside"),
        ({"fsr": 0.75}, 1, "1 values moved, 1 outside"),
    ],
)
def test_a_score_above_guessing_fails_if_it_moves(
    project: Path, capsys: pytest.CaptureFixture[str], scores: dict[str, float], code: int, told: str
) -> None:
    main(["regress", "--update"])
    capsys.readouterr()
    (project / "reports" / "ci" / "metrics" / f"{NAME}.json").write_text(json.dumps(metric_file(**scores)))
    assert main(["regress"]) == code
    assert told in capsys.readouterr().out


def test_the_command(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["regress"]) == 1
    assert "--update" in capsys.readouterr().err
    assert main(["regress", "--update"]) == 0
    file = project / "regression" / "ci.json"
    before = file.read_bytes()
    write_log(project / "reports" / "ci", 1.5)
    capsys.readouterr()
    assert main(["regress"]) == 1
    assert "step 40" in capsys.readouterr().out and file.read_bytes() == before
    assert main(["regress", "--update"]) == 0 and main(["regress"]) == 0
    assert read_expectations(file).runs[NAME]["loss"]["step 40"] == 1.5


def test_faults_are_one_line(project: Path, tmp_path: Path) -> None:
    file = tmp_path / "expected.json"
    file.write_text('{"tolerances": {"loss": {"absolute": -1}}, "runs": {}}')
    with pytest.raises(ValueError, match=r"expected.json: tolerances/loss/absolute: "):
        read_expectations(file)
    with pytest.raises(ValueError, match="no metric files; run the profile first"):
        measure(tmp_path / "nowhere", tmp_path)
    (tmp_path / "log.csv").write_text("step,loss\n1,many\n")
    with pytest.raises(ValueError, match=r"log.csv: line 2: not a training log"):
        read_training_log(tmp_path / "log.csv")
