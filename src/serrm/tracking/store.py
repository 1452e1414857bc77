"""Finding and making runs in the MLflow store: by the training they are of, not by ids that only one store knows."""

import subprocess
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import mlflow
from filelock import FileLock
from mlflow.entities import LifecycleStage, Param, Run
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import RESOURCE_DOES_NOT_EXIST, ErrorCode
from mlflow.tracking import MlflowClient

from serrm.store import WATCHED, tracking_uri

SQLITE = "sqlite:///"
NOT_THERE = ErrorCode.Name(RESOURCE_DOES_NOT_EXIST)
TRAINING = "training"  # the tag by which the run of a finished training is found, in any store
CURRENT = "current"  # the tag of the run whose results the reports hold: true or false


def connect(root: Path) -> MlflowClient:
    """The store of a project. ValueError if it does not answer or is of another MLflow."""
    uri = tracking_uri(root)
    mlflow.set_tracking_uri(uri)
    is_file = uri.startswith(SQLITE)
    try:
        # A client creates the database that is not there; several that do so at once break it.
        with FileLock(uri.removeprefix(SQLITE) + ".lock") if is_file else nullcontext():
            client = MlflowClient(uri)
            client.search_experiments(max_results=1)
    except MlflowException as error:
        fault = "cannot be opened" if is_file else "does not answer"
        raise ValueError(f"MLFLOW_TRACKING_URI: {uri} {fault}: {error.message}") from error
    return client


def known_run(client: MlflowClient, run_id: str | None) -> str | None:
    """`run_id` if the store has such a run, not deleted."""
    if run_id is None:
        return None
    try:
        stage = client.get_run(run_id).info.lifecycle_stage
    except MlflowException as error:
        if error.error_code != NOT_THERE:
            raise
        return None
    return run_id if stage == LifecycleStage.ACTIVE else None


def experiments(client: MlflowClient, profile: str) -> list[str]:
    """The id of a profile's experiment; empty where there is none yet."""
    experiment = client.get_experiment_by_name(profile)
    return [] if experiment is None else [str(experiment.experiment_id)]


def tagged_runs(client: MlflowClient, experiments: list[str], tag: str, value: str) -> list[Run]:
    """The runs of experiments whose tag has a value, newest first."""
    return list(client.search_runs(experiments, f"tags.`{tag}` = '{value}'")) if experiments else []


def new_run(
    client: MlflowClient,
    root: Path,
    profile: str,
    name: str,
    tags: Mapping[str, str],
    params: Mapping[str, Any],
    start: int | None = None,
) -> str:
    """A run in the profile's experiment, tagged with the commit; `start` in milliseconds since 1970."""
    tags = {"profile": profile, **git_tags(root), **tags}
    run = client.create_run(experiment_id(client, root, profile), start, run_name=name, tags=tags)
    log_params(client, run, params)
    return str(run.info.run_id)


def log_params(client: MlflowClient, run: Run, params: Mapping[str, Any]) -> None:
    """Add the parameters that a run has not; those it has cannot be changed."""
    wanted = flattened(params)
    missing = [Param(key, str(value)) for key, value in wanted.items() if key not in run.data.params]
    for start in range(0, len(missing), 100):  # MLflow's limit
        client.log_batch(run.info.run_id, params=missing[start : start + 100])


def experiment_id(client: MlflowClient, root: Path, profile: str) -> str:
    """The profile's experiment, made where missing.

    Its artifacts lie beside the default store, wherever it is made; a server has its own place.
    """
    experiment = client.get_experiment_by_name(profile)
    if experiment is not None:
        return str(experiment.experiment_id)
    is_local = mlflow.get_tracking_uri().startswith(SQLITE)
    place = (root / "mlruns").resolve().as_uri() if is_local else None
    return str(client.create_experiment(profile, artifact_location=place))


def flattened(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """{"a": {"b": 1}} as {"a.b": 1}."""
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping):
            flat.update(flattened(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def git_tags(root: Path) -> dict[str, str]:
    """Commit, and whether what decides the result differs from it; empty outside a repository."""
    commit = git(root, "rev-parse", "HEAD")
    if commit is None:
        return {}
    changes = git(root, "status", "--porcelain", "--", *WATCHED)
    return {"mlflow.source.git.commit": commit, "git.dirty": str(bool(changes)).lower()}


def git(root: Path, *arguments: str) -> str | None:
    """What git says of a repository; None without git or outside one."""
    try:
        result = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return result.stdout.strip() if result.returncode == 0 else None
