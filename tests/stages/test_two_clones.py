"""Two clones that share a git repository and a DVC remote: each trains one run, and together they have all tables."""

import shutil
from pathlib import Path

import pytest
import yaml

from serrm.core.project import Layout
from tests.stages.test_pipeline import OTHER, ROOT, RUN, Project, built

__all__ = ["built"]
pytestmark = pytest.mark.slow


def score_tables(project: Project) -> dict[str, str]:
    """All tables by name."""
    folder = Layout("ci", project.root).reports / "tables"
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_clones_that_trained_one_run_each_make_the_tables_of_both(built: Project, tmp_path: Path) -> None:
    expected = score_tables(built)
    built.done("dvc", "remote", "add", "--default", "shared", str(tmp_path / "remote"))
    built.done("dvc", "push")
    shutil.copy2(ROOT / ".gitattributes", built.root)
    lock = yaml.safe_load((built.root / "dvc.lock").read_text())
    shared = [name for name in lock["stages"] if name.endswith(("@sudoku", "hash_code"))]
    lock["stages"] = {name: lock["stages"][name] for name in shared}
    (built.root / "dvc.lock").write_text(yaml.safe_dump(lock, sort_keys=False))
    built.done("git", "add", ".gitattributes", ".dvc/config", "dvc.lock")
    built.done("git", "commit", "-qm", "Data, a remote")
    first, second = (Project(tmp_path / name) for name in ("first", "second"))
    for clone, run in ((first, RUN), (second, OTHER)):
        built.done("git", "clone", "-q", str(built.root), str(clone.root))
        clone.done("dvc", "pull", "build_arrays@sudoku", "hash_code")
        clone.done("scripts/one_run", run)
        clone.done("git", "add", "dvc.lock")
        clone.done("git", "commit", "-qm", run)
        clone.done("dvc", "push", f"train@{run}", f"evaluate@{run}")
    first.done("git", "config", "merge.dvc-lock.driver", "python scripts/merge_lock %O %A %B")
    first.done("git", "pull", "-q", "--no-rebase", "--no-edit", str(second.root))
    first.done("dvc", "pull", "--allow-missing")
    assert first.repro() == {"tabulate"}
    assert score_tables(first) == expected
