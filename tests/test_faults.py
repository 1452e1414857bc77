"""The table of faults finds what it looks for: files cut short, checkpoints without sums, results that differ."""

from pathlib import Path

import numpy as np
import pytest
from torch import zeros

from benchmarks.fault_project import Project
from serrm.arrays.build import build_grid_arrays
from serrm.core.provenance import write_provenance
from serrm.training.checkpoint import write_checkpoint
from tests.conftest import MakePath, MakeRun, config_of
from tests.training.running import files_limited


@pytest.fixture
def project(tmp_path: Path, make_run: MakeRun) -> Project:
    """Some files as the pipeline writes them."""
    write_checkpoint(tmp_path / "data" / "ci" / "runs" / "run", {"a": zeros(9)}, None, config_of(make_run()))
    metrics = tmp_path / "reports" / "ci" / "metrics.json"
    metrics.parent.mkdir(parents=True)
    metrics.write_text("{}")
    write_provenance(tmp_path / "data" / "ci" / "machine", "run", "training", {"seconds": 3.0})
    np.save(tmp_path / "data" / "a.npy", np.arange(9))
    (tmp_path / "reports" / "ci" / "a.svg").write_text("<svg></svg>")
    return Project(tmp_path)


def test_what_is_cut_short_is_found(project: Project) -> None:
    (project.root / "data" / ".b.json.1.partial").write_text("{")  # never read
    assert project.half_written() == set()
    cut = {
        "data/a.npy",
        "data/ci/runs/run/model.safetensors",
        "reports/ci/a.svg",
        "reports/ci/metrics.json",
    }
    for name in cut:
        content = (project.root / name).read_bytes()
        (project.root / name).write_bytes(content[: len(content) // 2])
    assert project.half_written() == cut


def test_a_full_disk_leaves_no_arrays(make_arrays: MakePath, tmp_path: Path) -> None:
    puzzles = make_arrays(side=9).parent
    with pytest.raises(OSError, match=rf"File too large: '{tmp_path}/arrays/"), files_limited(700):
        build_grid_arrays(puzzles, tmp_path / "arrays", task="sudoku", seed=0)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_results_are_without_the_clock(project: Project) -> None:
    known = project.results()
    write_provenance(project.root / "data" / "ci" / "machine", "run", "training", {"seconds": 4.0})
    assert project.results() == known
    (project.root / "reports" / "ci" / "metrics.json").write_text("[]")
    assert project.results() != known
