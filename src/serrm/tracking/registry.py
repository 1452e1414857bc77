"""MLflow's registry: the model of a cell under a name and an alias that others load it by."""

from pathlib import Path

from mlflow.exceptions import MlflowException

from serrm.tracking.files import CellFiles
from serrm.tracking.models import log_model
from serrm.tracking.runs import find_run
from serrm.tracking.store import connect
from serrm.training.checkpoint import check


def register(root: Path, profile: str, cell: str, name: str, alias: str) -> str:
    """Make the alias of a registered name mean the finished training of a cell; returns the model's address.

    ValueError if the cell has no checkpoint or a damaged one, or no run in the store.
    """
    files, client = CellFiles(root, profile, cell), connect(root)
    training = files.training()
    if training is None:
        raise ValueError(f"{files.checkpoint}: no checkpoint here: `dvc repro` or `dvc pull` makes it")
    check(files.checkpoint)
    run_id = find_run(client, profile, files.pointer, training)
    if run_id is None:
        raise ValueError(f"{cell}: no run in the store: `serrm track sync --profile {profile}` makes it")
    model = log_model(client, run_id, cell, files.checkpoint)
    try:
        client.create_registered_model(name)
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise ValueError(f"{name!r} is no name for a model: {error.message}") from error
    source = f"models:/{model.model_id}"
    versions = client.search_model_versions(f"name = '{name}'")
    version = next((each.version for each in versions if each.source == source), None)
    if version is None:
        version = client.create_model_version(name, source, run_id, model_id=model.model_id).version
    try:
        client.set_registered_model_alias(name, alias, version)
    except MlflowException as error:
        raise ValueError(f"{alias!r} is no alias: {error.message}") from error
    return f"models:/{name}@{alias}"
