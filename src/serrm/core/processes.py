"""The processes that share one training run or evaluation: the rank of this one, and their messages.

Every process holds the whole model and its part of the slots. A single process is the usual case; it
sends nothing and starts no torch.distributed. Tensors of the host go through gloo, those of a GPU through nccl.
"""

import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import reduce
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

T = TypeVar("T")
log = logging.getLogger(__name__)
BACKENDS = {"cpu": "gloo", "cuda": "cpu:gloo,cuda:nccl"}
# Allows for a process that is slow to compile or to read; a dead one is noticed at once.
PATIENCE = timedelta(hours=2)
TORCHRUN = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


class LostProcess(ConnectionError):
    """Another process of this run has ended, and the run cannot go on."""


@dataclass(frozen=True)
class Processes:
    """The rank of this process and the number of processes, in total and on this machine."""

    rank: int = 0
    num: int = 1
    local_rank: int = 0
    num_local: int = 1

    @property
    def is_first(self) -> bool:
        """True for the process that writes files and logs."""
        return self.rank == 0

    def local_range(self, num_slots: int) -> slice:
        """Find this process's part of the slots. ValueError if they do not divide evenly by the processes."""
        if num_slots % self.num:
            raise ValueError(
                f"a batch of {num_slots} slots does not divide by {self.num} processes "
                "(train.batch_size, processes in machine.yaml)"
            )
        size = num_slots // self.num
        return slice(self.rank * size, (self.rank + 1) * size)

    def add_up(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor by its sum over the processes, with the same bits on all of them, in one message."""
        if self.num == 1:
            return
        bucket = torch.cat([tensor.reshape(-1) for tensor in tensors])
        with _as_lost_process():
            dist.all_reduce(bucket)
        parts = bucket.split([tensor.numel() for tensor in tensors])
        shaped = [part.view_as(tensor) for part, tensor in zip(parts, tensors, strict=True)]
        torch._foreach_copy_(list(tensors), shaped)

    def gather(self, part: Tensor) -> Tensor:
        """Concatenate the parts of all processes, bit for bit the same on each of them."""
        if self.num == 1:
            return part
        local = part.detach().contiguous().view(torch.uint8)
        whole = local.new_empty(self.num * len(local), *local.shape[1:])
        with _as_lost_process():
            dist.all_gather(list(whole.chunk(self.num)), local)
        return whole.view(part.dtype)

    def any_of(self, *flags: bool) -> tuple[bool, ...]:
        """Each flag is true if it is true on at least one process; on the host, so nothing waits for a GPU."""
        if self.num == 1:
            return flags
        raised = torch.tensor(flags, dtype=torch.uint8)
        with _as_lost_process():
            dist.all_reduce(raised, dist.ReduceOp.MAX)
        return tuple(bool(flag) for flag in raised.tolist())

    def wait_for_all(self) -> None:
        """Return once all processes have called this."""
        self.any_of(True)  # processes do not wait for an empty message

    def collect(self, value: Any) -> list[Any]:
        """Collect a value of every process, in the order of ranks, on all of them; values need only be picklable."""
        if self.num == 1:
            return [value]
        values = [None] * self.num
        with _as_lost_process():
            dist.all_gather_object(values, value)
        return values

    def merge(self, value: T, join: Callable[[T, T], T]) -> T:
        """Merge the values of all processes, two at a time in the order of ranks, on all of them."""
        values: list[T] = self.collect(value)
        return reduce(join, values)


ALONE = Processes()


def under_torchrun() -> bool:
    """Test if this is one of several processes started by torchrun, or by a cluster with the same variables."""
    return all(name in os.environ for name in TORCHRUN) and os.environ["WORLD_SIZE"] != "1"


def is_first_of_torchrun() -> bool:
    """Test if this process may write; true without torchrun."""
    return not under_torchrun() or os.environ["RANK"] == "0"


@contextmanager
def joined_by_torchrun(device: str) -> Iterator[Processes]:
    """Connect the processes that torchrun has started, for the duration of the block; without torchrun only this one.

    `device` is that of the settings. ConnectionError if the processes cannot connect.
    """
    if not under_torchrun():
        yield ALONE
        return
    rank, num = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    local_rank = int(os.environ.get("LOCAL_RANK", rank))
    num_local = int(os.environ.get("LOCAL_WORLD_SIZE", num))
    if rank:
        logging.getLogger("serrm").setLevel(logging.ERROR)  # only one process logs
    is_on_gpu = torch.cuda.is_available() and device != "cpu"
    try:
        dist.init_process_group(BACKENDS["cuda" if is_on_gpu else "cpu"], timeout=PATIENCE)
    except RuntimeError as error:
        address = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
        reason = str(error).splitlines()[0]
        raise ConnectionError(f"the {num} processes could not connect at {address}: {reason}") from error
    try:
        yield Processes(rank, num, local_rank, num_local)
    finally:
        dist.destroy_process_group()


@contextmanager
def _as_lost_process() -> Iterator[None]:
    """Turn an error in a message between the processes into LostProcess, with one line."""
    try:
        yield
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise LostProcess(f"a process of this run has ended, so the others end too ({reason})") from error


def run_by_torchrun(num: int, module: str) -> int:
    """Run the command of this process, `python -m MODULE …`, in `num` processes of this machine; returns its exit code.

    A signal is passed on to all of them, and each may finish its step and write a checkpoint. If one process dies, the
    others end.
    """
    from torch.distributed.elastic.multiprocessing import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.run import main

    os.environ.setdefault("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "3600")
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, torch.get_num_threads() // num)))
    # The processes print their own errors, one line per error; torchrun would add tables and tracebacks.
    logging.getLogger("torch.distributed").setLevel(logging.CRITICAL + 1)
    try:
        main(["--standalone", "--nproc-per-node", str(num), "-m", module, *sys.argv[1:]])
    except SignalException:
        return os.EX_TEMPFAIL
    except ChildFailedError as error:
        for rank, failure in error.failures.items():
            if failure.exitcode < 0 and failure.exitcode != -signal.SIGTERM:
                name = signal.Signals(-failure.exitcode).name
                log.error("process %d of %d was killed by %s, so the others were ended", rank, num, name)
                return 1
        return int(error.get_first_failure()[1].exitcode)
    return 0
