"""MLflow as a mirror of files: `serrm track` logs what stages have written, once or while they write.

Only modules of this package import mlflow; this `__init__` and `background` do not.

params.yaml owns the configuration and DVC the weights; MLflow mirrors the configuration and the scores, for comparing
runs. No result depends on it: everything can be logged again from the files.

This `__init__` has the address of the project's store and the command line that serves its UI. It starts one
worker, because MLflow's default of four workers and a job queue takes half a minute to start and gigabytes of
memory.
"""

import errno
import os
import socket
import sys
from pathlib import Path
from typing import NoReturn

# Set before anything imports mlflow; variables of the environment win.
DEFAULTS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    # Four retries wait half a minute for a server that is gone; MLflow's default of seven waits four minutes.
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "4",
}
os.environ.update(DEFAULTS | os.environ)

SQLITE = "sqlite:///"
PORT_ERRORS = (errno.EADDRINUSE, errno.EACCES)  # in use, or reserved for root


def tracking_uri(root: Path) -> str:
    """Choose MLFLOW_TRACKING_URI, else the sqlite database in the repository, even from DVC's temporary copies.

    A relative path to a database starts there too.
    """
    database = project_database(root)
    uri = os.environ.get("MLFLOW_TRACKING_URI") or f"{SQLITE}{database}"
    path = database_path(uri)
    return uri if path is None else uri.replace(f"{SQLITE}{path}", f"{SQLITE}{database.parent / path}", 1)


def project_database(root: Path) -> Path:
    """Locate the database in the repository."""
    return Path(os.environ.get("DVC_ROOT", root)).resolve() / "mlflow.db"


def database_path(uri: str) -> Path | None:
    """Extract the file of a SQLite database, without options such as `?timeout=30`; None for other stores."""
    name = uri.removeprefix(SQLITE).partition("?")[0]
    return Path(name) if uri.startswith(SQLITE) and name not in ("", ":memory:") else None


def ui_command(store: str, host: str, port: int) -> list[str]:
    """Write the command line of an MLflow server with one worker on a store.

    ValueError if the store is a server itself, its database is missing, or it cannot listen at that host and port.
    """
    if store.startswith(("http://", "https://")):
        raise ValueError(f"the runs are on the server {store}: open that address")
    if (database := database_path(store)) and not database.is_file():
        raise ValueError(f"no runs yet: {database} is missing, `make repro` or `serrm track` writes it")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            option = "--port" if error.errno in PORT_ERRORS else "--host"
            raise ValueError(
                f"cannot serve on {host}:{port}: {error.strerror}; choose another {option}"
            ) from error
    command = ["server", "--backend-store-uri", store, "--workers", "1", "--host", host, "--port", str(port)]
    return [sys.executable, "-m", "mlflow", *command]


def replace_process(root: Path, command: list[str]) -> NoReturn:
    """Replace this process by a server in the project's folder, so that signals reach the server.

    MLflow starts uvicorn by its name, so the programs of this environment come first on PATH.
    """
    os.chdir(root)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    store = {"PATH": path, "MLFLOW_TRACKING_URI": tracking_uri(root)}
    os.execve(command[0], command, {**os.environ, **store})
