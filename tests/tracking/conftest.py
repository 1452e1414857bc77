"""A project with an MLflow store of its own, which the tests of a module share: making the database takes seconds."""

import socket
import subprocess
import time
import urllib.request
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


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(request: str | urllib.request.Request, process: "subprocess.Popen[bytes]") -> bytes:
    """The answer of a server that is starting."""
    for _ in range(600):  # by count: a paused machine is no failure
        assert process.poll() is None
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return bytes(answer.read())
        except OSError:
            time.sleep(0.2)
    raise AssertionError("the server does not answer")
