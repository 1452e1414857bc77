"""One piece of work in several processes of this machine: torchrun's agent starts them and ends them together.

This process does none of it. The work, what the first process tells on the way and the outcome of each lie in a
folder: how it ended is what a process left there, not its exit code.
"""

import json
import logging
import os
import pickle
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Thread
from typing import Any

from serrm.training.interrupt import Interrupted
from serrm.training.processes import LostProcess

Tell = Callable[[Any], None]
Work = Callable[[Tell], Any]
WORK, TOLD, OUTCOME = "work", "told", "outcome"  # files of the folder
POLL = 0.2  # seconds between looks at what the first process tells
PATIENCE = 3600  # seconds in which a process may finish its step and write a checkpoint, once it is to stop
# Of errors of work; the first that fits says how it is told.
KINDS = (Interrupted, LostProcess, ValueError, OSError)
HANDLED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)  # by the agent, which hands them on


def run_in_processes(work: Work, num: int, on_message: Tell = lambda message: None) -> Any:
    """The result of `work` in the first of `num` processes; what it told, in JSON, was given to `on_message`.

    A signal is handed on to all of them. Raises what the work raised: Interrupted, ValueError, OSError; a process
    that dies raises ChildProcessError, which names it. Work and result are pickled.
    """
    from torch.distributed.elastic.multiprocessing import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import elastic_launch

    _be_quiet()
    before = {number: signal.getsignal(number) for number in HANDLED}
    codes, received, ended = {}, None, Event()
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(1) as pool:
        folder = Path(name)
        (folder / WORK).write_bytes(pickle.dumps((sys.path, pickle.dumps(work))))
        (folder / TOLD).touch()
        told = pool.submit(_hand_on, folder / TOLD, on_message, ended)
        try:
            elastic_launch(_settings(num, name), sys.executable)("-m", __name__, name)
        except ChildFailedError as error:
            codes = {rank: failure.exitcode for rank, failure in error.failures.items()}
        except SignalException as error:
            received = error.sigval
        finally:
            ended.set()
            for number, handler in before.items():
                signal.signal(number, handler)
        told.result()
        left = {int(path.suffix[1:]): pickle.loads(path.read_bytes()) for path in folder.glob(f"{OUTCOME}.*")}
    if received is not None and not left:
        signal.raise_signal(received)  # work that does not heed it was ended by it
    return _result(left, codes, num)


def _settings(num: int, folder: str) -> Any:
    """As `torchrun --standalone` has them: a rendezvous of this machine's own, no second try."""
    from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs
    from torch.distributed.launcher.api import LaunchConfig

    os.environ.setdefault("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", str(PATIENCE))
    return LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=num,
        run_id=str(os.getpid()),
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        local_addr="localhost",
        max_restarts=0,
        logs_specs=DefaultLogsSpecs(log_dir=folder),
    )


def _be_quiet() -> None:
    """The agent's log, tables and tracebacks of what is told here in one line, goes nowhere."""
    for name in ("torch.distributed", "torchelastic-events-null"):
        log = logging.getLogger(name)
        log.handlers, log.propagate = [logging.NullHandler()], False


def _hand_on(path: Path, on_message: Tell, ended: Event) -> None:
    """Give each line of the file that the first process writes to `on_message`; if that fails, stop the work."""
    with path.open() as lines:
        is_last = False
        while not is_last:
            is_last = ended.wait(POLL)
            try:
                for line in iter(lines.readline, ""):
                    on_message(json.loads(line))
            except BaseException:
                if not is_last:
                    os.kill(os.getpid(), signal.SIGTERM)
                raise


def _result(left: Mapping[int, Any], codes: Mapping[int, int], num: int) -> Any:
    """What the first process left; raises why the work failed, a death before the complaints of who noticed it."""
    errors = [outcome for outcome in left.values() if isinstance(outcome, Exception)]
    for error in errors:
        if not isinstance(error, LostProcess):
            raise error
    for rank, code in codes.items():
        if rank not in left:
            how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
            raise ChildProcessError(
                f"process {rank} of {num} was {how}, so the others were ended; the same command goes on from "
                "the last checkpoint"
            )
    if errors or 0 not in left:
        raise errors[0] if errors else LostProcess("a process ended without a word")
    return left[0]


def main(folder: Path) -> None:
    """One of the processes: do the work and leave the outcome."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    sys.path, pickled = pickle.loads((folder / WORK).read_bytes())
    work: Work = pickle.loads(pickled)
    rank = int(os.environ["RANK"])
    with (folder / TOLD).open("a", buffering=1) as told:

        def tell(message: Any) -> None:
            if rank == 0:
                told.write(json.dumps(message) + "\n")

        try:
            outcome = work(tell)
        except KINDS as error:
            outcome = next(kind for kind in KINDS if isinstance(error, kind))(str(error))
    (folder / f"{OUTCOME}.{rank}").write_bytes(pickle.dumps(outcome))
    sys.exit(isinstance(outcome, ValueError | OSError))


def _end_with(agent: int) -> None:
    """Stop, as on a signal, if the agent is killed: nobody would hear of what is done."""
    while os.getppid() == agent:
        time.sleep(1)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
