"""The checkpoint of a cell as a model of MLflow, logged with its run: `served.py`, weights, settings; no pickle."""

import warnings
from importlib.metadata import requires
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import mlflow
from mlflow.entities import LoggedModel, LoggedModelStatus
from mlflow.models import ModelSignature
from mlflow.tracking import MlflowClient
from mlflow.types import ColSpec, ParamSchema, ParamSpec, Schema

from serrm.manifest import hash_file
from serrm.training.checkpoint import MODEL, copy_for_prediction

PACKAGE, SHA256 = "serrm", "sha256"
ANSWERS: Final = {
    **dict.fromkeys(("place", "task", "question", "answer", "status", "by"), "string"),
    **dict.fromkeys(("steps", "attempts"), "long"),
    "seconds": "double",
    "remark": "string",
}  # the columns of `solving.answers.values`
OPTIONS: Final = (
    *(("max_steps", "long", 128), ("restarts", "long", 0), ("guesses", "long", 0)),
    ("is_exact", "boolean", False),
)
SIGNATURE: Final = ModelSignature(
    Schema([ColSpec("string", "puzzle")]),
    Schema([ColSpec(kind, name) for name, kind in ANSWERS.items()]),
    ParamSchema([ParamSpec(*option) for option in OPTIONS]),
)


def log_model(client: MlflowClient, run_id: str, name: str, checkpoint: Path) -> LoggedModel:
    """The model of a run with the weights of a checkpoint, logged where it has none yet."""
    experiment = client.get_run(run_id).info.experiment_id
    digest = hash_file(checkpoint / MODEL)
    for known in client.search_logged_models([experiment], f"source_run_id = '{run_id}'"):
        if known.tags.get(SHA256) == digest and known.status == LoggedModelStatus.READY:
            return known
    tags = {"dvc_path": checkpoint.as_posix(), SHA256: digest}
    model = client.create_logged_model(experiment, name, run_id, tags)
    with TemporaryDirectory() as place:
        client.log_model_artifacts(model.model_id, save_model(checkpoint, Path(place)))
    return client.finalize_logged_model(model.model_id, LoggedModelStatus.READY)


def save_model(checkpoint: Path, place: Path) -> str:
    """Write a checkpoint as a folder, new in `place`, that `mlflow.pyfunc.load_model` reads; returns its name."""
    copy_for_prediction(checkpoint, place / "checkpoint")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of advice to give an example, which would be run
        mlflow.pyfunc.save_model(
            str(place / "model"),
            python_model=str(Path(__file__).with_name("served.py")),
            artifacts={"checkpoint": str(place / "checkpoint")},
            signature=SIGNATURE,
            pip_requirements=[each for each in requires(PACKAGE) or () if "extra ==" not in each],
        )
    return str(place / "model")
