"""The store of MLflow: its database, its experiments, and its failures as one line each."""

import logging
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import mlflow
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient
from sqlalchemy.exc import SQLAlchemyError

from serrm.tracking import SQLITE, database_path, project_database, tracking_uri

# MLflow shows the kind beside the name; which page opens depends on the address (`links`).
EXPERIMENT_TAGS: Final = {"mlflow.experimentKind": "custom_model_development"}

# These loggers only repeat failures that are also raised, and retries that may still succeed.
for logger in ("mlflow", "alembic", "urllib3.connectionpool"):
    logging.getLogger(logger).setLevel(logging.CRITICAL)


class StoreError(ValueError):
    """MLflow does not answer, or refuses a request."""


@contextmanager
def open_store(root: Path) -> Iterator[MlflowClient]:
    """Open MLflow's client for the project's store. A failure of MLflow is a StoreError of one line with the store."""
    uri = tracking_uri(root)
    mlflow.set_tracking_uri(uri)
    try:
        if database := database_path(uri):
            create_database(database)
        yield MlflowClient(uri)
    except (MlflowException, SQLAlchemyError, sqlite3.Error, ImportError, OSError) as error:
        raise StoreError(f"{uri}: {reason(error)}") from error


def reason(error: BaseException) -> str:
    """State the cause of a failure of MLflow in one line: a missing package, the database's own words, or MLflow's."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ModuleNotFoundError):
            return f"{cause.name} is not installed: pip install {cause.name}"
        if isinstance(cause, sqlite3.Error):
            return str(cause)
        cause = cause.__cause__ or cause.__context__
    return str(error).splitlines()[0]


def create_database(path: Path) -> None:
    """Create MLflow's database if there is none, whole or not at all: an incomplete one can never be opened."""
    if path.exists():
        return
    partial = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        MlflowClient(f"{SQLITE}{partial}").search_experiments(max_results=1)
        with suppress(FileExistsError):  # another process was faster
            path.hardlink_to(partial)
    finally:
        partial.unlink(missing_ok=True)


def experiment_id(client: MlflowClient, root: Path, profile: str, data_set: str) -> str:
    """Find the experiment of a profile and data set, created if missing.

    Artifacts of the project's own database are beside it. ValueError with the way out if the experiment was deleted or
    the project has been moved, as MLflow keeps the absolute address of the artifacts.
    """
    name, uri, database = f"serrm/{profile}/{data_set}", tracking_uri(root), project_database(root)
    folder = database.with_name("mlruns").as_uri() if uri == f"{SQLITE}{database}" else None
    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        try:
            return str(client.create_experiment(name, folder, EXPERIMENT_TAGS))
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":  # by another process, just now
                raise
            return experiment_id(client, root, profile, data_set)
    number = str(experiment.experiment_id)
    if experiment.lifecycle_stage == "deleted":
        raise ValueError(
            f"experiment {name} was deleted in MLflow: `mlflow experiments restore -x {number}` brings it back, "
            f"`mlflow gc --experiment-ids {number}` makes room for a new one (MLFLOW_TRACKING_URI={uri})"
        )
    if folder and experiment.artifact_location != folder:
        raise ValueError(
            f"experiment {name} keeps its artifacts in {experiment.artifact_location}, but the project is in "
            f"{folder.rpartition('/')[0]}: move mlflow.db and mlruns away, and `serrm track` fills a new store"
        )
    return number


def links(root: Path, address: str) -> Iterator[tuple[str, str]]:
    """Yield the names of all experiments and the addresses of their charts, which begin with the scores.

    `address` is that of the UI, such as http://127.0.0.1:5000. StoreError if MLflow fails.
    """
    with open_store(root) as client:
        for experiment in client.search_experiments(filter_string="name LIKE 'serrm/%'", order_by=["name"]):
            page = f"{address}/#/experiments/{experiment.experiment_id}/runs"
            yield experiment.name, f"{page}?workflowType=machine_learning&compareRunsMode=CHART"
