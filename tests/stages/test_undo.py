"""The undo of docs/howto.md, `git checkout params.yaml && dvc repro`, on a fresh clone: other results stay in place.

The stages write a file and no more. The clone's results differ from the committed ones, as another CPU's may.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from serrm.core.project import Layout
from tests.stages.test_pipeline import ran, stages
from tests.stages.test_reruns import ALL, TABULATE, TRM, StandIns

pytestmark = pytest.mark.slow
RECIPE = "recipes.sudoku.trm.steps"


class Clone(StandIns):
    """A clone of the commit, without DVC's cache."""

    def __init__(self, origin: StandIns, root: Path) -> None:
        self.root = root
        origin.done("git", "clone", "-q", str(origin.root), str(root))

    def results(self) -> dict[str, bytes]:
        """All outputs of the pipeline by path."""
        tops = [self.root / "reports", *(self.root / "data").glob("*")]
        files = (path for top in tops if top.name != "scratch" for path in top.rglob("*") if path.is_file())
        return {path.relative_to(self.root).as_posix(): path.read_bytes() for path in files}

    def status(self) -> str:
        """What git finds changed."""
        return self.done("git", "status", "--porcelain")

    def undo(self) -> set[str]:
        """The commands of the how-to; returns the stages that ran."""
        self.done("git", "checkout", "params.yaml")
        return self.repro()


def commit(repository: StandIns) -> None:
    repository.done("git", "add", ".")
    repository.done("git", "commit", "-qm", "all")


def prune(repository: StandIns) -> str:
    """What `serrm prune` prints."""
    return repository.done(sys.executable, "-m", "serrm.cli", "prune")


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> StandIns:
    """A repository with committed results."""
    made = StandIns(tmp_path_factory.mktemp("origin"))
    made.repro()
    prune(made)
    commit(made)
    return made


@pytest.fixture(params=["with a commit", "without a commit"])
def clone(
    request: pytest.FixtureRequest, origin: StandIns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Clone:
    """A clone after its first `dvc repro`, whose results are committed or not."""
    made = Clone(origin, tmp_path / "clone")
    monkeypatch.setenv("MACHINE", "another")
    assert made.repro() >= ALL
    if request.param == "with a commit":
        commit(made)
    return made


def edit(clone: Clone) -> None:
    clone.edit(RECIPE.replace(".", "/"), 7)
    assert clone.repro() == stages("train evaluate", TRM) | TABULATE


def experiment(clone: Clone) -> None:
    """One that is queued and put in place, and then one that runs in place."""
    clone.done("dvc", "exp", "run", "--queue", "-n", "queued", "-S", f"{RECIPE}=7")
    clone.done("dvc", "exp", "run", "--run-all")
    assert clone.repro() <= TABULATE, "it ran in a copy"
    clone.done("dvc", "exp", "apply", "queued")
    assert clone.repro() <= TABULATE, "all of it is in the cache"
    clone.undo()
    output = clone.done("dvc", "exp", "run", "-n", "short", "-S", f"{RECIPE}=8")
    assert ran(output) == stages("train evaluate", TRM) | TABULATE


@pytest.mark.parametrize("change", [edit, experiment])
def test_an_undo_restores_every_result_and_trains_nothing(
    clone: Clone, change: Callable[[Clone], None]
) -> None:
    before = clone.results()
    change(clone)
    assert clone.results() != before
    assert clone.undo() <= TABULATE
    assert clone.results() == before
    assert clone.repro() == set()


def test_a_switch_of_profile_and_its_undo_keep_the_results_of_both(clone: Clone) -> None:
    before = clone.results()
    clone.use("laptop")
    assert clone.repro() >= ALL
    both = clone.results()
    assert both.items() > before.items()
    assert clone.undo() <= TABULATE
    assert clone.results() == both
    prune(clone)
    assert clone.results() == both


def test_removed_runs_and_test_sets_leave_no_trace(origin: StandIns, tmp_path: Path) -> None:
    """Neither in the results nor in dvc.lock; and a run that comes back is not trained again."""
    clone, new = Clone(origin, tmp_path / "clone"), "maze-trm-s0"
    layout = Layout("ci", clone.root)
    clone.repro()
    assert clone.status() == ""
    clone.root.joinpath("mine.txt").write_text("puzzles")
    commit(clone)
    run = {"data_set": "maze", "model": "trm", "seed": 0, "init": "random"}
    clone.edit(f"runs/{new}", run)
    clone.edit("tests", {"mine": {"data_set": "sudoku", "file": "mine.txt"}})
    assert stages("train evaluate", new) | stages("read_tests", "mine") <= clone.repro()
    clone.done("git", "checkout", "params.yaml")
    lost = layout.scores / "lost.json"
    lost.write_text("not made by DVC")
    prune(clone)
    assert lost.exists() and not (layout.scores / f"{new}.json").exists()
    assert (layout.runs / new).is_dir(), "checkpoints stay"
    lost.unlink()
    assert clone.repro() <= TABULATE
    assert clone.status() == "" and prune(clone) == ""
    clone.edit(f"runs/{new}", run)
    assert clone.repro() <= TABULATE
    assert (layout.scores / f"{new}.json").exists()
