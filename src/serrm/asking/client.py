"""Many requests to one server: a few at once, each tried again where that may help, and the run ended where not."""

import logging
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue

import requests

from serrm.asking.api import FailedAttempt, bearer, post
from serrm.asking.cache import Json, request_key
from serrm.asking.parse import Kind
from serrm.asking.settings import LanguageModelSettings

logger = logging.getLogger(__name__)

# Attempts for one request; seconds before the second, twice as long before each further one, and at most.
NUM_ATTEMPTS = 4
PAUSE, LONGEST_PAUSE = 2.0, 120.0
# Requests in a row that failed in all their attempts before the server is given up.
NUM_FAILURES = 20


@dataclass(frozen=True)
class Failure:
    """Why a request got no response, `error` or `timeout`; `is_lasting`: it never would."""

    kind: Kind
    message: str
    is_lasting: bool = False


@dataclass(frozen=True)
class _Traffic:
    """What the workers share: requests that wait, how others ended, where replies are kept, and the sign to stop."""

    waiting: SimpleQueue[Json]
    ended: SimpleQueue[tuple[Json, Failure | Exception | None]]
    keep: Callable[[Json, Json], None]
    stop: threading.Event


def ask_all(
    settings: LanguageModelSettings,
    key: str | None,
    bodies: Sequence[Json],
    keep: Callable[[Json, Json], None],
) -> Generator[tuple[Json, Failure | None], None, None]:
    """Send requests, at most `concurrency` at once; yields each when it ended, with its failure or None.

    Args:
        keep: takes a request and its response the moment it is there, in any thread: whatever ends the run
            afterwards, the response is not lost.

    Raises:
        ValueError: the server would refuse every request, or NUM_FAILURES in a row failed.
    """
    traffic = _Traffic(SimpleQueue(), SimpleQueue(), keep, threading.Event())
    for body in bodies:
        traffic.waiting.put(body)
    # Daemons, so that an interrupted run does not wait for replies that may take minutes.
    workers = [
        threading.Thread(target=_work, args=(settings, key, traffic), daemon=True)
        for _ in range(min(settings.concurrency, len(bodies)))
    ]
    for worker in workers:
        worker.start()
    try:
        yield from _collect(settings, traffic, len(bodies))
    finally:
        traffic.stop.set()
    for worker in workers:
        worker.join()


def _collect(
    settings: LanguageModelSettings, traffic: _Traffic, num: int
) -> Iterator[tuple[Json, Failure | None]]:
    num_failures = 0
    for _ in range(num):
        body, end = traffic.ended.get()
        if isinstance(end, Exception):
            raise end
        yield body, end
        if end is None or end.is_lasting:  # the server is there
            num_failures = 0
            continue
        num_failures += 1
        if num_failures == NUM_FAILURES:
            raise ValueError(f"{settings.address}: {num_failures} requests in a row failed: {end.message}")


def _work(settings: LanguageModelSettings, key: str | None, traffic: _Traffic) -> None:
    """One worker: a connection, and one request after another until none waits or there is the sign to stop."""
    with requests.Session() as session:
        session.auth = bearer(key)
        while not traffic.stop.is_set():
            try:
                body = traffic.waiting.get_nowait()
            except Empty:
                return
            try:
                end = _ask(session, settings, body, traffic.stop)
                if not isinstance(end, Failure):
                    traffic.keep(body, end)
                traffic.ended.put((body, end if isinstance(end, Failure) else None))
            except Exception as error:  # whatever it is, it is raised again by the thread that collects
                traffic.stop.set()
                traffic.ended.put((body, error))


def _ask(
    session: requests.Session, settings: LanguageModelSettings, body: Json, stop: threading.Event
) -> Json | Failure:
    """One request in at most NUM_ATTEMPTS attempts, with growing pauses or those that the server asks for."""
    # Half to one and a half of a pause, so that requests turned away together do not return together.
    spread = 0.5 + int(request_key(body)[:8], 16) / 2**32
    attempt = 0
    while True:
        try:
            return post(session, settings, body)
        except FailedAttempt as error:
            attempt += 1
            pause = PAUSE * 2 ** (attempt - 1) * spread if error.wait is None else error.wait
            failure = Failure(error.kind, str(error), error.is_lasting)
        if failure.is_lasting or attempt == NUM_ATTEMPTS or stop.wait(min(pause, LONGEST_PAUSE)):
            return failure
        logger.warning("%s; trying again", failure.message)
