"""Finding and making runs in the MLflow store: by the training they are of, not by ids that only one store knows."""

import logging
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mlflow
from filelock import FileLock
from mlflow.entities import LifecycleStage, Param, Run
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import RESOURCE_DOES_NOT_EXIST, ErrorCode
from mlflow.tracking import MlflowClient
from sqlalchemy.exc import SQLAlchemyError

from serrm.store import WATCHED, tracking_uri

SQLITE = "sqlite:///"
NOT_THERE = ErrorCode.Name(RESOURCE_DOES_NOT_EXIST)
TRAINING = "training"  # the tag by which the run of a finished training is found, in any store
CURRENT = "current"  # the tag of the run whose results the reports hold: true or false


# What it tells of a failure, with a traceback, it raises as well.
logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)


def connect(root: Path) -> MlflowClient:
    """The store of a project. ValueError if it does not answer or is of another MLflow."""
    uri = tracking_uri(root)
    mlflow.set_tracking_uri(uri)
    with one_line_failures():
        if uri.startswith(SQLITE):
            create_database(Path(uri.removeprefix(SQLITE)))
        client = MlflowClient(uri)
        client.search_experiments(max_results=1)
    return client


@contextmanager
def one_line_failures() -> Iterator[None]:
    """What MLflow raises, as a ValueError that names the store."""
    try:
        yield
    except (MlflowException, SQLAlchemyError) as error:
        uri = mlflow.get_tracking_uri()
        fault = "cannot be used" if uri.startswith(SQLITE) else "does not answer"
        raise ValueError(f"MLFLOW_TRACKING_URI: {uri} {fault}: {str(error).splitlines()[0]}") from error


def create_database(path: Path) -> None:
    """MLflow's database, where there is none: whole or not at all, as a half-made one can never be opened again."""
    with FileLock(f"{path}.lock"):  # several processes that made it at once would break it
        if not path.exists():
            partial = Path(f"{path}.new")
            partial.unlink(missing_ok=True)
            MlflowClient(f"{SQLITE}{partial}").search_experiments(max_results=1)
            partial.replace(path)


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


def tagged_runs(client: MlflowClient, profile: str, tag: str, value: str) -> list[Run]:
    """The runs of a profile's experiment whose tag has a value, newest first."""
    experiment = client.get_experiment_by_name(profile)
    if experiment is None:
        return []
    return list(client.search_runs([experiment.experiment_id], f"tags.`{tag}` = '{value}'"))


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
    """What git says of a repository; None without git or outside one. It takes no lock that a kill could leave."""
    command = ["git", "--no-optional-locks", *arguments]
    try:
        result = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return result.stdout.strip() if result.returncode == 0 else None
