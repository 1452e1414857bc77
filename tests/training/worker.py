"""`python -m tests.training.worker WHAT`: a command that runs itself in two processes, which then end in some way."""

import os
import signal
import sys
import time

from serrm.core.processes import joined_by_torchrun, run_by_torchrun, under_torchrun


def work(what: str) -> int:
    """One of the two processes; its exit code."""
    with joined_by_torchrun("cpu") as processes:
        if what == "stops":
            received: list[int] = []
            signal.signal(signal.SIGTERM, lambda *_: received.append(1))
            processes.any_of(True)  # both can take it from here on
            if processes.is_first:
                os.kill(os.getppid(), signal.SIGTERM)  # of the agent, which passes it on to all
            while not processes.any_of(bool(received))[0]:
                time.sleep(0.1)
            if processes.is_first:
                time.sleep(1)
                sys.stdout.write("saved")
        if what == "dies" and not processes.is_first:
            os.kill(os.getpid(), signal.SIGKILL)
        processes.any_of(True)
    return int(what) if what.isdigit() and processes.is_first else 0


if __name__ == "__main__":
    what = sys.argv[1]
    sys.exit(work(what) if under_torchrun() else run_by_torchrun(2, "tests.training.worker"))
