"""MLflow: one experiment a profile, one run a cell of the grid. The only importer of mlflow.

params.yaml owns the configuration and DVC the weights; MLflow mirrors both, for comparing runs. The store is
`mlflow.db` in the repository root unless MLFLOW_TRACKING_URI says otherwise.
"""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")

import mlflow
from filelock import FileLock
from mlflow.entities import Dataset, DatasetInput, Metric, RunStatus
from mlflow.tracking import MlflowClient
from mlflow.utils.time import get_current_time_millis

from serrm.data.manifest import hash_file
from serrm.store import tracking_uri
from serrm.training.interrupt import Interrupted

PICTURES = 2  # of each size of grid
BATCH = 500  # metrics sent at once; MLflow's limit is 1,000
WATCHED = ("src", "stages", "dvc.yaml", "params.yaml")


@dataclass
class CellRun:
    """An open run: metrics are collected and sent in batches."""

    client: MlflowClient
    run_id: str
    last_record: int = -1  # step of the newest training record that MLflow has
    pending: list[Metric] = field(default_factory=list)

    def log(self, values: Mapping[str, int | float | None], step: int = 0) -> None:
        """Note metrics; None is left out."""
        now = get_current_time_millis()
        self.pending += [
            Metric(name, value, now, step) for name, value in values.items() if value is not None
        ]
        if len(self.pending) >= BATCH:
            self.flush()

    def flush(self) -> None:
        """Send what is noted."""
        for start in range(0, len(self.pending), BATCH):
            self.client.log_batch(self.run_id, metrics=self.pending[start : start + BATCH])
        self.pending.clear()

    def log_record(self, record: Mapping[str, int | float]) -> None:
        """A line of the training log, against optimiser steps; a resumed training repeats those it has had."""
        step = int(record["step"])
        if step > self.last_record:
            self.log({f"train/{k}": v for k, v in record.items() if k != "step"}, step=step)

    def log_training(self, config: Mapping[str, Any], name: str, checkpoint: Path, arrays: Path) -> None:
        """What a finished training was: sizes, speed, memory, data, checkpoint."""
        facts = config["training"]
        self.log({"model/parameters": config["parameters"]})
        self.log({"model/parameters_with_task_types": config["parameters_with_task_types"]})
        for key in ("seconds", "samples", "steps", "puzzle_steps_per_second", "peak_memory_bytes"):
            self.log({f"train/{key}": facts[key]})
        self.tag(
            {"data_hash": config["data_hash"], "code_hash": config["code_hash"], "device": facts["device"]}
        )
        self.log_dataset(arrays.name, config["data_hash"], arrays.as_posix())
        self.log_checkpoint(name, checkpoint, hash_file(checkpoint / "model.safetensors"))

    def log_scores(self, metrics: Mapping[str, Any]) -> None:
        """The scores of an evaluation: each depth as a step, the deepest last, and the learning curve."""
        for name, scored in metrics["sets"].items():
            for depth, scores in scored.get("steps", {}).items():
                values = {f"test/{name.replace(',', '')}/{key}": value for key, value in scores.items()}
                self.log(values, step=int(depth))  # MLflow's names know no comma
        for point in metrics["learning_curve"]:
            values = {key: value for key, value in point.items() if not key.endswith(("step", "_lo", "_hi"))}
            self.log({f"curve/{key}": value for key, value in values.items()}, step=point["step"])
        self.log_dict(metrics, "metrics.json")

    def log_pictures(self, folder: Path) -> None:
        """Drawings of the examples that an evaluation kept in `folder`: the first of each size, as artifacts."""
        from serrm.drawing.figure import draw_figure
        from serrm.drawing.files import read_examples
        from serrm.drawing.scenes import rows_of

        drawn: dict[int, int] = {}
        for number, scene in enumerate(read_examples(folder / "examples.json")):
            drawn[scene.side] = drawn.get(scene.side, 0) + 1
            if drawn[scene.side] <= PICTURES:
                figure = draw_figure(rows_of(scene, shows_answer=True), scene.title)
                self.client.log_figure(self.run_id, figure, f"examples/{number:02d}.png")

    def log_dict(self, value: Mapping[str, Any], name: str) -> None:
        """Store a JSON artifact."""
        self.client.log_dict(self.run_id, dict(value), name)

    def tag(self, tags: Mapping[str, str]) -> None:
        """Set tags; the run's description is the tag mlflow.note.content."""
        for key, value in tags.items():
            self.client.set_tag(self.run_id, key, value)

    def log_checkpoint(self, name: str, path: Path, digest: str) -> None:
        """Register the checkpoint by where DVC keeps it, without copying it."""
        mlflow.create_external_model(
            name=name,
            source_run_id=self.run_id,
            tags={"dvc_path": path.as_posix(), "sha256": digest},
            experiment_id=self.client.get_run(self.run_id).info.experiment_id,
        )

    def log_dataset(self, name: str, digest: str, source: str) -> None:
        """Record the training data as the run's input."""
        data = Dataset(name=name, digest=digest[:36], source_type="dvc", source=json.dumps({"path": source}))
        self.client.log_inputs(self.run_id, datasets=[DatasetInput(data)])


@contextmanager
def cell_run(
    root: Path, profile: str, name: str, pointer: Path, *, params: Mapping[str, Any] | None = None
) -> Iterator[CellRun]:
    """The run of a cell: the one that `pointer` names, else a new one.

    With `params`, those of a new run, `pointer` is made to name it; without, the file is only read (it is an output
    of the training then, and belongs to DVC). The run ends FINISHED, or FAILED or KILLED as the body does.
    """
    client = _connect(root)
    run_id = _known_run(client, pointer) or _new_run(client, root, profile, name, params or {})
    if params is not None:
        pointer.parent.mkdir(parents=True, exist_ok=True)
        pointer.write_text(json.dumps({"run_id": run_id}) + "\n")
    client.update_run(run_id, RunStatus.to_string(RunStatus.RUNNING))
    logged = client.get_metric_history(run_id, "train/loss")
    run = CellRun(client, run_id, max((metric.step for metric in logged), default=-1))
    status = RunStatus.FAILED
    try:
        yield run
        status = RunStatus.FINISHED
    except (KeyboardInterrupt, SystemExit, Interrupted):
        status = RunStatus.KILLED
        raise
    finally:
        run.flush()
        client.set_terminated(run_id, RunStatus.to_string(status))


def flattened(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """{"a": {"b": 1}} as {"a.b": 1}."""
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping):
            flat.update(flattened(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _connect(root: Path) -> MlflowClient:
    uri = tracking_uri(root)
    mlflow.set_tracking_uri(uri)
    if not uri.startswith("sqlite:///"):
        return MlflowClient(uri)
    # Several processes that create or migrate one database at once break it.
    with FileLock(uri.removeprefix("sqlite:///") + ".lock"):
        client = MlflowClient(uri)
        client.search_experiments(max_results=1)
    return client


def _known_run(client: MlflowClient, pointer: Path) -> str | None:
    if not pointer.is_file():
        return None
    run_id = str(json.loads(pointer.read_text())["run_id"])
    known = client.search_runs(
        [each.experiment_id for each in client.search_experiments()],
        filter_string=f"attributes.run_id = '{run_id}'",
        max_results=1,
    )
    return run_id if known else None


def _new_run(client: MlflowClient, root: Path, profile: str, name: str, params: Mapping[str, Any]) -> str:
    experiment = client.get_experiment_by_name(profile)
    experiment_id = experiment.experiment_id if experiment else _new_experiment(client, root, profile)
    tags = {"profile": profile, "dvc.stage": f"train@{profile}-{name}", **_git_tags(root)}
    run = client.create_run(experiment_id, run_name=name, tags=tags)
    for key, value in flattened(params).items():
        client.log_param(run.info.run_id, key, value)
    return str(run.info.run_id)


def _new_experiment(client: MlflowClient, root: Path, profile: str) -> str:
    """An experiment whose artifacts lie beside the default store, wherever it is made; a server has its own place."""
    is_local = mlflow.get_tracking_uri().startswith("sqlite:///")
    place = (root / "mlruns").resolve().as_uri() if is_local else None
    return str(client.create_experiment(profile, artifact_location=place))


def _git_tags(root: Path) -> dict[str, str]:
    """Commit, and whether what decides the result differs from it; empty outside a repository."""
    commit = _git(root, "rev-parse", "HEAD")
    if commit is None:
        return {}
    changes = _git(root, "status", "--porcelain", "--", *WATCHED)
    return {"mlflow.source.git.commit": commit, "git.dirty": str(bool(changes)).lower()}


def _git(root: Path, *arguments: str) -> str | None:
    try:
        result = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return result.stdout.strip() if result.returncode == 0 else None
