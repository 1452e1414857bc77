"""The MLflow UI on the project's runs, ready in seconds.

MLflow's own defaults start four workers and a job queue, which takes half a minute and gigabytes; one worker without
them shows the same pages.
"""

import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

SQLITE = "sqlite:///"
ENVIRONMENT = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}


def server_command(store: str, host: str, port: int) -> list[str]:
    """The command line of a lean MLflow server on a store.

    Raises ValueError if the store is a server itself, or a database that is not there, or the port is taken.
    """
    if store.startswith(("http://", "https://")):
        raise ValueError(f"the runs are kept by {store}: open that address")
    if store.startswith(SQLITE) and not Path(store.removeprefix(SQLITE)).is_file():
        raise ValueError(f"no runs yet: {store.removeprefix(SQLITE)} is missing, `make repro` writes it")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise ValueError(
                f"cannot serve on {host}:{port}: {error.strerror}; choose another --port"
            ) from error
    options = ["--backend-store-uri", store, "--host", host, "--port", str(port), "--workers", "1"]
    return [sys.executable, "-m", "mlflow", "server", *options]


def serve(root: Path, command: list[str], environment: Mapping[str, str]) -> NoReturn:
    """Become the server, so that signals reach it, in the folder of the project."""
    os.chdir(root)
    os.execve(command[0], command, {**environment, **ENVIRONMENT})
