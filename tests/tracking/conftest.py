"""A project with an MLflow store of its own, which the tests of a module share: making the database takes seconds."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import mlflow
import pytest
from mlflow.tracking import MlflowClient

from serrm.tracking import ui_command
from tests.servers import free_port, wait_for


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


class Server:
    """A tracking server on a free port, which can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        (folder / "server.db").touch()  # an empty file is an empty database
        self.start()

    def start(self) -> None:
        command = ui_command(f"sqlite:///{self.folder / 'server.db'}", "127.0.0.1", self.port)
        self.process = subprocess.Popen(
            [*command, "--artifacts-destination", str(self.folder / "artifacts")],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        wait_for(f"{self.address}/health", self.process)

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(20)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A tracking server that answers; MLFLOW_TRACKING_URI names it."""
    server = Server(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server.address)
    yield server
    server.kill()
