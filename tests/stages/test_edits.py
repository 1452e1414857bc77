"""Settings, code and data edited while a stage runs: results are filed under nothing that did not make them."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from serrm.core import provenance
from serrm.core.files import hash_file
from serrm.core.project import Layout
from serrm.training.identity import unfinished_trainings, weights_sha256
from serrm.training.run import TrainingRun
from stages import evaluate, inputs, train
from stages.inputs import unedited
from tests.conftest import MakePath
from tests.repository import git
from tests.stages.test_pipeline import OTHER, ROOT, RUN, Project, built, tiny

__all__ = ["built"]
MODULE = "src/serrm/core/module.py"  # code of every stage
# The stages with their keys, a setting that they use, and a file of their data.
STAGES = {
    "download": ("sudoku", "data_sets.sudoku.download.source.num_test", "data/none/file"),
    "choose_puzzles": ("sudoku", "data_sets.sudoku.puzzles.num_test", "data/ci/raw/sudoku/file"),
    "build_arrays": ("sudoku", "data_sets.sudoku.arrays.num_augmentations", "data/ci/puzzles/sudoku/file"),
    "read_tests": ("mine", "tests.mine.num_puzzles", "mine.txt"),
    "hash_code": ("", "runs.sudoku-other-s0.seed", ""),
    "train": (RUN, "recipes.sudoku.se_rrm.steps", "data/ci/arrays/sudoku/training/file"),
    "evaluate": (RUN, "data_sets.sudoku.evaluate.curve_puzzles", f"data/ci/runs/{RUN}/file"),
    "tabulate": ("", "recipes.sudoku.se_rrm.steps", "data/ci/scores/file"),
}
# What desktops, editors and notebooks leave; Emacs locks a file by a link to nowhere.
LEFTOVERS = (
    ".DS_Store",
    "._x.h",
    ".x.py.swp",
    "x.py~",
    "#x.py#",
    ".ipynb_checkpoints/x-checkpoint.py",
    ".idea/x",
)
LOCK = ".#x.h"
Edit = Callable[[str], None]


def leave_leftovers(folder: Path) -> None:
    for name in LEFTOVERS:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("no code")
    (folder / LOCK).symlink_to("user@host.1")


def set_value(key: str, value: Any) -> None:
    """Write a value at a key of params.yaml."""
    file = Path("params.yaml")
    values = section = yaml.safe_load(file.read_text())
    *names, last = key.split(".")
    for name in names:
        section = section[name]
    section[last] = value
    file.write_text(yaml.safe_dump(values, sort_keys=False))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git repository with the real dvc.yaml, a params file, one module of code, and a file of every stage's data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(inputs, "ROOT", tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    shutil.copyfile(ROOT / "dvc.yaml", "dvc.yaml")
    tests = {"mine": {"data_set": "sudoku", "file": "mine.txt"}}
    Path("params.yaml").write_text(yaml.safe_dump(tiny() | {"tests": tests}, sort_keys=False))
    for name in (MODULE, *(data for _, _, data in STAGES.values() if data)):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text("before")
    code = Path("data/ci/code")
    code.mkdir(parents=True)
    for suffix in ("training", "scoring"):
        (code / f"{RUN}.{suffix}").write_text(
            f"run.model: x\n{hash_file(Path(MODULE))} serrm/core/module.py\n"
        )
    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-qm", "before")
    return tmp_path


def edit_settings(stage: str) -> None:
    set_value(STAGES[stage][1], 3)


def edit_code(stage: str) -> None:
    Path(MODULE).write_text("after")


def edit_data(stage: str) -> None:
    Path(STAGES[stage][2]).write_text("after")


def change_branch(stage: str) -> None:
    edit_settings(stage)
    git("checkout", "-qB", "other")
    git("commit", "-qam", "other settings")


def undo() -> None:
    git("checkout", "-q", "main")
    git("checkout", ".")


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_fails_after_an_edit_and_not_after_its_undo_or_an_edit_of_what_it_does_not_use(
    project: Path, stage: str
) -> None:
    key, _, data = STAGES[stage]
    edits = edit_settings, edit_code, change_branch, *([edit_data] if data else [])
    for edit in edits:
        with pytest.raises(ValueError, match="edited while"), unedited(stage, key):
            edit(stage)
        undo()
        with unedited(stage, key):
            edit(stage)
            undo()
    with unedited(stage, key):
        Path("README.md").write_text("after")
        leave_leftovers(Path("src/serrm/core"))
        if stage not in ("tabulate", "hash_code"):
            set_value("models.trm.width", 32)


@pytest.mark.parametrize("ignored", [".gitignore", ".dvcignore"])
def test_what_editors_leave_is_no_change_for_git_and_dvc(tmp_path: Path, ignored: str) -> None:
    shutil.copyfile(ROOT / ignored, tmp_path / ".gitignore")
    leave_leftovers(tmp_path / "src")
    (tmp_path / "src" / "x.py").touch()
    status = ("git", "-C", str(tmp_path), "status", "--porcelain", "--untracked-files=all", "src")
    subprocess.run([*status[:3], "init", "-q"], check=True)
    assert subprocess.run(status, check=True, capture_output=True, text=True).stdout == "?? src/x.py\n"


def test_what_editors_leave_is_no_code_of_a_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "__file__", str(tmp_path / "core" / "provenance.py"))
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "x.py").write_text("code")
    before = provenance.package_hash()
    leave_leftovers(tmp_path / "core")
    (tmp_path / "core" / ".#x.py").symlink_to("user@host.1")
    assert provenance.package_hash() == before


def test_code_that_is_newer_than_its_list_trains_nothing(project: Path) -> None:
    edit_code("train")
    with pytest.raises(ValueError, match="hash_code"), unedited("train", RUN):
        pass


@pytest.fixture
def trainable(project: Path, make_arrays: MakePath, monkeypatch: pytest.MonkeyPatch) -> Layout:
    """The project with arrays, in which a stage trains in this process."""
    shutil.rmtree("data/ci/arrays")
    shutil.copytree(make_arrays(side=4), "data/ci/arrays/sudoku")
    set_value("recipes.sudoku.se_rrm.batch_size", 4)
    set_value("data_sets.sudoku.arrays.num_augmentations", 0)
    git("commit", "-qam", "tiny")
    Path("machine.yaml").write_text("device: cpu\nthreads: 1\n")
    monkeypatch.setattr("serrm.tracking.background.mirror_meanwhile", lambda root: None)
    return Layout("ci")


def change_data(stage: str) -> None:
    metadata = Path("data/ci/arrays/sudoku/training/metadata.json")
    metadata.write_text(json.dumps(json.loads(metadata.read_text()), indent=3))


@contextmanager
def edited_at_the_end(edit: Edit, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Edit something when a training has taken its steps."""
    steps = TrainingRun.run_steps

    def run_steps(self: TrainingRun, *arguments: Any) -> None:
        steps(self, *arguments)
        edit("train")

    with monkeypatch.context() as patch:
        patch.setattr(TrainingRun, "run_steps", run_steps)
        yield


@pytest.mark.parametrize("edit", [edit_settings, edit_code, change_data])
def test_an_edit_while_training_files_nothing_and_costs_nothing_once_undone(
    trainable: Layout, monkeypatch: pytest.MonkeyPatch, edit: Edit
) -> None:
    train.train(RUN)
    untouched, target = weights_sha256(trainable.runs / RUN), trainable.runs / RUN
    assert list(trainable.scratch.glob("*")) == []
    shutil.rmtree(target)
    data = Path("data/ci/arrays/sudoku/training/metadata.json")
    before = data.read_bytes()
    with edited_at_the_end(edit, monkeypatch), pytest.raises(ValueError, match="edited while train"):
        train.train(RUN)
    assert not target.exists(), "DVC would file it"
    undo()
    data.write_bytes(before)
    (kept,) = unfinished_trainings(trainable.scratch)
    assert kept.identity.run == RUN and kept.step == 6
    train.train(RUN)
    assert weights_sha256(target) == untouched
    assert list(trainable.scratch.glob("*")) == []


def test_scores_are_made_of_no_checkpoint_of_other_settings_or_data(trainable: Layout) -> None:
    train.train(RUN)
    set_value("recipes.sudoku.se_rrm.steps", 3)
    with pytest.raises(ValueError, match="other settings"):
        evaluate.evaluate(RUN)
    git("checkout", ".")
    change_data("train")
    metadata = Path("data/ci/arrays/sudoku/training/metadata.json")
    metadata.write_text(json.dumps(json.loads(metadata.read_text()) | {"seed": 5}))
    with pytest.raises(ValueError, match="other training data"):
        evaluate.evaluate(RUN)
    assert not trainable.scores.joinpath(f"{RUN}.json").exists()


def test_the_facts_of_a_checkpoint_come_back_with_it(trainable: Layout) -> None:
    train.train(RUN)
    (first,) = trainable.provenance.iterdir()
    content = first.read_bytes()
    set_value("recipes.sudoku.se_rrm.steps", 3)
    train.train(RUN)
    assert len(list(trainable.provenance.iterdir())) == 2
    assert first.read_bytes() == content and first.stem != weights_sha256(trainable.runs / RUN)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated")
def test_an_experiment_in_a_temporary_copy_goes_on_where_it_stopped(built: Project) -> None:
    layout = Layout("ci", built.root)
    params, command = tiny(), ("dvc", "exp", "run", "--temp", f"train@{OTHER}")
    params["runs"][OTHER]["changes"]["model.expansion"] = 3.0
    built.write(params, max_seconds=0.0001)
    for step in (1, 2):
        assert built.run(*command).returncode != 0
        (unfinished,) = unfinished_trainings(layout.scratch)
        assert unfinished.step == step
    built.write(params)
    built.done(*command)
    assert not list(unfinished_trainings(layout.scratch))
