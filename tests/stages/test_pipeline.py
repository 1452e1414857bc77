"""The pipeline as DVC runs it: a copy of the repository, tiny parameters, and what each edit runs again."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from mlflow.tracking import MlflowClient

from serrm.config import grid_of
from serrm.manifest import hash_file
from serrm.training.interrupt import EXIT_RESUMABLE, Interrupted
from stages import __main__ as command_line
from stages.layout import Layout

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
CELLS = ("se_rrm", "other")
TABLES = {"tabulate@ci"}
RESOLVE = {"resolve@ci"}
TINY: dict[str, Any] = {
    "profile": "ci",
    "profiles.ci.grid": [{"tasks": ["sudoku"], "models": list(CELLS), "seeds": [0]}],
    "model.other": {"based_on": "se_rrm", "positions": "rope"},
    "execution": {"device": "cpu", "threads": 1},
    "profiles.ci.data.sudoku.download.source": {
        "kind": "generated",
        "num_train": 12,
        "num_test": 4,
        "clues": [45, 55],
        "num_16x16": 0,
        "clues_16x16": [150, 200],
        "num_25x25": 0,
        "clues_25x25": [450, 550],
    },
    "profiles.ci.data.sudoku.augment": {"num_train": None, "num_test": None, "num_test_sizes": {"4x4": 4}},
    "profiles.ci.data.sudoku.arrays": {"num_augmentations": 2},
    "profiles.ci.recipe.sudoku.se_rrm.train.batch_size": 4,
    "profiles.ci.recipe.sudoku.se_rrm.train.steps": 6,
    "profiles.ci.recipe.sudoku.se_rrm.train.log_every": 3,
    "profiles.ci.evaluate.sudoku.curve_puzzles": 2,
}


def cells(stage: str, *models: str) -> set[str]:
    return {f"{stage}@ci-sudoku-{model}-0" for model in models}


@dataclass
class Project:
    """A copy of the repository's tracked files with a git repository and a DVC cache of its own."""

    root: Path

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command there, with this Python and the copy's own code."""
        without = ("MLFLOW_TRACKING_URI", "DVC_ROOT")
        environment = {key: value for key, value in os.environ.items() if key not in without} | {
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(self.root / "src"),
            "OMP_NUM_THREADS": "1",
            "DVC_NO_ANALYTICS": "1",
            "GIT_AUTHOR_NAME": "a",
            "GIT_AUTHOR_EMAIL": "a@example.org",
            "GIT_COMMITTER_NAME": "a",
            "GIT_COMMITTER_EMAIL": "a@example.org",
        }
        return subprocess.run(
            command, cwd=self.root, env=environment, capture_output=True, text=True, check=False
        )

    def repro(self) -> set[str]:
        """The stages that `make repro` would run."""
        assert self.run(sys.executable, "-m", "serrm.cli", "grid").returncode == 0
        result = self.run("dvc", "repro")
        assert result.returncode == 0, result.stdout + result.stderr
        return set(re.findall(r"^Running stage '(.*)':$", result.stdout, flags=re.MULTILINE))

    def edit(self, changes: dict[str, Any]) -> None:
        """Write values into params.yaml, each at its keys joined by dots."""
        path = self.root / "params.yaml"
        params = yaml.safe_load(path.read_text())
        for keys, value in changes.items():
            *above, last = keys.split(".")
            place = params
            for key in above:
                place = place[key]
            place[last] = value
        path.write_text(yaml.safe_dump(params, sort_keys=False))

    def runs(self) -> list[tuple[str, str]]:
        """Name and status of MLflow's runs, oldest first."""
        client = MlflowClient(f"sqlite:///{self.root / 'mlflow.db'}")
        experiment = client.get_experiment_by_name("serrm/ci/sudoku")
        assert experiment is not None
        found = client.search_runs([experiment.experiment_id], order_by=["attributes.start_time ASC"])
        return [(run.info.run_name, run.info.status) for run in found]


def tracked_files() -> list[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    settings = "dvc.yaml", "params.yaml", "grid.yaml", "pyproject.toml"
    wanted = ("src/", "stages/", ".dvc", ".gitignore", *settings)
    return [name for name in listed if name.startswith(wanted) and (ROOT / name).is_file()]


def copied(root: Path, changes: dict[str, Any]) -> Project:
    """A copy of the repository, committed, with other values in params.yaml; nothing has run."""
    project = Project(root)
    for name in tracked_files():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, root / name)
    project.edit(changes)
    for command in (["git", "init", "-q"], ["git", "add", "."], ["git", "commit", "-qm", "copy"]):
        result = project.run(*command)
        assert result.returncode == 0, result.stderr
    return project


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The copy with tiny parameters."""
    return copied(tmp_path_factory.mktemp("project"), TINY)


@pytest.fixture(scope="module")
def built(project: Project) -> Project:
    """The project after its first `dvc repro`."""
    ran = project.repro()
    data = {f"{stage}@ci-sudoku" for stage in ("download", "augment", "build_arrays")}
    assert ran == RESOLVE | data | cells("train", *CELLS) | cells("evaluate", *CELLS) | TABLES
    return project


def fingerprints(folder: Path) -> dict[str, tuple[int, int]]:
    """Inode and time of change of every file."""
    return {
        path.relative_to(folder).as_posix(): (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated")
def test_the_first_run_makes_everything(built: Project) -> None:
    layout = Layout("ci")
    for model in CELLS:
        run = built.root / layout.runs / f"sudoku-{model}-s0"
        assert {path.name for path in run.iterdir()} >= {
            "model.safetensors",
            "training_state.pt",
            "config.json",
        }
        assert (built.root / layout.reports / "metrics" / f"sudoku-{model}-s0.json").is_file()
    assert {path.suffix for path in (built.root / layout.reports / "tables").iterdir()} >= {
        ".md",
        ".csv",
        ".tex",
    }
    assert any((built.root / layout.reports / "figures").iterdir())
    assert sorted(built.runs()) == [("sudoku-other-s0", "FINISHED"), ("sudoku-se_rrm-s0", "FINISHED")]
    assert built.run("dvc", "status").stdout.strip() == "Data and pipelines are up to date."
    assert list((built.root / layout.scratch).iterdir()) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated")
def test_a_variant_is_one_entry_and_appears_everywhere(built: Project) -> None:
    """`other` is an entry that the copy's params.yaml has and the repository's has not."""
    assert "other" not in yaml.safe_load((ROOT / "params.yaml").read_text())["model"]
    reports = built.root / Layout("ci").reports
    shown = {"table1.md": "**other**", "table2.csv": ",other,", "table2.tex": "other", "runs.md": "| other |"}
    for name, text in shown.items():
        assert text in (reports / "tables" / name).read_text(), name
    page = (reports / "report.html").read_text()
    assert re.search(r">\s*other\s*<", page)
    assert "other" in (reports / "figures" / "depth.svg").read_text()
    assert "sudoku-other-s0" in [name for name, _ in built.runs()]
    assert "other" in built.run(sys.executable, "-m", "serrm.cli", "headline").stdout


@pytest.mark.slow
def test_a_second_run_does_nothing_and_soon(built: Project, record_property: Callable[..., None]) -> None:
    start = time.monotonic()
    assert built.repro() == set()
    seconds = time.monotonic() - start
    record_property("seconds", seconds)
    assert seconds < 30, "five on a quiet machine"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"model.other.positions": "none"},
            RESOLVE | cells("train", "other") | cells("evaluate", "other") | TABLES,
        ),
        (
            {"profiles.ci.recipe.sudoku.se_rrm.train.weight_decay": 0.5},
            RESOLVE | cells("train", *CELLS) | cells("evaluate", *CELLS) | TABLES,
        ),
        (
            {"profiles.ci.evaluate.sudoku.steps": [1, 3, 16]},
            RESOLVE | cells("evaluate", *CELLS) | TABLES,
        ),
        ({"execution.checkpoint_seconds": 5, "execution.threads": 2}, set()),
        ({"profiles.cpu.recipe.sudoku.se_rrm.train.learning_rate": 0.1}, set()),
        # The profile overrides it: what the cells resolve to has not changed; the tables' words on the paper's have.
        ({"model.se_rrm.width": 255}, RESOLVE | TABLES),
    ],
    ids=["a variant", "a recipe", "evaluation", "execution", "an inactive profile", "an overridden value"],
)
def test_an_edit_runs_what_depends_on_it_and_no_more(
    built: Project, changes: dict[str, Any], expected: set[str]
) -> None:
    built.repro()
    before = fingerprints(built.root / "data" / "runs")
    built.edit(changes)
    assert built.repro() == expected
    after = fingerprints(built.root / "data" / "runs")
    trained = {stage.removeprefix("train@ci-").removesuffix("-0") for stage in expected if "train" in stage}
    changed = {name.split("/")[1].split("-s0")[0] for name in after if before.get(name) != after[name]}
    assert changed == trained, "other checkpoints stay untouched, to the file"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated")
def test_a_time_budget_stops_and_the_same_command_goes_on(built: Project) -> None:
    built.repro()
    num_runs = len(built.runs())
    built.edit({"model.other.expansion": 3.0, "execution.max_seconds": 0.0001})
    for _ in range(2):
        result = built.run("dvc", "repro")
        assert result.returncode != 0
        output = result.stdout + result.stderr
        assert "resume with the same command" in output and f"exited with {EXIT_RESUMABLE}" in output
        assert "Traceback" not in output
        assert not (built.root / Layout("ci").runs / "sudoku-other-s0").exists()
    assert built.runs()[num_runs:] == [("sudoku-other-s0", "KILLED")]
    built.edit({"execution.max_seconds": None})
    assert built.repro() == cells("train", "other") | cells("evaluate", "other") | TABLES
    assert built.runs()[num_runs:] == [("sudoku-other-s0", "FINISHED")]


@pytest.mark.slow
def test_another_profile_and_back(built: Project) -> None:
    built.repro()
    params = yaml.safe_load((built.root / "params.yaml").read_text())
    mine = {**params["profiles"]["ci"], "grid": [{"tasks": ["sudoku"], "models": ["se_rrm"], "seeds": [0]}]}
    built.edit({"profiles.mine": mine, "profile": "mine"})
    # Without `serrm grid`, the first stage says what to do, and runs nothing.
    result = built.run("dvc", "repro")
    assert result.returncode != 0
    assert "error: grid.yaml now lists the 1 cell of profile mine: run `dvc repro` again" in result.stderr
    assert "Traceback" not in result.stderr and "@ci-" not in result.stdout.replace("didn't change", "")
    ran = built.repro()
    assert "train@mine-sudoku-se_rrm-0" in ran and not any("@ci" in stage for stage in ran)
    built.edit({"profile": "ci"})
    assert built.repro() == set(), "what another profile does leaves the lock of this one valid"


@pytest.mark.slow
def test_a_training_comes_after_the_one_that_it_goes_on_from_and_again_with_it(built: Project) -> None:
    """`tuned` stands first in the grid; what it resolves to does not change with its origin."""
    built.repro()
    origin = "data/runs/ci/sudoku-se_rrm-s0"
    tuned = {"based_on": "se_rrm", "train": {"init_from": origin, "weight_decay": 0.3}}
    grid = [{"tasks": ["sudoku"], "models": ["tuned", "se_rrm"], "seeds": [0]}]
    built.edit({"model.tuned": tuned, "profiles.ci.grid": grid})
    assert built.repro() == RESOLVE | cells("train", "tuned") | cells("evaluate", "tuned") | TABLES
    built.edit({"profiles.ci.recipe.sudoku.se_rrm.train.weight_decay": 0.7})
    both = ("se_rrm", "tuned")
    assert built.repro() == RESOLVE | cells("train", *both) | cells("evaluate", *both) | TABLES
    weights = hash_file(built.root / origin / "model.safetensors")
    config = json.loads((built.root / "data/runs/ci/sudoku-tuned-s0/config.json").read_text())
    assert config["initial_sha256"] == weights


def test_dvc_reads_the_pipeline() -> None:
    """What `dvc stage list` names is a stage for each cell of the committed grid."""
    result = Project(ROOT).run("dvc", "stage", "list", "--name-only")
    assert result.returncode == 0, result.stderr
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    profile = params["profile"]
    expected = {f"{stage}@{profile}" for stage in ("resolve", "tabulate")}
    grid = grid_of(params, profile)
    stages_of_tasks = ("download", "augment", "build_arrays")
    expected |= {f"{stage}@{profile}-{task}" for stage in stages_of_tasks for task in grid.tasks()}
    for task, model, seed in grid.cells():
        expected |= {f"{stage}@{profile}-{task}-{model}-{seed}" for stage in ("train", "evaluate")}
    assert set(result.stdout.split()) == expected


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (Interrupted("stopped at step 3"), EXIT_RESUMABLE, "stopped at step 3\n"),
        (ValueError("model.width: no"), 1, "error: model.width: no\n"),
        (FileNotFoundError(2, "No such file", "a.json"), 1, "error: [Errno 2] No such file: 'a.json'\n"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_failures_are_one_line_and_a_code(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    code: int,
    message: str,
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(command_line, "app", fail)
    monkeypatch.setattr("stages.__main__.signal.signal", lambda *_: None)
    with pytest.raises(SystemExit) as stop:
        command_line.main()
    assert stop.value.code == code
    assert capsys.readouterr().err == message


def test_a_missing_option_is_a_usage_error() -> None:
    result = Project(ROOT).run(sys.executable, "-m", "stages", "train", "--profile", "ci")
    assert result.returncode == 2
    assert "--task" in result.stderr and "Traceback" not in result.stderr
