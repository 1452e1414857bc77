"""The logger: a process that logs in MLflow what the stages of several runs send to it (client.py).

`python -m serrm.tracking.logger SOCKET PARENT` ends when no stage is connected and the process PARENT (a number), which
started it, has ended. A stage that it cannot serve logs by itself.
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


def serve(address: str, parent: int) -> None:
    """Serve every connection in a thread of its own, until nobody is left to connect."""
    # A signal to the whole group also stops the trainings, which then have something to log.
    _handle_signals(signal.SIG_IGN)
    threads: list[Thread] = []
    listener = Listener(address, "AF_UNIX")
    Thread(target=_accept, args=(listener, threads), daemon=True).start()
    while os.getppid() == parent:
        time.sleep(SECONDS)
    _handle_signals(signal.SIG_DFL)
    while any(thread.is_alive() for thread in threads):
        time.sleep(SECONDS)
    with suppress(OSError):  # the script has removed the socket already
        listener.close()


def _handle_signals(handler: signal.Handlers) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, handler)


def _accept(listener: Listener, threads: list[Thread]) -> None:
    # After an error the listener is closed: then stages are refused and log by themselves.
    with suppress(OSError), listener:
        while True:
            thread = Thread(target=_answer, args=(listener.accept(),), daemon=True)
            thread.start()
            threads.append(thread)


def _answer(connection: Connection) -> None:
    """Log what one stage sends. A stage that ends too early makes its training FAILED."""
    with connection, suppress(EOFError, OSError):
        from serrm.tracking import runs  # imports MLflow; meanwhile stages can connect already

        request: Request = connection.recv()
        layout = Layout(request.profile, request.root)
        if request.settings is None:
            connection.recv()  # FINISHED
            runs.sync_or_warn(layout, request.run)
        else:
            with runs.log_training(layout, request.run, request.settings) as log:
                for record in iter(connection.recv, FINISHED):
                    log(record)
        connection.send(True)


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    with suppress(OSError):  # the address is too long for a socket, say; then stages log by themselves
        serve(sys.argv[1], parent=int(sys.argv[2]))
