"""MLflow's registry: the model of a run under a name that others load and serve it by."""

import warnings
from importlib.metadata import requires
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import mlflow
from mlflow.models import ModelSignature
from mlflow.types import ColSpec, ParamSchema, ParamSpec, Schema

from serrm.tracking.runs import RunFiles, open_store, sync_run
from serrm.training.checkpoint import check, copy_for_prediction

OPTIONS: Final = (
    ("max_steps", "long", 128),
    ("guesses", "long", 0),
    ("is_exact", "boolean", False),
)
SIGNATURE: Final = ModelSignature(
    Schema([ColSpec("string", "puzzle")]), params=ParamSchema([ParamSpec(*option) for option in OPTIONS])
)


def register(files: RunFiles, name: str) -> str:
    """Make the finished training of a run the newest version of a registered model; returns the version's address.

    Its weights are copied into MLflow. ValueError if the run has no checkpoint or a damaged one, or MLflow refuses.
    """
    check(files.checkpoint)
    run_id, _ = sync_run(files)
    with open_store(files.root) as client, TemporaryDirectory() as place, warnings.catch_warnings():
        outputs = client.get_run(run_id).outputs
        assert outputs is not None
        warnings.simplefilter("ignore")  # of advice to give an example, which would be run
        copy_for_prediction(files.checkpoint, Path(place) / "checkpoint")
        model = mlflow.pyfunc.log_model(
            name=files.name,
            python_model=str(Path(__file__).with_name("served.py")),
            artifacts={"checkpoint": str(Path(place) / "checkpoint")},
            signature=SIGNATURE,
            pip_requirements=[each for each in requires("serrm") or () if "extra ==" not in each],
            model_id=outputs.model_outputs[0].model_id,
            registered_model_name=name,
        )
    return f"models:/{name}/{model.registered_model_version}"


def newest_version(root: Path, name: str) -> str:
    """The address of a registered model's newest version. ValueError if there is none of that name."""
    with open_store(root) as client:
        versions = [int(each.version) for each in client.search_model_versions(f"name = '{name}'")]
    if not versions:
        raise ValueError(
            f"no model is registered as {name!r}: `serrm track register RUN --name {name}` does it"
        )
    return f"models:/{name}/{max(versions)}"
