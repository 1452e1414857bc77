"""The logger: a process that logs in MLflow what the stages of several runs send to it (client.py).

`python -m serrm.tracking.logger SOCKET` ends when the process that started it has ended and no stage is connected. A
stage that it cannot serve logs by itself.
"""

import logging
import os
import signal
import sys
import time
from contextlib import suppress
from multiprocessing.connection import Connection, Listener
from threading import Thread
from typing import Final

from serrm.core.project import Layout
from serrm.tracking.client import FINISHED, Request

SECONDS: Final = 0.2  # between two looks at the process that started the logger


def serve(address: str) -> None:
    """Serve every connection in a thread of its own, until nobody is left to connect."""
    parent = os.getppid()
    # A signal to the whole group also stops the trainings, which then have something to log.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with Listener(address, "AF_UNIX") as listener:
        threads: list[Thread] = []
        Thread(target=_accept, args=(listener, threads), daemon=True).start()
        while os.getppid() == parent or any(thread.is_alive() for thread in threads):
            time.sleep(SECONDS)


def _accept(listener: Listener, threads: list[Thread]) -> None:
    with suppress(OSError):  # the listener has been closed
        while True:
            thread = Thread(target=_answer, args=(listener.accept(),), daemon=True)
            thread.start()
            threads.append(thread)


def _answer(connection: Connection) -> None:
    """Log what one stage sends. A stage that ends too early makes its training FAILED."""
    from serrm.tracking import runs  # imports MLflow; meanwhile stages can connect already

    with connection, suppress(EOFError, OSError):
        request: Request = connection.recv()
        layout, records = Layout(request.profile, request.root), iter(connection.recv, FINISHED)
        if request.settings is None:
            next(records, None)
            runs.sync_or_warn(layout, request.run)
        else:
            with runs.log_training(layout, request.run, request.settings) as log:
                for record in records:
                    log(record)
        connection.send(True)


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    with suppress(OSError):  # the address is too long for a socket, say; then stages log by themselves
        serve(sys.argv[1])
