"""MLflow is made again from the files: once, whatever is missing, on any store; a server is started for it."""

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import mlflow
import pytest
from mlflow.entities import Run
from mlflow.tracking import MlflowClient

from serrm.reporting.training_log import write_training_log
from serrm.tracking.files import CellFiles, profiles_with_files
from serrm.tracking.runs import cell_run
from serrm.tracking.sync import Synced, sync
from serrm.training.settings import TrainCell
from serrm.ui import ENVIRONMENT, server_command

# MLflow's own models of its database.
pytestmark = pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated")
NAME = "sudoku-tiny-s0"
TRAINING = {"steps": 6, "samples": 24, "seconds": 1.5, "final_loss": 0.5, "device": "cpu"}
MEASURED = {"puzzle_steps_per_second": 16.0, "peak_memory_bytes": 10**8}
RATES = {"fsr": 0.5, "fsr_lo": 0.4, "fsr_hi": 0.6, "gpa": 0.7, "gpa_lo": 0.6, "gpa_hi": 0.8}
EXAMPLE = {
    "set": "4x4",
    "side": 4,
    "name": "p1",
    "question": [1] * 16,
    "answer": [2, 3, 4, 5, 4, 5, 2, 3, 3, 2, 5, 4, 5, 4, 3, 2],
    "predictions": {"1": [2] * 16},
}


def write_metrics(files: CellFiles, seconds: float = 1.5) -> None:
    told = {**TRAINING, "seconds": seconds, "puzzles_per_second": 16.0, "peak_memory_bytes": 10**8}
    metrics = {
        "profile": files.profile,
        "task": "sudoku",
        "model": "tiny",
        "seed": 0,
        "model_info": {"family": "se_rrm", "parameters": 1000, "parameters_with_task_types": 1016},
        "training": told,
        "data": {"source": "generated puzzles", "train_puzzles": 12, "hash": "d" * 64},
        "sets": {
            "4x4": {"status": "scored", "num_puzzles": 4, "steps": {"1": RATES, "16": RATES}},
            "9x9": {
                "status": "scored",
                "num_puzzles": 10,
                "steps": {"1": RATES, "16": RATES | {"fsr": 0.25}},
            },
            "25x25": {"status": "cannot_extrapolate", "reason": "no weights"},
        },
        "learning_curve": [{"step": 6, "samples": 24, "loss": 0.5, **RATES}],
    }
    files.metrics.parent.mkdir(parents=True, exist_ok=True)
    files.metrics.write_text(json.dumps(metrics))


def write_checkpoint(files: CellFiles, cell: TrainCell, seconds: float = 1.5) -> None:
    files.checkpoint.mkdir(parents=True, exist_ok=True)
    config = {
        "cell": cell.model_dump(mode="json"),
        "data_hash": "d" * 64,
        "code_hash": "c" * 64,
        "parameters": 1000,
        "parameters_with_task_types": 1016,
        "training": {**TRAINING, **MEASURED, "seconds": seconds},
    }
    (files.checkpoint / "config.json").write_text(json.dumps(config))
    (files.checkpoint / "model.safetensors").write_bytes(b"weights")


def write_all(files: CellFiles, cell: TrainCell) -> None:
    write_checkpoint(files, cell)
    write_metrics(files)
    records = [{"step": step, "samples": 4 * step, "loss": 1 / step} for step in (2, 4, 6)]
    write_training_log(files.training_log, records)
    files.examples.parent.mkdir(parents=True)
    files.examples.write_text(json.dumps({"task": "sudoku", "examples": [EXAMPLE]}))
    figures = files.root / "reports" / files.profile / "figures"
    figures.mkdir()
    (figures / "depth.svg").write_text("<svg/>")


def unknown(_: Any) -> None:
    """Settings that params.yaml cannot tell."""


def synced(root: Path, profile: str) -> list[Synced]:
    return list(sync(root, profile, unknown))


def runs_of(client: MlflowClient, profile: str) -> dict[str, list[Run]]:
    """A profile's runs by name, newest first."""
    experiment = client.get_experiment_by_name(profile)
    assert experiment is not None
    runs: dict[str, list[Run]] = {}
    for run in client.search_runs([experiment.experiment_id]):
        runs.setdefault(run.info.run_name, []).append(run)
    return runs


def history(client: MlflowClient, run: Run, name: str) -> list[tuple[int, float]]:
    return sorted((each.step, each.value) for each in client.get_metric_history(run.info.run_id, name))


def check_everything(client: MlflowClient, profile: str) -> None:
    (run,), (report,) = runs_of(client, profile)[NAME], runs_of(client, profile)["report"]
    assert run.info.status == "FINISHED" and run.info.end_time - run.info.start_time == 1500
    assert run.data.params["model.family"] == "se_rrm" and run.data.params["train.batch_size"] == "4"
    assert history(client, run, "train/loss") == [(2, 1 / 2), (4, 1 / 4), (6, 1 / 6)]
    assert history(client, run, "test/9x9/fsr") == [(1, 0.5), (16, 0.25)]
    assert history(client, run, "curve/gpa") == [(6, 0.7)]
    assert run.data.metrics["score/fsr"] == 0.25 and run.data.tags["score.set"] == "9x9"
    assert (
        run.data.metrics["model/parameters"] == 1000 and run.data.metrics["train/peak_memory_bytes"] == 10**8
    )
    tags = {"kind": "cell", "task": "sudoku", "model": "tiny", "seed": "0", "family": "se_rrm"}
    assert run.data.tags.items() >= (tags | {"current": "true", "device": "cpu"}).items()
    note = run.data.tags["mlflow.note.content"]
    assert (
        "| 9×9 | 10 | 16 | 25.00 (40.00–60.00) |" in note and "| 25×25 | — | — | cannot extrapolate" in note
    )
    assert run.inputs is not None and len(run.inputs.dataset_inputs) == 1
    models = mlflow.search_logged_models(
        [run.info.experiment_id], filter_string=f"source_run_id = '{run.info.run_id}'", output_format="list"
    )
    assert len(models) == 1 and models[0].status == "READY"
    artifacts = {each.path for each in client.list_artifacts(run.info.run_id)}
    assert artifacts >= {"metrics.json", "examples"}
    assert [each.path for each in client.list_artifacts(run.info.run_id, "examples")] == ["examples/00.svg"]
    assert [each.path for each in client.list_artifacts(report.info.run_id, "figures")] == [
        "figures/depth.svg"
    ]
    experiment = client.get_experiment_by_name(profile)
    assert experiment is not None and "25.00 (40.00–60.00)" in experiment.tags["mlflow.note.content"]


def test_twice_is_as_good_as_once(
    root: Path, client: MlflowClient, make_cell: Callable[..., TrainCell]
) -> None:
    files = CellFiles(root, "whole", NAME)
    write_all(files, make_cell())
    assert synced(root, "whole") == [Synced(NAME, "new"), Synced("report", "new")]
    check_everything(client, "whole")
    (run,) = runs_of(client, "whole")[NAME]
    assert synced(root, "whole") == [Synced(NAME, "unchanged"), Synced("report", "unchanged")]
    client.set_tag(run.info.run_id, "files", "as if told something else")
    assert synced(root, "whole") == [Synced(NAME, "updated"), Synced("report", "unchanged")]
    check_everything(client, "whole")
    assert not files.pointer.exists(), "it belongs to DVC"


def test_what_is_missing_is_said_and_can_come_later(
    root: Path, client: MlflowClient, make_cell: Callable[..., TrainCell]
) -> None:
    files = CellFiles(root, "clone", NAME)
    write_metrics(files)
    first, _ = synced(root, "clone")
    assert first.outcome == "new"
    assert first.missing[:2] == (
        "data/runs/clone/sudoku-tiny-s0",
        "reports/clone/training/sudoku-tiny-s0.csv",
    )
    assert any(text.startswith("settings") for text in first.missing)
    (run,) = runs_of(client, "clone")[NAME]
    assert run.data.params == {} and run.data.metrics["train/seconds"] == 1.5
    write_checkpoint(files, make_cell())
    assert [each.outcome for each in synced(root, "clone")] == ["updated", "unchanged"]
    (run,) = runs_of(client, "clone")[NAME]
    assert run.data.params["model.family"] == "se_rrm" and run.data.tags["code_hash"] == "c" * 64


def test_the_settings_are_told_for_a_result_without_its_checkpoint(root: Path, client: MlflowClient) -> None:
    write_metrics(CellFiles(root, "told", NAME))
    list(sync(root, "told", lambda run: {"model": {"width": run.seed + 3}}))
    assert runs_of(client, "told")[NAME][0].data.params == {"model.width": "3"}


def test_the_run_that_the_pipeline_made_is_kept(
    root: Path, client: MlflowClient, make_cell: Callable[..., TrainCell]
) -> None:
    files, cell = CellFiles(root, "piped", NAME), make_cell()
    write_all(files, cell)
    config = files.config()
    assert config is not None
    with cell_run(root, "piped", NAME, files.pointer, params=cell.model_dump(mode="json")) as run:
        run.log_training(config, NAME, files.checkpoint, Path("data/arrays/piped/sudoku"))
    before = files.pointer.read_bytes()
    client.update_run(run.run_id, "RUNNING")  # as when the store failed before its end
    assert synced(root, "piped")[0] == Synced(NAME, "updated")
    (kept,) = runs_of(client, "piped")[NAME]
    assert (kept.info.run_id, kept.info.status) == (run.run_id, "FINISHED")
    files.pointer.write_text(json.dumps({"run_id": "0" * 32}))  # of a store that is lost
    with cell_run(root, "piped", NAME, files.pointer, training=files.training()) as again:
        assert again.run_id == run.run_id
    files.pointer.write_bytes(before)


def test_a_newer_training_takes_the_place_of_an_older_one(
    root: Path, client: MlflowClient, make_cell: Callable[..., TrainCell]
) -> None:
    files = CellFiles(root, "again", NAME)
    write_metrics(files)
    synced(root, "again")
    write_checkpoint(files, make_cell(), seconds=2.5)
    first, _ = synced(root, "again")
    assert first.outcome == "new" and any("of another one" in text for text in first.missing)
    write_metrics(files, seconds=2.5)
    assert synced(root, "again")[0].outcome == "updated"
    by_seconds = {
        run.data.metrics["train/seconds"]: run.data.tags["current"] for run in runs_of(client, "again")[NAME]
    }
    assert by_seconds == {1.5: "false", 2.5: "true"}


@pytest.mark.slow
def test_processes_that_meet_at_a_new_database_make_it_once(tmp_path: Path) -> None:
    program = "from pathlib import Path; from serrm.tracking.store import connect; connect(Path.cwd())"
    environment = {
        key: value for key, value in os.environ.items() if key not in ("MLFLOW_TRACKING_URI", "DVC_ROOT")
    }
    together = [
        subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, env=environment) for _ in range(3)
    ]
    assert [each.wait(600) for each in together] == [0, 0, 0]
    assert (tmp_path / "mlflow.db").stat().st_size > 0


def test_a_database_of_another_version_is_one_line(
    root: Path, client: MlflowClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "later.db"
    client.search_experiments()
    shutil.copy(root / "mlflow.db", path)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE alembic_version SET version_num = 'later'")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{path}")
    with pytest.raises(ValueError, match=r"later\.db cannot be used: Detected out-of-date database schema"):
        synced(tmp_path, "whole")


def test_profiles_are_those_with_results(tmp_path: Path) -> None:
    write_metrics(CellFiles(tmp_path, "ci", NAME))
    (tmp_path / "reports" / "cpu" / "tables").mkdir(parents=True)
    assert profiles_with_files(tmp_path) == ["ci"]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A tracking server that answers; MLFLOW_TRACKING_URI names it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    (tmp_path / "server.db").touch()  # an empty file is an empty database
    command = server_command(f"sqlite:///{tmp_path / 'server.db'}", "127.0.0.1", port)
    address = f"http://127.0.0.1:{port}"
    process = subprocess.Popen(
        [*command, "--artifacts-destination", str(tmp_path / "artifacts")],
        cwd=tmp_path,
        env={**os.environ, **ENVIRONMENT},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    try:
        for _ in range(600):  # by count: a paused machine is no failure
            if answers(f"{address}/health"):
                break
            assert process.poll() is None
            time.sleep(0.2)
        yield address
    finally:
        process.terminate()
        process.wait(20)


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # in what MLflow builds on
def test_a_server_named_by_the_environment(
    server: str, tmp_path: Path, make_cell: Callable[..., TrainCell]
) -> None:
    files = CellFiles(tmp_path / "project", "remote", NAME)
    write_all(files, make_cell())
    for outcome in ("new", "unchanged"):
        assert [each.outcome for each in synced(files.root, "remote")] == [outcome, outcome]
    check_everything(MlflowClient(server), "remote")
    with cell_run(files.root, "remote", NAME, files.pointer, training=files.training()) as run:
        run.log({"x": 1.0})
    assert len(runs_of(MlflowClient(server), "remote")[NAME]) == 1
    assert (tmp_path / "artifacts").is_dir() and not (files.root / "mlflow.db").exists()
    shutil.rmtree(files.root / "data")
    assert synced(files.root, "remote")[0].outcome == "updated", (
        "of the same training, without its checkpoint"
    )


def test_a_server_that_is_not_there_is_one_line(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with pytest.raises(ValueError, match=r"MLFLOW_TRACKING_URI: http://127\.0\.0\.1:9 does not answer"):
        synced(root, "whole")
