"""A project with an MLflow store of its own, which the tests of a module share: making the database takes seconds."""

from collections.abc import Iterator
from pathlib import Path

import mlflow
import pytest
from mlflow.tracking import MlflowClient


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The project's folder, in no repository; the current one."""
    folder = tmp_path_factory.mktemp("project")
    with pytest.MonkeyPatch.context() as patch:
        for variable in ("MLFLOW_TRACKING_URI", "DVC_ROOT"):
            patch.delenv(variable, raising=False)
        patch.setenv("GIT_CEILING_DIRECTORIES", str(folder.parent))
        patch.chdir(folder)
        yield folder
        mlflow.set_tracking_uri("")


@pytest.fixture
def client(root: Path) -> MlflowClient:
    """MLflow on that store."""
    return MlflowClient(f"sqlite:///{root / 'mlflow.db'}")
