"""Servers in processes of their own: a free port, and the first answer."""

import socket
import subprocess
import time
import urllib.request


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
