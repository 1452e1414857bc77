"""Two clones that share a git repository and a DVC remote: each trains one run, and together they have all tables."""

from pathlib import Path

import pytest
import yaml

from serrm.core.project import Layout
from tests.stages.test_pipeline import OTHER, RUN, RUNNING, Project, built, ran

__all__ = ["built"]
pytestmark = pytest.mark.slow


def score_tables(project: Project) -> dict[str, str]:
    """All tables by name."""
    folder = Layout("ci", project.root).reports / "tables"
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_clones_that_trained_one_run_each_make_the_tables_of_both(built: Project, tmp_path: Path) -> None:
    """Whichever side a merge of dvc.lock keeps, the run cache has what the other side did."""
    expected = score_tables(built)
    built.done("dvc", "remote", "add", "--default", "shared", str(tmp_path / "remote"))
    built.done("dvc", "push")
    lock = yaml.safe_load((built.root / "dvc.lock").read_text())
    shared = [name for name in lock["stages"] if name.endswith(("@sudoku", "hash_code"))]
    lock["stages"] = {name: lock["stages"][name] for name in shared}
    (built.root / "dvc.lock").write_text(yaml.safe_dump(lock, sort_keys=False))
    built.done("git", "add", ".dvc/config", "dvc.lock")
    built.done("git", "commit", "-qm", "Data, a remote")
    first, second = (Project(tmp_path / name) for name in ("first", "second"))
    for clone, run in ((first, RUN), (second, OTHER)):
        built.done("git", "clone", "-q", str(built.root), str(clone.root))
        assert ran(clone.done("dvc", "repro", "--pull", "--glob", "build_arrays@*", "hash_code")) == set()
        clone.done(*RUNNING, "--run", run)
        clone.done("git", "commit", "-qam", run)
        clone.done("dvc", "push", "--run-cache")
    first.done("git", "pull", "-q", "--no-rebase", "--no-edit", "--strategy=ours", str(second.root))
    assert ran(first.done("dvc", "repro", "--pull")) == {"tabulate"}
    assert score_tables(first) == expected
