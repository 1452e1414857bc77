"""What stages log in MLflow: through the logger that scripts/side_by_side starts (logger.py), or else by themselves.

Importing MLflow takes a stage two to three seconds. So stages of several runs share one process that has imported it.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Any, Final, NamedTuple

from serrm.core.project import Layout
from serrm.training.log import Record
from serrm.training.settings import RunSettings

VARIABLE: Final = "SERRM_LOGGER"  # of the environment: the address of the logger's socket
FINISHED: Final = None  # the last message of a stage; the logger answers when it has logged everything


class Request(NamedTuple):
    """The first message of a stage: the run, and the settings of a training that begins.

    Records follow if there are settings. Otherwise the run's files are to be logged.
    """

    profile: str
    root: Path
    run: str
    settings: RunSettings | None = None


@contextmanager
def log_training(layout: Layout, name: str, settings: RunSettings) -> Iterator[Callable[[Record], None]]:
    """Log the records of a training as they come, and its files at the end (`serrm.tracking.runs.log_training`)."""
    connection = _connect(layout, name, settings)
    if connection is None:
        from serrm.tracking import runs

        with runs.log_training(layout, name, settings) as log:
            yield log
        return
    with connection:  # closed before FINISHED, it tells the logger that the training has failed
        yield partial(_send, connection)
        if not _is_logged(connection):
            _log_files(layout, name)


def log_evaluation(layout: Layout, name: str) -> None:
    """Log the files of a run that has been scored; a failure of MLflow is a warning."""
    connection = _connect(layout, name)
    if connection is not None:
        with connection:
            if _is_logged(connection):
                return
    _log_files(layout, name)


def _log_files(layout: Layout, name: str) -> None:
    from serrm.tracking.runs import sync_or_warn

    sync_or_warn(layout, name)


def _connect(layout: Layout, name: str, settings: RunSettings | None = None) -> Connection | None:
    """A connection to the logger, which has the request; None if there is no logger, or settings cannot be sent."""
    try:
        connection = Client(os.environ[VARIABLE], "AF_UNIX")
    except (KeyError, OSError):
        return None
    _send(connection, Request(layout.profile, layout.root.resolve(), name, settings))
    return None if connection.closed else connection


def _send(connection: Connection, message: Any) -> None:
    """Send a message, or close the connection: then the stage logs the files at its end.

    The logger may have died, or a custom family's settings may not be made for sending.
    """
    try:
        connection.send(message)
    except Exception:  # of any kind: tracking must never end a training or an evaluation
        connection.close()


def _is_logged(connection: Connection) -> bool:
    """Wait until the logger has logged everything; False if it has died."""
    _send(connection, FINISHED)
    try:
        return connection.recv() is True
    except (EOFError, OSError):
        return False
