"""What a training will need, told before its first step: memory by what one puzzle adds, time by a short trial.

The trial works on examples of its own and leaves gradients only, which are dropped: the numbers of the training are
the same with and without it. A training that cannot fit is refused here.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import torch
from torch import Tensor

from serrm.kernels.accelerate import accelerate, recomputes, runs_compiled
from serrm.progress import duration
from serrm.training.loop import Trainer
from serrm.training.slots import Piece, to_device

TRIAL_SECONDS = 0.5  # on a CPU, one pass of the trial takes about so long at most
CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
ADVICE = "lower execution.micro_batch or train.batch_size, or set execution.recompute"


@dataclass(frozen=True)
class Estimate:
    """Of all processes on this machine, or of one GPU: bytes at the most, and seconds a step without its update."""

    memory: int
    seconds: float

    def words(self, num_steps: int) -> str:
        """The line of the log, for so many steps to go."""
        a_step = f"{gigabytes(self.memory)} and {self.seconds:.2g} s a step"
        return f"needs about {a_step}: {duration(num_steps * self.seconds)} for {num_steps:,} steps"


def estimate(trainer: Trainer) -> Estimate:
    """Measure by a trial. ValueError if the memory of the machine or the GPU does not suffice.

    All processes have to ask for it together.
    """
    device = trainer.model.initial.device
    try:
        with _without_traces(trainer):
            memory = _memory_on_host(trainer) if device.type == "cpu" else 0
            _refuse_beyond(memory, device)
            seconds = _seconds(trainer)
            if device.type == "cuda":
                memory = torch.cuda.max_memory_allocated(device) + _still_to_come(trainer)
                _refuse_beyond(memory, device)
    except torch.cuda.OutOfMemoryError as error:
        raise ValueError(
            f"does not fit into the {gigabytes(total_memory(device))} of {device}: {ADVICE}"
        ) from error
    return Estimate(memory, max(trainer.processes.collect(seconds)))


def total_memory(device: torch.device) -> int:
    """Bytes of the GPU, or of the machine as far as this process may use them."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[1]
    found = [psutil.virtual_memory().total]
    for name in CGROUP_LIMITS:
        text = Path(name).read_text().strip() if Path(name).is_file() else ""
        found += [int(text)] if text.isdigit() else []
    return min(found)


def saved_bytes(trainer: Trainer, num: int) -> int:
    """Bytes that a supervision step of `num` puzzles keeps for its backward pass, weights in other types included."""
    sizes: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        trainer.work_on(_sample(trainer, num))
    return sum(sizes.values())


def _memory_on_host(trainer: Trainer) -> int:
    """What the processes of this machine hold already, what a step keeps, gradients and the optimiser's state."""
    model, size = trainer.model, _size(trainer)
    before = recomputes(model)
    accelerate(model, recomputes=False)
    with torch.compiler.set_stance("force_eager"):  # no compiling for these sizes
        one, two = saved_bytes(trainer, 1), saved_bytes(trainer, 2)
    accelerate(model, recomputes=before)
    a_puzzle, fixed = two - one, 2 * one - two
    if before:
        num_applications = model.schedule.num_with_gradient
        state = sum(part.numel() * part.element_size() for part in _sample(trainer, 1).state)
        a_puzzle = a_puzzle // num_applications + num_applications * state
    own = psutil.Process().memory_info().rss + fixed + size * a_puzzle + _still_to_come(trainer)
    of_all: list[int] = trainer.processes.collect(own)
    return sum(of_all) * trainer.processes.num_here // trainer.processes.num


def _seconds(trainer: Trainer) -> float:
    """Seconds of the forward and backward passes of a step; compiles what will be compiled."""
    device, size = trainer.model.initial.device, _size(trainer)
    num = size
    if device.type == "cpu" and not runs_compiled(trainer.model, trainer.slots.state[0].dtype):
        of_one = _timed(lambda: trainer.work_on(_sample(trainer, 1)), device)
        num = max(1, min(size, int(TRIAL_SECONDS / of_one)))
    sample = _sample(trainer, num)
    trainer.work_on(sample)
    of_piece = _timed(lambda: trainer.work_on(sample), device) / num
    return of_piece * len(trainer.slots.tokens)


def _timed(work: Callable[[], object], device: torch.device) -> float:
    """Seconds of one call alone: not of what the device still had to do before it."""
    _wait_for(device)
    start = time.perf_counter()
    work()
    _wait_for(device)
    return time.perf_counter() - start


def _wait_for(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _size(trainer: Trainer) -> int:
    """Slots that go through the model at once."""
    return min(len(trainer.slots.tokens), trainer.micro_batch or len(trainer.slots.tokens))


def _sample(trainer: Trainer, num: int) -> Piece:
    """The first examples of the stream, on fresh states."""
    stream, model, slots = trainer.stream, trainer.model, trainer.slots
    examples = stream.gather(0, num)
    tokens, targets, task_types = (
        to_device(torch.from_numpy(part), slots.tokens.device).long() for part in examples
    )
    state = model.initial_state(num, tokens.shape[1], trainer.num_symbols, slots.state[0].dtype)
    return Piece(
        0, tokens, targets, task_types, tuple(part.contiguous() for part in state), torch.ones(num).long()
    )


def _still_to_come(trainer: Trainer) -> int:
    """Bytes of the optimiser's state, if it has none yet, and of the gradients."""
    weights = sum(parameter.numel() * parameter.element_size() for parameter in trainer.parameters)
    return weights * (1 if trainer.optimizer.state else 3)


def _refuse_beyond(memory: int, device: torch.device) -> None:
    if memory > (total := total_memory(device)):
        where = "this machine" if device.type == "cpu" else str(device)
        raise ValueError(f"needs about {gigabytes(memory)}, {where} has {gigabytes(total)}: {ADVICE}")


@contextmanager
def _without_traces(trainer: Trainer) -> Iterator[None]:
    """Training mode inside; the gradients and the generator's state are afterwards what they were before."""
    trainer.model.train()
    on_gpu = [trainer.model.initial.device] if trainer.model.initial.device.type == "cuda" else []
    with torch.random.fork_rng(on_gpu):
        try:
            yield
        finally:
            trainer.optimizer.zero_grad()


def gigabytes(num_bytes: int) -> str:
    """ "3.1 GB"."""
    return f"{num_bytes / 1e9:.1f} GB"
