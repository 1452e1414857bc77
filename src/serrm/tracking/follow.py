"""`serrm track`: bring MLflow up to date once, or until nothing runs; one mirror of a project at a time."""

import logging
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import yaml

from serrm.core.locks import NoLocks, is_locked, lock
from serrm.core.project import PARAMS
from serrm.tracking.background import MIRROR_LOCK, WORK_LOCK

log = logging.getLogger(__name__)
PAUSE: Final = 2.0  # seconds between two looks at the files
PAUSE_AFTER_FAILURE: Final = 30.0
# Seconds without work after which a mirror ends: DVC takes some between two stages.
PATIENCE: Final = 10.0
SECONDS_OF_SILENCE: Final = 10.0  # of waiting for another mirror


@contextmanager
def only_mirror(root: Path) -> Iterator[None]:
    """Wait until no other mirror of the project runs, and keep others waiting; a line says so after ten seconds."""
    try:
        held, start = lock(root / MIRROR_LOCK), time.monotonic()
        while held is None:
            time.sleep(0.2)
            if start and time.monotonic() - start > SECONDS_OF_SILENCE:
                log.warning("waiting for another `serrm track` to end (%s)", root / MIRROR_LOCK)
                start = 0.0
            held = lock(root / MIRROR_LOCK)
    except NoLocks as error:
        log.warning("%s: run one `serrm track` at a time", error)
        yield
        return
    with held:
        yield


def active_profile(root: Path) -> str:
    """Read the name of the profile of params.yaml."""
    values = yaml.safe_load((root / PARAMS).read_text(encoding="utf-8"))
    if not isinstance(values, dict) or not isinstance(values.get("profile"), str):
        raise ValueError(f"{root / PARAMS}: profile is missing")
    return str(values["profile"])


def track(root: Path, profiles: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Bring MLflow up to date once; yields each run with news, and why it failed if it did."""
    from serrm.tracking.mirror import Mirror

    with only_mirror(root):
        yield from Mirror(root).update(profiles)


def follow(root: Path, profiles: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Bring MLflow up to date until nothing runs; yields each run at its first news, and each new failure.

    Without `profiles` those that are active meanwhile. After SIGTERM no further work is waited for.
    """
    from serrm.tracking.mirror import Mirror

    is_last = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: is_last.set())
    os.nice(10)
    mirror, seen = Mirror(root), set[tuple[str, str | None]]()
    active, last_work = dict.fromkeys(profiles), -PATIENCE
    with ExitStack() as ending, only_mirror(root):
        while (root / PARAMS).is_file():  # a temporary workspace goes
            if not profiles:
                active[active_profile(root)] = None
            if is_at_work := is_locked(root / WORK_LOCK):
                last_work = time.monotonic()
            news = list(mirror.update(active))
            yield from (item for item in news if item not in seen)
            seen.update(news)
            has_failed = any(failure for _, failure in news)
            is_over = is_last.is_set() or time.monotonic() - last_work >= PATIENCE
            if is_over and not is_at_work and (held := lock(root / WORK_LOCK)):
                # Held until another mirror can start: who begins to work meanwhile waits, and then starts it.
                ending.enter_context(held)
                break
            pause = PAUSE_AFTER_FAILURE if has_failed else PAUSE
            time.sleep(PAUSE) if is_last.is_set() else is_last.wait(pause)
