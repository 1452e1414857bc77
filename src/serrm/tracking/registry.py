"""MLflow's model registry: register a run's model under a name, to load and serve it by this name.

MLflow keeps this file beside the weights and runs it to load the model ("models from code"), so nothing is pickled.
"""

import warnings
from importlib.metadata import requires
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import mlflow
import pandas as pd
from mlflow.models import infer_signature
from mlflow.pyfunc.model import PythonModel, PythonModelContext

import serrm
from serrm.core.project import Layout
from serrm.solving.solve import values as answer_values

DEFAULT_PARAMS: Final = {"budget": 4096, "is_exact": False}


class AnswerModel(PythonModel):
    """A checkpoint as an MLflow model. It takes a table with a column `puzzle`, in any form of `serrm solve`."""

    def load_context(self, context: PythonModelContext) -> None:
        """Load the checkpoint that MLflow keeps beside this file."""
        self.model = serrm.load(Path(context.artifacts["checkpoint"]))

    def predict(
        self, context: PythonModelContext, model_input: pd.DataFrame, params: dict[str, Any] | None = None
    ) -> pd.DataFrame:
        """One row per answer, in order; an ARC puzzle has one answer per test input."""
        answers = self.model.solve(model_input["puzzle"].tolist(), **(params or {}))
        return pd.DataFrame([answer_values(answer) for answer in answers])


def register(layout: Layout, name: str, registered_name: str) -> str:
    """Register a run's checkpoint as the newest version of a model, and return its address, models:/NAME/VERSION.

    MLflow copies the weights. ValueError if the run has no checkpoint or a damaged one, or MLflow refuses.
    """
    from serrm.tracking.mirror import Mirror
    from serrm.tracking.store import open_store
    from serrm.training.checkpoint import check, copy_for_prediction

    check(layout.runs / name)
    run_id = Mirror(layout.root).log_result(layout, name)
    with open_store(layout.root), TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MLflow advises to add an example, which it would then run
        copy_for_prediction(layout.runs / name, Path(folder) / "checkpoint")
        model = mlflow.pyfunc.log_model(
            name=name,
            python_model=__file__,
            artifacts={"checkpoint": str(Path(folder) / "checkpoint")},
            signature=infer_signature(pd.DataFrame({"puzzle": [""]}), params=DEFAULT_PARAMS),
            pip_requirements=[
                requirement for requirement in requires("serrm") or () if "extra ==" not in requirement
            ],
            model_id=mlflow.initialize_logged_model(name, run_id).model_id,
            registered_model_name=registered_name,
        )
    return f"models:/{registered_name}/{model.registered_model_version}"


mlflow.models.set_model(AnswerModel())
