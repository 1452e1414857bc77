"""The pipeline as DVC runs it: a copy of the repository, tiny parameters, and what each edit runs again."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from mlflow.tracking import MlflowClient

from serrm.core.locks import lock
from serrm.core.project import Layout
from serrm.scoring.schema import read_profile_scores
from serrm.tracking.background import MIRROR_LOCK
from serrm.training.identity import weights_sha256
from serrm.training.run import EXIT_RESUMABLE

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
RUNNING = sys.executable, "-m", "serrm.running"
RUN, OTHER = "sudoku-se_rrm-s0", "sudoku-other-s0"
COPIED = (
    "src/",
    "stages/",
    "scripts/",
    ".dvc",
    ".gitignore",
    "profiles/",
    "data/",
    "dvc.yaml",
    "reports/studies/",
)


def tiny() -> dict[str, Any]:
    """Profile ci with two small runs of SE-RRM on Sudoku, the second with other positions."""
    params: dict[str, Any] = yaml.safe_load((ROOT / "profiles" / "ci.yaml").read_text())
    section, few = (
        params["data_sets"]["sudoku"],
        {"num_train": 12, "num_test": 4, "num_16x16": 0, "num_25x25": 0},
    )
    section |= {
        "download": {"source": section["download"]["source"] | few | {"clues": [45, 55]}},
        "puzzles": {"num_train": None, "num_test": None, "num_test_sizes": {"4x4": 4}},
        "arrays": {"num_augmentations": 2},
    }
    section["evaluate"]["curve_puzzles"] = 2
    recipe = params["recipes"]["sudoku"]["se_rrm"] | {"batch_size": 4, "steps": 6, "log_every": 3}
    run = params["runs"][RUN]
    return params | {
        "data_sets": {"sudoku": section},
        "recipes": {"sudoku": {"se_rrm": recipe}},
        "runs": {RUN: run, OTHER: run | {"changes": {"model.positions": "rope"}}},
    }


def stages(names: str, *keys: str) -> set[str]:
    return {f"{name}@{key}" for name in names.split() for key in keys}


def ran(output: str) -> set[str]:
    """The stages that DVC's output names, without `hash_code`, which runs after every edit of params or code."""
    return set(re.findall(r"^Running stage '(.*)':$", output, flags=re.MULTILINE)) - {"hash_code"}


@dataclass
class Project:
    """A copy of the repository's tracked files with a git repository and a DVC cache of its own."""

    root: Path

    @property
    def environment(self) -> dict[str, str]:
        """The variables for commands there, with this Python and the copy's own code."""
        without = ("MLFLOW_TRACKING_URI", "DVC_ROOT")
        return {key: value for key, value in os.environ.items() if key not in without} | {
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(self.root / "src"),
            "OMP_NUM_THREADS": "1",
            "DVC_NO_ANALYTICS": "1",
            **{f"GIT_{who}_{what}": "a@b.c" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        }

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command there."""
        return subprocess.run(
            command, cwd=self.root, env=self.environment, capture_output=True, text=True, check=False
        )

    def done(self, *command: str) -> str:
        """The output of a command that succeeds there."""
        result = self.run(*command)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    def repro(self) -> set[str]:
        """The stages that `dvc repro` runs."""
        return ran(self.done("dvc", "repro"))

    def write(self, params: dict[str, Any], **execution: Any) -> None:
        """Write params.yaml, and machine.yaml."""
        (self.root / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
        (self.root / "machine.yaml").write_text(yaml.safe_dump({"device": "cpu", "threads": 1} | execution))

    def wait_for_mirror(self) -> None:
        """Wait until the mirror that a stage has started has ended."""
        held = lock(self.root / MIRROR_LOCK, waits=True)
        assert held is not None
        held.close()

    def runs(self) -> list[tuple[str, str]]:
        """Name and status of MLflow's runs, oldest first."""
        self.wait_for_mirror()
        client = MlflowClient(f"sqlite:///{self.root / 'mlflow.db'}")
        experiment = client.get_experiment_by_name("serrm/ci/sudoku")
        assert experiment is not None
        found = client.search_runs([experiment.experiment_id], order_by=["attributes.start_time ASC"])
        return [(run.info.run_name, run.info.status) for run in found]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A copy of the repository's tracked files after its first `dvc repro`."""
    project = Project(tmp_path_factory.mktemp("project"))
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    for name in listed:
        if name.startswith(COPIED):
            (project.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, project.root / name)
    project.write(tiny())
    for command in (["git", "init", "-q"], ["git", "add", "."], ["git", "commit", "-qm", "copy"]):
        project.done(*command)
    data = stages("download choose_puzzles build_arrays", "sudoku")
    assert project.repro() == data | stages("train evaluate", RUN, OTHER) | {"tabulate"}
    yield project
    project.wait_for_mirror()


pytestmark = pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated")


@pytest.mark.slow
def test_the_first_run_makes_everything_and_a_second_nothing(built: Project) -> None:
    layout = Layout("ci", built.root)
    for name in (RUN, OTHER):
        files = {path.name for path in (layout.runs / name).iterdir()}
        assert files >= {"model.safetensors", "training_state.pt", "config.json"}
        assert (layout.provenance / f"{weights_sha256(layout.runs / name)}.json").is_file()
    assert read_profile_scores(layout.metrics).runs.keys() == {RUN, OTHER}
    assert {path.suffix for path in (layout.reports / "tables").iterdir()} == {".md"}
    assert {path.suffix for path in layout.exports.iterdir()} == {".csv", ".tex"}
    assert any((layout.reports / "figures").iterdir())
    assert sorted(built.runs()) == [(OTHER, "FINISHED"), (RUN, "FINISHED")]
    assert built.run("dvc", "status").stdout.strip() == "Data and pipelines are up to date."
    assert list(layout.scratch.iterdir()) == []
    assert built.repro() == set()


@pytest.mark.slow
def test_a_time_budget_stops_and_the_same_command_goes_on(built: Project) -> None:
    num_runs, params = len(built.runs()), tiny()
    params["runs"][OTHER]["changes"]["model.expansion"] = 3.0
    built.write(params, max_seconds=0.0001)
    for _ in range(2):
        result = built.run("dvc", "repro")
        assert result.returncode != 0
        output = result.stdout + result.stderr
        assert f"exited with {EXIT_RESUMABLE}" in output
        assert "Traceback" not in output
        assert not (Layout("ci", built.root).runs / OTHER).exists()
    assert built.runs()[num_runs:] == [(OTHER, "KILLED")]
    built.write(params)
    assert built.repro() == stages("train evaluate", OTHER) | {"tabulate"}
    assert built.runs()[num_runs:] == [(OTHER, "FINISHED")]


@pytest.mark.slow
def test_a_failing_run_stops_none_of_those_beside_it(built: Project) -> None:
    params = tiny()
    params["runs"][OTHER]["changes"]["model.expansion"] = 2.5
    params["runs"]["sudoku-lost-s0"] = params["runs"][RUN] | {"init": "ci/runs/nowhere"}
    built.write(params)
    failed = built.run(*RUNNING, "2")
    assert failed.returncode == 1 and "nowhere" in failed.stdout + failed.stderr
    assert "[1/2] " in failed.stdout and "[2/2] " in failed.stdout
    assert (Layout("ci", built.root).scores / f"{OTHER}.json").is_file()
    del params["runs"]["sudoku-lost-s0"]
    built.write(params)
    built.done(*RUNNING, "2")
    assert sorted(built.runs())[:2] == [(OTHER, "FINISHED")] * 2, "all is in MLflow when the command ends"
    lock = yaml.safe_load((built.root / "dvc.lock").read_text())
    assert [*lock["stages"]] == built.done("dvc", "stage", "list", "--name-only").split(), "in one order"
    assert "up to date" in built.run("dvc", "status").stdout
    assert built.run(*RUNNING, "many").returncode == 2
