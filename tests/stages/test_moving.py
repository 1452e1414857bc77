"""A training packed out of a pipeline, run with the core packages alone, and brought back into it."""

import os
import re
import subprocess
import sys
import tomllib
import venv
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest

from tests.stages.test_pipeline import ROOT, TABLES, TINY, Project, cells, copied

CHUNK = 12  # seconds, of which most is the start of a process
NAME = "sudoku-se_rrm-s0"
SERRM = (sys.executable, "-m", "serrm.cli")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A copy of the repository with one cell, long enough for several pieces."""
    recipe = "profiles.ci.recipe.sudoku.se_rrm.train"
    grid = [{"tasks": ["sudoku"], "models": ["se_rrm"], "seeds": [0]}]
    longer = {"profiles.ci.grid": grid, f"{recipe}.steps": 800, f"{recipe}.log_every": 100}
    return copied(tmp_path / "project", TINY | longer)


@pytest.fixture
def bare_python(tmp_path: Path) -> Path:
    """The interpreter of an environment that holds what the core of pyproject.toml needs, and nothing else."""
    venv.create(tmp_path / "bare", symlinks=True)
    (packages,) = (tmp_path / "bare").glob("lib/python*/site-packages")
    core = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    for name in needed(core):
        found = distribution(name)
        for top in {
            file.parts[0] for file in found.files or () if file.parts[0] not in ("..", "__pycache__")
        }:
            link = packages / top
            if not link.exists():
                link.symlink_to(Path(str(found.locate_file(top))))
    return tmp_path / "bare" / "bin" / "python"


def needed(requirements: list[str]) -> set[str]:
    """The distributions that requirements lead to, extras left out."""
    found: dict[str, Distribution] = {}
    waiting = list(requirements)
    while waiting:
        line = waiting.pop()
        match = re.match(r"[\w.-]+", line)
        assert match is not None
        name = match[0].lower().replace("_", "-")
        if name in found or "extra ==" in line:
            continue
        try:
            found[name] = distribution(name)
        except ModuleNotFoundError:  # for another system or Python
            continue
        waiting += found[name].requires or ()
    return set(found)


def chunk(python: Path, project: Project, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """`python -m serrm.training` on the other machine, which has the sources and no more."""
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(project.root / "src"),
        "OMP_NUM_THREADS": "1",
    }
    command = [str(python), "-m", "serrm.training", str(folder), "--device", "cpu", *options]
    return subprocess.run(
        command, cwd=folder.parent, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated")
def test_trained_elsewhere_in_pieces_the_pipeline_trains_nothing_again(
    project: Project, bare_python: Path, tmp_path: Path
) -> None:
    without = subprocess.run([str(bare_python), "-c", "import torch, mlflow"], capture_output=True, text=True)
    assert "No module named 'mlflow'" in without.stderr
    assert project.run(*SERRM, "grid").returncode == 0
    assert project.run("dvc", "repro", "build_arrays@ci-sudoku").returncode == 0
    folder = tmp_path / "away" / "packed"
    folder.parent.mkdir()
    result = project.run(*SERRM, "pack", NAME, str(folder), "--max-file", "64KiB")
    assert result.returncode == 0, result.stderr
    steps, codes = [], []
    for _ in range(2):
        result = chunk(bare_python, project, folder, "--seconds", str(CHUNK))
        codes.append(result.returncode)
        steps += [
            int(step) for step in re.findall(r"^stopped at step (\d+) of 800", result.stderr, re.MULTILINE)
        ]
    codes.append(chunk(bare_python, project, folder).returncode)
    assert codes == [75, 75, 0], result.stderr
    assert 0 < steps[0] < steps[1] < 800
    result = project.run(*SERRM, "unpack", str(folder))
    assert result.returncode == 0 and "finished at step 800" in result.stdout, result.stderr
    # A budget in which no step could be taken: nothing is trained.
    project.edit({"execution.max_seconds": 1e-9})
    assert project.repro() == cells("train", "se_rrm") | cells("evaluate", "se_rrm") | TABLES
    assert project.repro() == set()
    assert project.runs() == [(NAME, "FINISHED")]
    log = (project.root / "reports/ci/training" / f"{NAME}.csv").read_text().splitlines()
    assert len(log) == 9
    assert {path.name for path in (project.root / "data/runs/ci" / NAME).iterdir()} >= {
        "model.safetensors",
        "snapshots",
    }
