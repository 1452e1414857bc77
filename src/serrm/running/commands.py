"""Commands of DVC side by side, which stop together.

DVC writes its remarks to standard output, which is left out, its errors and the messages of stages to standard error.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final

GRACE: Final = 0.5  # seconds in which a signal to all processes ends DVC


def environment_of(root: Path) -> dict[str, str]:
    """Make the environment in which DVC starts stages with this Python and the project's own code."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONSAFEPATH"}
    paths = {"PATH": Path(sys.executable).parent, "PYTHONPATH": root / "src"}
    for name, first in paths.items():
        environment[name] = os.pathsep.join(filter(None, [str(first), environment.get(name)]))
    return environment


class Commands:
    """Commands of DVC in the project's folder. A signal to this process stops them; no further one starts then."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.signal = 0  # that has stopped them
        self.running = set[subprocess.Popen[str]]()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._stop)

    def repro(self, environment: Mapping[str, str], *targets: str) -> int:
        """Run `dvc repro`; returns its exit code when all processes that it has started have ended too."""
        if self.signal:
            return 1
        process = subprocess.Popen(
            [sys.executable, "-m", "dvc", "--wait-for-lock", "repro", *targets],
            cwd=self.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
        )
        self.running.add(process)
        assert process.stderr is not None
        with process.stderr:
            # DVC ends at SIGTERM at once, but its training, which writes a checkpoint, still holds the pipe.
            for line in process.stderr:
                sys.stderr.write(line)
                sys.stderr.flush()
        self.running.discard(process)
        return process.wait()

    def _stop(self, number: int, _: object) -> None:
        """Stop all commands; a second signal ends them at once."""
        forwarded = signal.SIGTERM if self.signal else signal.SIGINT
        self.signal = number
        timer = threading.Timer(GRACE, self._forward, [forwarded])
        timer.daemon = True
        timer.start()

    def _forward(self, number: signal.Signals) -> None:
        """Send a signal to all commands that still run: on a cluster, for one, they have got the first one too."""
        for process in [*self.running]:
            if process.poll() is None:
                os.killpg(process.pid, number)
