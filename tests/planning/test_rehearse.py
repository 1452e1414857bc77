"""`serrm rehearse` on a profile of its own: every stage runs, a broken cell is named, the project stays as it was."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from serrm.cli import main
from serrm.config import read_params, write_params

ROOT = Path(__file__).parents[2]


def project(folder: Path, changes: Mapping[str, Any] | None = None) -> Path:
    """A project whose ci profile has two cells on small ARC-AGI puzzles."""
    params = read_params(ROOT / "params.yaml")
    ci = params["profiles"]["ci"]
    ci["grid"] = [{"tasks": ["arc_agi_1"], "models": ["hrm", "trm"], "seeds": [0]}]
    ci["recipe"]["arc_agi"]["trm"]["train"].update(changes or {})
    write_params(folder / "params.yaml", {**params, "profile": "ci"})
    shutil.copyfile(ROOT / "dvc.yaml", folder / "dvc.yaml")
    shutil.copytree(ROOT / "stages", folder / "stages", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_a_profile_runs_through_and_leaves_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project(tmp_path))
    before = files(tmp_path)
    assert main(["rehearse", "--tflops", "350"]) == 0
    out = capsys.readouterr().out
    assert "9 stages, 0 failed or not run" in out and "at 350 TFLOP/s" in out
    assert files(tmp_path) == before


@pytest.mark.slow
def test_a_broken_cell_is_named_and_does_not_stop_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project(tmp_path, {"task_types": None}))
    assert main(["rehearse", "--tflops", "1"]) == 1
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert any(
        line.startswith("arc_agi_1-trm-s0 train task_types: the model learns task types") for line in lines
    )
    assert any(line.startswith("arc_agi_1-hrm-s0 evaluate ok") for line in lines)
    assert any(line.startswith("ci tabulate ok") for line in lines)
    assert "9 stages, 2 failed or not run" in lines  # its training and its evaluation


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--only", "none"], "--only none: profile ci has no such cell"),
        (["--tflops", "0"], "--tflops 0: a rate above 0 is needed"),
    ],
)
def test_wrong_options_are_told_in_a_line(
    options: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(project(tmp_path))
    assert main(["rehearse", *options]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert not (tmp_path / "data").exists()
