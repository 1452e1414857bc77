"""Stopping a training without losing it: stop requests by signal, and how an early stop is told."""

import signal
from types import FrameType
from typing import Any

EXIT_RESUMABLE = 75  # EX_TEMPFAIL of sysexits.h: not done, and nothing is wrong


class Interrupted(Exception):
    """Training stopped early with a checkpoint; the same command resumes it."""


class StopRequests:
    """Turns SIGTERM and Ctrl-C into a note while it is entered; a second signal acts as usual."""

    def __init__(self) -> None:
        self.received: str | None = None
        self.previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "StopRequests":
        for number in (signal.SIGTERM, signal.SIGINT):
            self.previous[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self.previous.items():
            signal.signal(number, handler)

    def _note(self, number: int, _: FrameType | None) -> None:
        self.received = signal.Signals(number).name
        for each, handler in self.previous.items():
            signal.signal(each, handler)
