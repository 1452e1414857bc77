"""MLflow holds each training once, whoever logs it and however often, and no failure of it costs a result."""

import base64
import json
import logging
import re
import shutil
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from mlflow.entities import Run
from mlflow.tracking import MlflowClient

from serrm.cli import main
from serrm.config import read_params
from serrm.core.files import csv_text, write_whole
from serrm.core.project import Layout
from serrm.core.provenance import write_provenance
from serrm.scoring.schema import Evaluation, profile_text, write_evaluation
from serrm.tracking import description, tracking_uri, ui_command
from serrm.tracking.runs import StoreError, log_training, open_store, sync_run
from serrm.tracking.views import links
from serrm.training.log import Record, write_training_log
from serrm.training.run import Interrupted
from serrm.training.settings import RunSettings
from tests.conftest import MakeRun
from tests.references import EXAMPLE, RATES, SCORED, run_scores
from tests.servers import free_port, serving

# MLflow's own models of its database.
pytestmark = pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated")
NAME = "sudoku-tiny-s0"
WEIGHTS = "e" * 64  # the hash of a checkpoint's weights
RECORDS: list[Record] = [{"step": step, "samples": 4 * step, "loss": 1 / step} for step in (2, 4, 6)]
LOSSES = [(2, 1 / 2), (4, 1 / 4), (6, 1 / 6)]


class MadeRun:
    """A finished run's files, written part by part as the stages do."""

    def __init__(self, root: Path, profile: str, settings: RunSettings) -> None:
        self.layout = Layout(profile, root)
        self.settings = settings.model_copy(update={"data_set": "sudoku", "variant": "tiny"})
        self.training = {"steps": 6, "samples": 24, "flops": 100, "final_loss": 0.5, "arithmetic": "exact"}
        self.taken = {"seconds": 1.5, "puzzle_steps_per_second": 16.0, "peak_memory_bytes": 10**8}

    def log(self) -> AbstractContextManager[Callable[[Record], None]]:
        return log_training(self.layout, NAME, self.settings)

    def sync(self) -> str:
        return sync_run(self.layout, NAME)

    def train(self) -> None:
        """What the train stage leaves."""
        config = {
            "run": self.settings.model_dump(mode="json"),
            "data_hash": "d" * 64,
            "parameters": 1000,
            "parameters_with_task_types": 1016,
            "training": self.training,
        }
        write(self.layout.runs / NAME / "config.json", config)
        write_training_log(self.layout.logs / f"{NAME}.csv", RECORDS)
        write_whole(self.layout.runs / NAME / "SHA256SUMS", f"{WEIGHTS}  model.safetensors\n")
        write_provenance(self.layout.provenance, WEIGHTS, "training", self.taken)

    def evaluate(self) -> None:
        """What the evaluate stage leaves."""
        write_evaluation(self.layout.scores / f"{NAME}.json", self.scores())
        write(self.layout.predictions / NAME / "examples.json", {"task": "sudoku", "examples": [EXAMPLE]})

    def scores(self) -> Evaluation:
        """Its scores."""
        sets = {
            "9x9": {**SCORED, "steps": {"1": RATES, "16": RATES | {"fsr": 0.25}}},
            "25x25": {"status": "cannot_extrapolate", "side": 25, "reason": "no weights"},
        }
        training = self.training | {"settings_digest": self.settings.digest(), "weights_sha256": WEIGHTS}
        curve = [{"step": 6, "samples": 24, "loss": 0.5, "scores": RATES}]
        return run_scores(self.layout.profile, "tiny", sets, training=training, learning_curve=curve)

    def commit(self) -> None:
        """What git holds of it: the scores and the curves of the profile."""
        self.layout.metrics.parent.mkdir(parents=True)
        self.layout.metrics.write_text(profile_text(self.layout.profile, [self.scores()]))
        rows = [[NAME, "Sudoku", *record.values()] for record in RECORDS]
        write_whole(
            self.layout.reports / "curves" / "training.csv", csv_text(["run", "data_set", *RECORDS[0]], rows)
        )


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


@pytest.fixture
def made(root: Path, request: pytest.FixtureRequest, make_run: MakeRun) -> MadeRun:
    """A run of a profile of its own, of which no file is there."""
    return MadeRun(root, re.sub(r"\W", "-", request.node.name), make_run())


def stored(client: MlflowClient, made: MadeRun) -> list[Run]:
    """The runs in a run's experiment, newest first."""
    experiment = client.get_experiment_by_name(f"serrm/{made.layout.profile}/sudoku")
    assert experiment is not None
    return list(client.search_runs([experiment.experiment_id]))


def history(client: MlflowClient, run: Run, name: str) -> list[tuple[int, float]]:
    return sorted((metric.step, metric.value) for metric in client.get_metric_history(run.info.run_id, name))


def content(client: MlflowClient, made: MadeRun) -> Any:
    """All that MLflow holds of a profile's data set."""
    return [
        (run.to_dictionary(), {name: history(client, run, name) for name in run.data.metrics})
        for run in stored(client, made)
    ]


def check_everything(client: MlflowClient, made: MadeRun) -> None:
    (run,) = stored(client, made)
    assert (run.info.run_name, run.info.status) == (NAME, "FINISHED")
    assert run.info.end_time - run.info.start_time == 1500, "the training's duration"
    assert run.data.params["model.family"] == "se_rrm" and run.data.params["train.batch_size"] == "4"
    assert history(client, run, "train/loss") == LOSSES
    assert history(client, run, "test/9x9/fsr") == [(1, 50), (16, 25)], "percent"
    assert history(client, run, "FSR/9x9") == [(0, 25)], "after the headline's 16 steps"
    assert sorted(run.data.metrics, key=str.casefold)[:3] == ["FSR/9x9", "FSR/9x9 from", "FSR/9x9 to"]
    assert history(client, run, "snapshots/gpa") == [(6, 70)]
    assert not [name for name in run.data.metrics if "guess" in name]
    assert run.data.metrics["size/parameters"] == 1000
    assert run.data.metrics["train/puzzle_steps_per_second"] == 16
    tags = {"data_set": "sudoku", "variant": "tiny", "seed": "0", "family": "se_rrm", "arithmetic": "exact"}
    assert run.data.tags.items() >= tags.items()
    assert run.inputs is not None and len(run.inputs.dataset_inputs) == 1
    artifacts = {artifact.path for artifact in client.list_artifacts(run.info.run_id)}
    assert artifacts == {f"{NAME}.json", "examples"}
    experiment = client.get_experiment(run.info.experiment_id)
    assert experiment.tags["mlflow.experimentKind"] == "custom_model_development"


def test_the_environment_wins_over_the_repository(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in ("MLFLOW_TRACKING_URI", "DVC_ROOT"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.chdir(tmp_path)
    assert tracking_uri(Path()) == f"sqlite:///{tmp_path}/mlflow.db", "absolute, wherever a stage runs"
    monkeypatch.setenv("DVC_ROOT", "/repository")
    assert tracking_uri(tmp_path) == "sqlite:////repository/mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://host:5000")
    assert tracking_uri(tmp_path) == "http://host:5000"


def test_a_repeated_sync_adds_nothing(made: MadeRun, client: MlflowClient) -> None:
    made.train()
    made.evaluate()
    run_id = made.sync()
    check_everything(client, made)
    before = content(client, made)
    assert made.sync() == run_id and content(client, made) == before


def test_a_resumed_training_continues_its_run_and_its_files_add_each_metric_once(
    made: MadeRun, client: MlflowClient
) -> None:
    with pytest.raises(Interrupted), made.log() as log:
        log(RECORDS[0])
        (run,) = stored(client, made)
        assert run.info.status == "RUNNING" and run.data.metrics["train/loss"] == 1 / 2, "while it trains"
        raise Interrupted("stopped")
    assert [run.info.status for run in stored(client, made)] == ["FAILED"]
    with made.log() as log:
        for record in RECORDS:
            log(record)
        made.train()
    (run,) = stored(client, made)
    assert history(client, run, "train/loss") == LOSSES
    made.evaluate()
    assert made.sync() == run.info.run_id
    check_everything(client, made)


@pytest.mark.parametrize("changes", [{"final_loss": 0.25}, {}], ids=["other results", "equal results"])
def test_a_repeated_training_is_another_run(
    made: MadeRun, client: MlflowClient, changes: dict[str, Any]
) -> None:
    made.train()
    made.evaluate()
    made.sync()
    made.training |= changes
    with made.log():
        made.train()
    newer, older = stored(client, made)
    assert ("test/9x9/fsr" in newer.data.metrics) != bool(changes), (
        "scores of other results are of the one before"
    )
    made.evaluate()
    assert made.sync() == newer.info.run_id
    assert (newer.data.tags["serrm.run"] != older.data.tags["serrm.run"]) == bool(changes)
    assert [run.info.status for run in stored(client, made)] == ["FINISHED", "FINISHED"]


def test_a_clone_logs_committed_scores_and_later_the_checkpoint(made: MadeRun, client: MlflowClient) -> None:
    made.commit()
    run_id = made.sync()
    (run,) = stored(client, made)
    assert run.data.params == {} and run.data.metrics["test/9x9/fsr"] == 25.0
    assert [step for step, _ in history(client, run, "train/loss")] == [2, 4, 6]
    assert "train/seconds" not in run.data.metrics, "not known here"
    made.train()
    made.evaluate()
    assert made.sync() == run_id
    assert stored(client, made)[0].data.metrics["train/seconds"] == 1.5


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # in what MLflow builds on
def test_a_server_that_is_killed_during_a_training(
    made: MadeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    (tmp_path / "server.db").touch()  # an empty file is an empty database
    command = ui_command(f"sqlite:///{tmp_path / 'server.db'}", "127.0.0.1", port)
    command += ["--artifacts-destination", str(tmp_path / "artifacts")]
    server = partial(serving, command, f"{address}/health", cwd=tmp_path, stderr=subprocess.DEVNULL)
    training = ExitStack()
    with server():
        log = training.enter_context(made.log())
        log(RECORDS[0])
    log(RECORDS[1])
    with server():
        log(RECORDS[2])
        made.train()
        training.close()
        assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) == 1
        made.evaluate()
        made.sync()
        check_everything(MlflowClient(address), made)


@pytest.mark.parametrize("is_gone_at_first", [True, False])
def test_a_server_that_does_not_answer(
    made: MadeRun,
    client: MlflowClient,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    is_gone_at_first: bool,
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    gone = "MLFLOW_TRACKING_URI", "http://127.0.0.1:9"
    if is_gone_at_first:
        monkeypatch.setenv(*gone)
    with made.log() as log:
        log(RECORDS[0])
        monkeypatch.setenv(*gone)
        log(RECORDS[1])
        made.train()
    assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) == 1
    (made.layout.root / "params.yaml").touch()
    assert main(["track", "sync", "--profile", made.layout.profile]) == 1
    error = capsys.readouterr().err
    assert "http://127.0.0.1:9" in error and error.count("\n") == 1
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    made.evaluate()
    made.sync()
    check_everything(client, made)


def test_sync_names_runs_and_store_and_continues_after_a_failure(
    made: MadeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    (made.layout.root / "params.yaml").touch()
    command = ["track", "sync", "--profile", made.layout.profile]
    assert main(command) == 1
    assert "no results" in capsys.readouterr().err
    made.evaluate()
    assert main(command) == 0
    run, store = capsys.readouterr().out.splitlines()
    assert run == f"{made.layout.profile} {NAME}" and "mlflow.db" in store
    (made.layout.scores / "a-broken-s0.json").write_text("{}")
    assert main(command) == 1
    output = capsys.readouterr()
    assert NAME in output.out and "1 of 2 runs" in output.out
    assert "a-broken-s0" in output.err


def test_a_database_of_another_version_is_one_line(
    made: MadeRun, client: MlflowClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.evaluate()
    made.sync()
    path = tmp_path / "later.db"
    shutil.copy(made.layout.root / "mlflow.db", path)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE alembic_version SET version_num = 'later'")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{path}")
    with pytest.raises(StoreError, match=r"^.*later\.db: .*$"):
        made.sync()


@pytest.mark.slow
def test_processes_share_a_new_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = (
        "from pathlib import Path; from serrm.tracking import runs\n"
        "with runs.open_store(Path()) as client: runs.experiment_id(client, 'ci', 'sudoku')"
    )
    for variable in ("MLFLOW_TRACKING_URI", "DVC_ROOT"):
        monkeypatch.delenv(variable, raising=False)
    command = [sys.executable, "-c", program]
    together = [subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE) for _ in range(3)]
    assert [(process.communicate(timeout=600)[1], process.returncode) for process in together] == [
        (b"", 0)
    ] * 3


def test_git_tags_give_the_commit_and_whether_the_code_differs(
    root: Path, client: MlflowClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_run: MakeRun
) -> None:
    def git(*arguments: str) -> str:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def tags(profile: str) -> dict[str, str]:
        made = MadeRun(tmp_path, profile, make_run())
        with pytest.raises(Interrupted), made.log():
            raise Interrupted("stopped")
        return dict(stored(client, made)[0].data.tags)

    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{root / 'mlflow.db'}")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert "mlflow.source.git.commit" not in tags("outside")
    git("init", "-q")
    write(tmp_path / "src" / "a.py", 1)
    git("add", "src")
    git("commit", "-qm", "first")
    clean = tags("clean")
    assert clean["mlflow.source.git.commit"] == git("rev-parse", "HEAD")
    write(tmp_path / "src" / "a.py", 2)
    assert (clean["mlflow.source.git.dirty"], tags("dirty")["mlflow.source.git.dirty"]) == ("false", "true")


def test_a_view_of_each_experiment_has_scores_and_intervals_as_columns(
    made: MadeRun, client: MlflowClient, root: Path
) -> None:
    made.train()
    made.evaluate()
    made.sync()
    (run,) = stored(client, made)
    views = dict(links(root, "http://host:1"))
    link = views[f"serrm/{made.layout.profile}/sudoku"]
    assert f"/experiments/{run.info.experiment_id}/runs" in link

    def columns() -> list[str]:
        key = dict(parse_qsl(link.partition("?")[2]))["viewStateShareKey"]
        tag = client.get_experiment(run.info.experiment_id).tags[f"mlflow.sharedViewState.{key}"]
        header, packed = json.loads(tag)["state"].split(";")
        assert header == "deflate"
        return list(json.loads(zlib.decompress(base64.b64decode(packed)))["selectedColumns"])

    assert columns()[:3] == [f"metrics.`FSR/9x9{end}`" for end in ("", " from", " to")]
    assert "attributes.`Description`" not in columns(), "of which there is none"
    client.set_tag(run.info.run_id, "mlflow.note.content", "train.steps: 40 instead of 326")
    assert dict(links(root, "http://host:1")) == views
    assert "attributes.`Description`" in columns()


def test_artifacts_follow_a_moved_repository(
    make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    monkeypatch.chdir(tmp_path)
    for variable in ("MLFLOW_TRACKING_URI", "DVC_ROOT"):
        monkeypatch.delenv(variable, raising=False)
    made = MadeRun(old, "moved", make_run())
    made.train()
    made.evaluate()
    run_id = made.sync()
    old.rename(new)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)  # MLflow sets it
    moved = MadeRun(new, "moved", make_run())
    with open_store(
        new
    ) as client:  # MLflow keeps the addresses of a run's artifacts as long as a process lives
        address = client.get_run(run_id).info.artifact_uri
    assert {path.name for path in Path(str(address).removeprefix("file://")).iterdir()} == {
        f"{NAME}.json",
        "examples",
    }
    moved.training["final_loss"] = 0.25
    moved.train()
    moved.evaluate()
    newer = MlflowClient(f"sqlite:///{new / 'mlflow.db'}").get_run(moved.sync())
    assert str(newer.info.artifact_uri).startswith((new / "mlruns").as_uri())
    assert not (old / "mlruns").exists()


def test_a_run_tells_its_experiment_its_changes_and_its_machine(
    made: MadeRun, client: MlflowClient, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    params = (Path(__file__).parents[2] / "profiles" / "ci.yaml").read_text()
    (root / "params.yaml").write_text(params.replace("profile: ci", f"profile: {made.layout.profile}"))
    monkeypatch.setattr(description, "git", lambda *_: (root / "params.yaml").read_text())
    committed = read_params(root / "params.yaml").run_settings("sudoku-trm-s0")
    train = committed.train.model_copy(update={"steps": 7})
    monkeypatch.setenv("DVC_EXP_NAME", "short")
    with log_training(made.layout, "sudoku-trm-s0", committed.model_copy(update={"train": train})):
        pass
    run = stored(client, made)[0]
    assert run.info.run_name == "sudoku-trm-s0 (short)"
    assert run.data.tags["mlflow.note.content"].splitlines() == [
        "DVC experiment short  ",
        "train.steps: 7 instead of 60",
    ]
    assert run.data.params["machine.cpu"] and int(run.data.params["machine.threads"]) > 0
