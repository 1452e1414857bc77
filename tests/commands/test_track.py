"""`serrm track sync`: on this project's own parameters, without a store where none is needed."""

import shutil
from hashlib import md5
from pathlib import Path

import pytest
import yaml

from serrm.cli import main
from serrm.commands.track import _settings
from serrm.config import read_params
from serrm.reporting.results import Evaluation
from serrm.resolve import as_text, train_cell

ROOT = Path(__file__).parents[2]
RUN = {
    "profile": "ci",
    "task": "sudoku",
    "model": "trm",
    "seed": 0,
    "model_info": {"family": "trm", "parameters": 1, "parameters_with_task_types": 1},
    "training": {"steps": 1, "samples": 1, "seconds": 1.0},
    "data": {"source": "generated", "train_puzzles": 1},
    "sets": {},
    "learning_curve": [],
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copy(ROOT / "params.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lock(project: Path, text: str) -> None:
    deps = [{"path": "data/config/ci/train/sudoku-trm-s0.json", "md5": md5(text.encode()).hexdigest()}]
    content = {"schema": "2.0", "stages": {"train@ci-sudoku-trm-0": {"cmd": "train", "deps": deps}}}
    (project / "dvc.lock").write_text(yaml.safe_dump(content))


def test_settings_are_told_where_the_lock_confirms_them(project: Path) -> None:
    run = Evaluation.model_validate(RUN)
    cell = train_cell(read_params(project / "params.yaml"), "ci", "sudoku", "trm", 0)
    assert _settings(project)(run) is None, "no lock"
    lock(project, as_text(cell))
    assert _settings(project)(run) == cell.model_dump(mode="json")
    lock(project, "trained with something else")
    assert _settings(project)(run) is None
    assert _settings(project)(run.model_copy(update={"model": "gone"})) is None


def test_faults_are_one_line(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["track", "sync"]) == 1
    assert "no results of any profile" in capsys.readouterr().err
    assert main(["track", "sync", "--profile", "cpp"]) == 2
    assert "'cpp'" in capsys.readouterr().err
