"""Finding and making runs in the MLflow store: by the training they are of, not by ids that only one store knows."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mlflow
from filelock import FileLock
from mlflow.entities import Param, Run
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

from serrm.store import WATCHED, tracking_uri

SQLITE = "sqlite:///"
TRAINING = "training"  # the tag by which the run of a finished training is found, in any store
CURRENT = "current"  # the tag of the run whose results the reports hold: true or false


def connect(root: Path) -> MlflowClient:
    """The store of a project. ValueError if it is a server that does not answer."""
    uri = tracking_uri(root)
    mlflow.set_tracking_uri(uri)
    client = MlflowClient(uri)
    if uri.startswith(SQLITE):
        # Several processes that create or migrate one database at once break it.
        with FileLock(uri.removeprefix(SQLITE) + ".lock"):
            client.search_experiments(max_results=1)
        return client
    try:
        client.search_experiments(max_results=1)
    except MlflowException as error:
        raise ValueError(f"MLFLOW_TRACKING_URI: {uri} does not answer: {error.message}") from error
    return client


def known_run(client: MlflowClient, run_id: str | None) -> str | None:
    """`run_id` if the store has such a run, not deleted."""
    if run_id is None:
        return None
    everywhere = [each.experiment_id for each in client.search_experiments()]
    found = client.search_runs(everywhere, f"attributes.run_id = '{run_id}'", max_results=1)
    return run_id if found else None


def tagged_runs(client: MlflowClient, profile: str, tag: str, value: str) -> list[Run]:
    """The runs of a profile whose tag has a value, newest first."""
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
    """What git says of a repository; None without git or outside one."""
    try:
        result = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return result.stdout.strip() if result.returncode == 0 else None
