"""MLflow holds one run a cell, whoever opens it, however it ends; on a temporary sqlite store."""

import json
import os
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from mlflow.entities import Run
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

from serrm.store import tracking_uri
from serrm.tracking.runs import BATCH, CellRun, cell_run
from serrm.tracking.store import create_database
from serrm.training.interrupt import Interrupted
from serrm.training.settings import TrainCell

# MLflow's own models of its database.
pytestmark = pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated")
VARIABLES = ("MLFLOW_TRACKING_URI", "DVC_ROOT")


@pytest.fixture
def pointer(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "cell.mlflow.json"


def stored(client: MlflowClient, run: CellRun) -> Run:
    return client.get_run(run.run_id)


def test_the_environment_wins_over_the_repository(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    assert tracking_uri(tmp_path) == f"sqlite:///{tmp_path}/mlflow.db"
    monkeypatch.chdir(tmp_path)
    assert tracking_uri(Path()) == f"sqlite:///{tmp_path}/mlflow.db", "absolute, wherever a stage runs"
    monkeypatch.setenv("DVC_ROOT", "/repository")
    assert tracking_uri(tmp_path) == "sqlite:////repository/mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://host:5000")
    assert tracking_uri(tmp_path) == "http://host:5000"


def test_a_cell_has_one_run_in_the_experiment_of_its_profile(
    root: Path, client: MlflowClient, pointer: Path
) -> None:
    with cell_run(root, "profile-a", "sudoku-tiny-s0", pointer, params={"model": {"width": 32}}) as training:
        training.log({"train/loss": 0.5})
    with cell_run(root, "profile-a", "sudoku-tiny-s0", pointer) as evaluation:
        evaluation.log({"test/9x9/fsr": 0.25})
    assert evaluation.run_id == training.run_id == json.loads(pointer.read_text())["run_id"]
    run = stored(client, training)
    assert run.info.run_name == "sudoku-tiny-s0" and run.info.status == "FINISHED"
    assert run.data.params == {"model.width": "32"}
    assert run.data.metrics == {"train/loss": 0.5, "test/9x9/fsr": 0.25}
    assert run.data.tags["profile"] == "profile-a"
    assert run.data.tags["dvc.stage"] == "train@profile-a-sudoku-tiny-s0"
    experiment = client.get_experiment_by_name("profile-a")
    assert experiment is not None and run.info.experiment_id == experiment.experiment_id
    assert len(client.search_runs([experiment.experiment_id])) == 1


def test_resuming_keeps_parameters_and_repeats_no_record(
    root: Path, client: MlflowClient, pointer: Path, make_cell: Callable[..., TrainCell]
) -> None:
    params = make_cell().model_dump(mode="json")
    records = [{"step": step, "samples": 2 * step, "loss": 1 / step} for step in (10, 20, 30, 40)]
    with pytest.raises(Interrupted), cell_run(root, "ci", "cell", pointer, params=params) as run:
        for record in records[:3]:
            run.log_record(record)
        raise Interrupted("stopped")
    assert stored(client, run).info.status == "KILLED"
    with cell_run(root, "ci", "cell", pointer, params=params) as again:
        assert stored(client, run).info.status == "RUNNING"
        for record in records[1:]:  # a checkpoint before the stop: what follows it is done again
            again.log_record(record)
    assert again.run_id == run.run_id
    history = client.get_metric_history(run.run_id, "train/loss")
    assert sorted((metric.step, metric.value) for metric in history) == [
        (10, 1 / 10),
        (20, 1 / 20),
        (30, 1 / 30),
        (40, 1 / 40),
    ]
    found = stored(client, run).data.params
    assert found["train.learning_rate"] == "0.003" and found["model.family"] == "se_rrm"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (None, "FINISHED"),
        (ValueError("no"), "FAILED"),
        (KeyboardInterrupt(), "KILLED"),
        (SystemExit(143), "KILLED"),
        (Interrupted("resume"), "KILLED"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_run_ends_as_its_body_does(
    root: Path, client: MlflowClient, pointer: Path, error: BaseException | None, status: str
) -> None:
    ending: AbstractContextManager[Any] = nullcontext() if error is None else pytest.raises(type(error))
    with ending, cell_run(root, "ci", "cell", pointer, params={}) as run:
        run.log({"x": 2.0})
        if error is not None:
            raise error
    found = stored(client, run)
    assert found.info.status == status
    assert found.data.metrics == {"x": 2.0}, "what was noted is not lost"


def test_a_store_that_fails_costs_no_result(
    root: Path,
    client: MlflowClient,
    pointer: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with cell_run(root, "ci", "cell", pointer, params={}) as run:

        def fail(*_: object, **__: object) -> None:
            raise MlflowException("the connection was refused\nby the server")

        monkeypatch.setattr(run.client, "log_batch", fail)
        for _ in range(2):
            run.tell(run.tag, {"x": "y"})
    (record,) = caplog.records
    assert "is told no more (`serrm track sync` does it later): the connection was refused" in record.message
    assert "\n" not in record.message
    assert stored(client, run).info.status == "RUNNING", "it is not known to have ended"


def test_a_database_is_made_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlflow.store.db.utils._upgrade_db", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        create_database(tmp_path / "mlflow.db")
    assert not (tmp_path / "mlflow.db").exists()


def test_metrics_go_in_batches(
    root: Path, client: MlflowClient, pointer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    with cell_run(root, "ci", "cell", pointer, params={}) as run:
        send = run.client.log_batch

        def watched(run_id: str, metrics: Any) -> None:
            sizes.append(len(metrics))
            send(run_id, metrics)

        monkeypatch.setattr(run.client, "log_batch", watched)
        for step in range(300):
            run.log({"a": step / 2, "b": step, "missing": None}, step=step)
    assert sum(sizes) == 600 and len(sizes) == 2 and max(sizes) <= BATCH
    history = client.get_metric_history(run.run_id, "a")
    assert {metric.step: metric.value for metric in history} == {step: step / 2 for step in range(300)}
    assert stored(client, run).data.metrics == {"a": 149.5, "b": 299.0}


@pytest.mark.parametrize("content", [None, "0" * 32])
def test_an_evaluation_leaves_the_pointer_alone(root: Path, pointer: Path, content: str | None) -> None:
    """It is an output of the training, and a link into DVC's cache."""
    if content is not None:
        pointer.parent.mkdir()
        pointer.write_text(json.dumps({"run_id": content}))
        os.link(pointer, pointer.with_name("cache"))
    with cell_run(root, "ci", "cell", pointer) as run:
        assert run.run_id != content
    assert pointer.exists() == (content is not None)
    if content is not None:
        assert json.loads(pointer.with_name("cache").read_text()) == {"run_id": content}


def test_a_training_renews_a_pointer_to_a_run_that_is_gone(root: Path, pointer: Path) -> None:
    pointer.parent.mkdir()
    pointer.write_text(json.dumps({"run_id": "0" * 32}))
    with cell_run(root, "ci", "cell", pointer, params={}) as run:
        assert json.loads(pointer.read_text()) == {"run_id": run.run_id}


def test_demonstrations_are_of_training(root: Path, client: MlflowClient, pointer: Path) -> None:
    steps = {"1": {"pair_fsr": 0.2}, "16": {"pair_fsr": 0.3}}
    scored = {"status": "scored", "steps": {}, "demonstrations": {"steps": steps}}
    metrics = {"sets": {"held_out": scored}, "learning_curve": []}
    with cell_run(root, "ci", "cell", pointer, params={}) as run:
        run.log_scores(metrics)
    history = client.get_metric_history(run.run_id, "train/pair_fsr")
    assert sorted((each.step, each.value) for each in history) == [(1, 0.2), (16, 0.3)]
    artifact = client.download_artifacts(run.run_id, "metrics.json")
    assert json.loads(Path(artifact).read_text()) == metrics


def test_git_tags_tell_the_commit_and_whether_the_code_differs(
    root: Path, client: MlflowClient, tmp_path: Path
) -> None:
    def git(*arguments: str) -> str:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        return subprocess.run(
            ["git", *identity, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout.strip()

    def tags(name: str) -> dict[str, str]:
        with cell_run(tmp_path, "ci", name, tmp_path / f"{name}.json", params={}) as run:
            pass
        return dict(stored(client, run).data.tags)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{root / 'mlflow.db'}")
        patch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
        assert "git.dirty" not in tags("outside")
        git("init", "-q")
        (tmp_path / "src").mkdir()
        (tmp_path / "src" / "a.py").write_text("1")
        git("add", "src")
        git("commit", "-qm", "first")
        clean = tags("clean")
        assert (clean["mlflow.source.git.commit"], clean["git.dirty"]) == (git("rev-parse", "HEAD"), "false")
        (tmp_path / "src" / "a.py").write_text("2")
        assert tags("dirty")["git.dirty"] == "true"
