"""The model that MLflow loads and serves: a checkpoint, answering puzzles. MLflow runs this file, and pickles nothing.

`registry.register` has MLflow lay it beside the weights ("models from code"). It needs the package, and no store.
"""

from pathlib import Path
from typing import Any

import mlflow
import pandas as pd
from mlflow.pyfunc.model import PythonModel, PythonModelContext

import serrm
from serrm.solving.answers import values


class Answers(PythonModel):
    """A table with a column `puzzle`, of texts as `serrm solve` takes them, becomes a table of answers."""

    def load_context(self, context: PythonModelContext) -> None:
        """Read the checkpoint that MLflow keeps beside this file."""
        self.model = serrm.load(Path(context.artifacts["checkpoint"]))

    def predict(
        self, context: PythonModelContext, model_input: pd.DataFrame, params: dict[str, Any] | None = None
    ) -> pd.DataFrame:
        """A row for every answer, in order; a puzzle of several test inputs has several."""
        answers = self.model.solve(model_input["puzzle"].tolist(), **(params or {}))
        return pd.DataFrame([values(answer) for answer in answers])


mlflow.models.set_model(Answers())
