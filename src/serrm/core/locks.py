"""Locks on files, which the system releases when the process that holds them ends, even by SIGKILL."""

import errno
import fcntl
import time
from pathlib import Path
from typing import TextIO

# `is_locked` holds a lock for a moment, which must not look like another process that works.
ATTEMPTS, PAUSE = 3, 0.01  # seconds
NOT_SUPPORTED = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK)


class NoLocks(ValueError):
    """The file system of a file has no locks (flock)."""


def lock(path: Path, *, is_shared: bool = False, waits: bool = False) -> TextIO | None:
    """Lock a file, which is created if missing, until the result is closed; None if another process has locked it.

    Several processes can share a lock. NoLocks if the file system has none.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("a+", encoding="utf-8")
    kind = (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | (0 if waits else fcntl.LOCK_NB)
    for _ in range(ATTEMPTS):
        try:
            fcntl.flock(file, kind)
            return file
        except BlockingIOError:
            time.sleep(PAUSE)
        except OSError as error:
            file.close()
            if error.errno in NOT_SUPPORTED:
                raise NoLocks(f"{path}: the file system has no file locks") from error
            raise
    file.close()
    return None


def is_locked(path: Path) -> bool:
    """Test if a process has locked a file; false without the file. NoLocks if the file system has no locks."""
    if not path.is_file():
        return False
    file = lock(path)
    if file is not None:
        file.close()
    return file is None
