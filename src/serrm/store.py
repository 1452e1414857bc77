"""Where MLflow keeps its runs; apart from `tracking` because importing mlflow takes seconds."""

import os
from pathlib import Path

WATCHED = ("src", "stages", "dvc.yaml", "params.yaml")  # what decides a result, of a repository


def tracking_uri(root: Path) -> str:
    """MLFLOW_TRACKING_URI, else the sqlite database in the repository (of DVC, when in one of its copies)."""
    home = Path(os.environ.get("DVC_ROOT", root)).resolve()
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{home / 'mlflow.db'}"
