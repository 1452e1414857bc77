"""One piece of work in several processes of this machine, started and watched by this one, which does none of it.

The watcher hands on what the first process tells (records, the result), lets all of them know of a stop request, and
when one dies ends the others: whatever happens, no process is left behind and one line says what it was.
"""

import logging
import multiprocessing
import os
import signal
import tempfile
import threading
import traceback
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from serrm.training.interrupt import Interrupted, StopRequests
from serrm.training.processes import LostProcess, Processes, joined

Tell = Callable[[Any], None]
GRACE = 2.0  # seconds in which processes may still say why they ended, once one has
POLL = 0.2  # seconds between looks at the stop requests
STOPS = (signal.SIGINT, signal.SIGTERM)
KINDS: dict[str, type[Exception]] = {
    "Interrupted": Interrupted,
    "LostProcess": LostProcess,
    "ValueError": ValueError,
    "OSError": OSError,
}


@runtime_checkable
class Requests(Protocol):
    """Where stop requests are noted."""

    @property
    def received(self) -> str | None:
        """The name of the signal, None if there was none."""


Work = Callable[[Processes, Tell, Requests], Any]


class Report(NamedTuple):
    """What a process says to the watcher: a message of the first one, its result, or why it failed."""

    kind: str  # message, result, failure, or one of KINDS
    content: Any


class Flag:
    """The watcher's stop request, as its processes see it."""

    def __init__(self, event: Event) -> None:
        self.event = event

    @property
    def received(self) -> str | None:
        """SIGTERM once the watcher has passed a stop request on."""
        return "SIGTERM" if self.event.is_set() else None


def run_in_processes(work: Work, num: int, device: str, on_message: Tell, *, heeds_stops: bool = True) -> Any:
    """The result of `work` in the first of `num` processes; the messages it told were given to `on_message`.

    Work that heeds stop requests is told of a signal and ends by itself, other work is ended. Raises what the work
    raised: Interrupted, ValueError, OSError. A process that dies raises ChildProcessError, which names it. Work and
    messages are pickled.
    """
    context = multiprocessing.get_context("spawn")
    stop, requests = context.Event(), StopRequests()
    with tempfile.TemporaryDirectory() as folder, requests if heeds_stops else nullcontext():
        address = (Path(folder) / "rendezvous").as_uri()
        pipes = [context.Pipe(duplex=False) for _ in range(num)]
        workers = [
            context.Process(
                target=_run, args=(work, Processes(rank, num, rank, num), address, device, end, stop)
            )
            for rank, (_, end) in enumerate(pipes)
        ]
        _start(workers)
        for _, end in pipes:
            end.close()
        try:
            return _watch(workers, [start for start, _ in pipes], requests, stop, on_message)
        finally:
            for worker in workers:
                worker.kill()
                worker.join()


def _start(workers: Sequence[SpawnProcess]) -> None:
    """Start them with stop requests held back: those of a terminal reach all, and only the watcher heeds them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    try:
        for worker in workers:
            worker.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _watch(
    workers: Sequence[SpawnProcess],
    pipes: Sequence[Connection],
    requests: StopRequests,
    stop: Event,
    on_message: Tell,
) -> Any:
    """Hand messages on until all have ended; the result of the first."""
    results: dict[int, Any] = {}
    reasons: dict[int, Report] = {}
    while len(results) < len(workers):
        wait([*(worker.sentinel for worker in workers if worker.is_alive()), *_open(pipes)], POLL)
        if requests.received is not None:
            stop.set()
        has_ended = [
            not worker.is_alive() for worker in workers
        ]  # looked at before what it said last is read
        for rank, report in _reports(pipes):
            if report.kind == "message":
                on_message(report.content)
            elif report.kind == "result":
                results[rank] = report.content
            else:
                reasons[rank] = report
        if reasons or any(ended and rank not in results for rank, ended in enumerate(has_ended)):
            _await(workers)
            reasons |= {
                rank: report for rank, report in _reports(pipes) if report.kind not in ("message", "result")
            }
            raise _cause([worker.exitcode for worker in workers], reasons)
    return results[0]


def _open(pipes: Sequence[Connection]) -> list[Connection]:
    return [pipe for pipe in pipes if not pipe.closed]


def _reports(pipes: Sequence[Connection]) -> list[tuple[int, Report]]:
    """All that has been said and not yet read; the pipe of an ended process is closed."""
    found = []
    for rank, pipe in enumerate(pipes):
        try:
            while not pipe.closed and pipe.poll():
                found.append((rank, pipe.recv()))
        except (EOFError, ConnectionResetError):
            pipe.close()
    return found


def _await(workers: Sequence[SpawnProcess]) -> None:
    """Give all a moment to end by themselves, as they do when they notice that one is missing."""
    for worker in workers:
        worker.join(GRACE / len(workers))


def _cause(codes: Sequence[int | None], reasons: dict[int, Report]) -> Exception:
    """Why the work failed: what one of them said, a death before the complaints of those that noticed it."""
    for report in reasons.values():
        if report.kind in KINDS and report.kind != LostProcess.__name__:
            return KINDS[report.kind](report.content)
    for rank, code in enumerate(codes):
        if code is not None and rank not in reasons and code != 0:
            how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
            return ChildProcessError(
                f"process {rank} of {len(codes)} was {how}, so the others were ended; the same command goes on from "
                "the last checkpoint"
            )
    for rank, report in reasons.items():
        if report.kind == "failure":
            return RuntimeError(f"process {rank} of {len(codes)} failed:\n{report.content}")
    return LostProcess(
        next((report.content for report in reasons.values()), "a process ended without a word")
    )


def _run(work: Work, processes: Processes, address: str, device: str, pipe: Connection, stop: Event) -> None:
    """The main function of a process."""
    for number in STOPS:
        signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
    threading.Thread(target=_end_with_the_watcher, daemon=True).start()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    tell = (
        (lambda message: pipe.send(Report("message", message)))
        if processes.is_first
        else (lambda message: None)
    )
    try:
        with joined(processes, address, device):
            result = work(processes, tell, Flag(stop))
        pipe.send(Report("result", result if processes.is_first else None))
    except (Interrupted, ValueError, OSError) as error:
        kind = next(name for name, known in KINDS.items() if isinstance(error, known))
        pipe.send(Report(kind, str(error)))
    except Exception:
        pipe.send(Report("failure", traceback.format_exc()))


def _end_with_the_watcher() -> None:
    """End at once if the watcher is killed: nobody would hear of what is done."""
    watcher = multiprocessing.parent_process()
    assert watcher is not None
    watcher.join()
    os._exit(1)
