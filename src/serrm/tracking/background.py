"""The mirror as a process beside stages: started where none runs, in a session of its own, without input and output.

Whoever works (a stage, `make repro`) shares the lock of one file; a mirror ends when nobody has had it for some
seconds. Another lock lets one mirror run at a time. Imports no MLflow.
"""

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Final, TextIO

from serrm.core.locks import NoLocks, is_locked, lock

log = logging.getLogger(__name__)
# In the project's folder. None is tracked.
WORK_LOCK: Final = Path("data", ".work.lock")
MIRROR_LOCK: Final = Path("data", ".track.lock")
OUTPUT: Final = Path("data", "track.log")  # of a mirror in the background: why it could not log
_work: list[TextIO] = []  # the lock of this process, held until it ends


def mirror_meanwhile(root: Path) -> subprocess.Popen[bytes] | None:
    """Have the results of this process mirrored in MLflow; returns the mirror if there was none.

    A file system without locks cannot tell whether one runs; then a line says what to do.
    """
    try:
        _work.append(hold_work(root))
        return None if is_locked(root / MIRROR_LOCK) else start_mirror(root)
    except NoLocks as error:
        log.warning("not mirrored in MLflow, run `serrm track` afterwards: %s", error)
        return None


def hold_work(root: Path) -> TextIO:
    """Tell mirrors that this process works, until the result is closed."""
    held = lock(root / WORK_LOCK, is_shared=True, waits=True)
    assert held is not None
    return held


def is_temporary(root: Path) -> bool:
    """True in a copy of the project in which DVC runs an experiment (`dvc exp run --temp`, `--queue`)."""
    return not root.samefile(os.environ.get("DVC_ROOT", root))


@contextmanager
def without_mirror(root: Path) -> Iterator[None]:
    """Let stages in this folder find a mirror, so that they start none."""
    try:
        held = lock(root / MIRROR_LOCK)
    except NoLocks:
        held = None
    with held or nullcontext():
        yield


def wait_for_mirror(root: Path) -> None:
    """End this process's work and wait until the mirror has all results, before DVC removes a temporary workspace."""
    end_work()
    with suppress(NoLocks):
        held = lock(root / MIRROR_LOCK, waits=True)
        assert held is not None
        held.close()


def end_work() -> None:
    """Tell mirrors that this process works no more."""
    while _work:
        _work.pop().close()


def start_mirror(root: Path) -> subprocess.Popen[bytes]:
    """Start a mirror that outlives this process; a line says why the one before it failed, if it did."""
    output = root / OUTPUT
    if output.is_file() and (failure := output.read_text(encoding="utf-8").strip()):
        log.warning("MLflow misses results, run `serrm track`: %s", failure.splitlines()[-1])
    # The folder from which this process has imported serrm comes first.
    paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    with output.open("wb") as file:
        return subprocess.Popen(
            [sys.executable, "-m", "serrm.cli", "track", "--follow"],
            cwd=root,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=file,
            start_new_session=True,
        )
