"""Two clones that share a git repository and a DVC remote: each trains one run, and together they have all tables."""

import re
import shutil
from pathlib import Path

import pytest
import yaml

from serrm.project import Layout
from tests.stages.test_pipeline import OTHER, ROOT, RUN, Project, built

__all__ = ["built"]
pytestmark = pytest.mark.slow


def done(project: Project, *command: str) -> str:
    result = project.run(*command)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def score_tables(project: Project) -> dict[str, str]:
    """All tables except the one that has the seconds of the trainings."""
    folder = Layout("ci", project.root).reports / "tables"
    return {path.name: path.read_text() for path in folder.iterdir() if path.stem != "runs"}


def test_clones_that_trained_one_run_each_make_the_tables_of_both(built: Project, tmp_path: Path) -> None:
    expected = score_tables(built)
    done(built, "dvc", "remote", "add", "--default", "shared", str(tmp_path / "remote"))
    done(built, "dvc", "push")
    shutil.copy2(ROOT / ".gitattributes", built.root)
    lock = yaml.safe_load((built.root / "dvc.lock").read_text())
    lock["stages"] = {name: lock["stages"][name] for name in lock["stages"] if name.endswith("@sudoku")}
    (built.root / "dvc.lock").write_text(yaml.safe_dump(lock, sort_keys=False))
    done(built, "git", "add", ".gitattributes", ".dvc/config", "dvc.lock")
    done(built, "git", "commit", "-qm", "Data, a remote")
    first, second = (Project(tmp_path / name) for name in ("first", "second"))
    for clone, run in ((first, RUN), (second, OTHER)):
        done(built, "git", "clone", "-q", str(built.root), str(clone.root))
        done(clone, "dvc", "pull", "build_arrays@sudoku")
        done(clone, "stages/one_run", run)
        done(clone, "git", "add", "dvc.lock", "reports")
        done(clone, "git", "commit", "-qm", run)
        done(clone, "dvc", "push", f"train@{run}", f"evaluate@{run}")
    done(first, "git", "config", "merge.dvc-lock.driver", "python stages/merge_lock %O %A %B")
    done(first, "git", "pull", "-q", "--no-rebase", "--no-edit", str(second.root))
    done(first, "dvc", "pull", "--allow-missing")
    ran = re.findall(r"^Running stage '(.*)':$", done(first, "dvc", "repro"), flags=re.MULTILINE)
    assert ran == ["tabulate"]
    assert score_tables(first) == expected
