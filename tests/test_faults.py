"""The table of faults finds what it looks for: files cut short, checkpoints without sums, results that differ."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from torch import zeros

from benchmarks.fault_project import STAGES, Project
from benchmarks.faults import BEGIN, END, before, target
from serrm.arrays.build import build_arrays
from serrm.files import between_markers
from serrm.training.checkpoint import write_checkpoint
from tests.training.running import files_limited

ROOT = Path(__file__).parents[1]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Some files as the pipeline writes them."""
    write_checkpoint(tmp_path / "data" / "ci" / "runs" / "run", {"a": zeros(9)}, None, {})
    metrics = tmp_path / "reports" / "ci" / "metrics" / "run.json"
    metrics.parent.mkdir(parents=True)
    metrics.write_text(json.dumps({"score": 1, "training": {"steps": 2, "seconds": 3.0}}))
    np.save(tmp_path / "data" / "a.npy", np.arange(9))
    (tmp_path / "reports" / "ci" / "a.svg").write_text("<svg></svg>")
    return Project(tmp_path)


def test_what_is_cut_short_is_found(project: Project) -> None:
    (project.root / "data" / ".b.json.1.partial").write_text("{")  # never read
    assert project.half_written() == set()
    cut = [
        "data/a.npy",
        "data/ci/runs/run/model.safetensors",
        "reports/ci/a.svg",
        "reports/ci/metrics/run.json",
    ]
    for name in cut:
        content = (project.root / name).read_bytes()
        (project.root / name).write_bytes(content[: len(content) // 2])
    assert project.half_written() == set(cut)


def test_a_full_disk_leaves_no_arrays(make_arrays: Callable[..., Path], tmp_path: Path) -> None:
    puzzles = make_arrays(side=9).parent
    with pytest.raises(OSError, match=rf"File too large: '{tmp_path}/arrays'"), files_limited(700):
        build_arrays(puzzles, tmp_path / "arrays", seed=0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("key", "is_same"), [("seconds", True), ("steps", False)])
def test_results_are_without_the_clock(project: Project, key: str, is_same: bool) -> None:
    known, file = project.results(), project.root / "reports" / "ci" / "metrics" / "run.json"
    metrics = json.loads(file.read_text())
    metrics["training"][key] += 1
    file.write_text(json.dumps(metrics))
    assert (project.results() == known) == is_same


def test_stages_are_those_of_the_pipeline() -> None:
    command = " ".join(Project(ROOT).command("train"))
    assert command == "python -m stages train sudoku-se_rrm-s0"
    assert (before("train"), target("train")) == ("build_arrays", "train@sudoku-se_rrm-s0")
    assert set(STAGES) == {path.stem for path in (ROOT / "stages").glob("[a-z]*.py")} - {"layout"}


def test_the_page_has_a_place_for_the_table() -> None:
    page = (ROOT / "docs" / "reliability.md").read_text()
    assert between_markers(page, BEGIN, END, "x").count("\nx\n") == 1
