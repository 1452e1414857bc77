"""Servers in processes of their own: a free port, and the first answer."""

import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any


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


@contextmanager
def serving(command: Sequence[str], request: str | urllib.request.Request, **options: Any) -> Iterator[bytes]:
    """The first answer of a server, which runs meanwhile and is then killed with all that it has started."""
    process = subprocess.Popen(command, start_new_session=True, **options)
    try:
        yield wait_for(request, process)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(60)
