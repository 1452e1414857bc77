"""What a training will need, logged before its first step: memory and time, by a short trial.

The trial works on examples of its own and leaves gradients only, which are dropped: the numbers of the training are
the same with and without it. It compiles what will be compiled. A training that cannot fit is refused here.
"""

import os
from contextlib import nullcontext
from pathlib import Path

import torch
from torch import Tensor

from serrm.devices import seconds_of
from serrm.kernels.accelerate import runs_compiled
from serrm.progress import duration
from serrm.training.loop import Trainer
from serrm.training.slots import Piece, to_device

PROCESS_BYTES = 600 * 2**20  # what a process with PyTorch holds before it has a model
TRIAL_SECONDS = 0.5  # on a CPU, one pass of the trial takes about so long at most
CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
ADVICE = "lower execution.micro_batch or train.batch_size"


def estimate(trainer: Trainer, num_steps: int) -> str:
    """Memory and time of so many steps in words. ValueError if the machine or the GPU has too little memory.

    The memory is that of all processes on this machine, or of one GPU.
    """
    device = trainer.model.initial.device
    total = total_memory(device)
    try:
        memory = memory_of(trainer) * (trainer.processes.num_here if device.type == "cpu" else 1)
        # What a GPU's kernels keep differs with the compiler: there only the trial can show it.
        if device.type == "cpu" and memory > total:
            needed = f"needs about {gigabytes(memory)}, this machine has {gigabytes(total)}"
            raise ValueError(f"{needed}: {ADVICE}")
        seconds = seconds_of_step(trainer)
    except torch.cuda.OutOfMemoryError as error:
        raise ValueError(f"does not fit into the {gigabytes(total)} of {device}: {ADVICE}") from error
    whole = duration(num_steps * seconds)
    return f"{gigabytes(memory)} and {seconds:.2g} s a step: {whole} for {num_steps:,} steps"


def memory_of(trainer: Trainer) -> int:
    """Bytes of one process: weights, EMA, gradients, two moments, task types, states, and what puzzles keep."""
    model = trainer.model
    learned = sum(weight.nbytes for weight in model.parameters())
    states = sum(part.nbytes for part in trainer.slots.state)
    table = 0 if model.task_types is None else model.task_types.nbytes
    a_puzzle = kept_bytes(trainer, 2) - kept_bytes(trainer, 1)
    return PROCESS_BYTES + 5 * learned + table + states + _at_once(trainer) * a_puzzle


def kept_bytes(trainer: Trainer, num: int) -> int:
    """Bytes that a supervision step of `num` puzzles keeps for its backward pass, uncompiled."""
    sizes: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    is_compiled = runs_compiled(trainer.model, trainer.slots.state[0].dtype)
    eager = torch.compiler.set_stance("force_eager") if is_compiled else nullcontext()
    with eager, torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        _try_out(trainer, sample_of(trainer, num))
    return sum(sizes.values())


def total_memory(device: torch.device) -> int:
    """Bytes of the GPU, or of the machine as far as this process may use them."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[1]
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for name in CGROUP_LIMITS:
        text = Path(name).read_text().strip() if Path(name).is_file() else ""
        found += [int(text)] if text.isdigit() else []
    return min(found)


def seconds_of_step(trainer: Trainer) -> float:
    """Seconds of the forward and backward passes of a step, on a CPU measured with as few puzzles as do."""
    model, num = trainer.model, _at_once(trainer)
    device = model.initial.device

    def timed(sample: Piece) -> float:
        return seconds_of(lambda: _try_out(trainer, sample), device)

    if device.type == "cpu" and not runs_compiled(model, trainer.slots.state[0].dtype):
        num = max(1, min(num, int(TRIAL_SECONDS / timed(sample_of(trainer, 1)))))
    sample = sample_of(trainer, num)
    _try_out(trainer, sample)
    return timed(sample) / num * len(trainer.slots.tokens)


def _try_out(trainer: Trainer, sample: Piece) -> None:
    """Take a forward and backward pass as in training, and forget its gradients."""
    trainer.model.train()
    try:
        trainer.work_on(sample)
    finally:
        trainer.optimizer.zero_grad()


def _at_once(trainer: Trainer) -> int:
    """Slots that go through the model at once."""
    return min(len(trainer.slots.tokens), trainer.micro_batch or len(trainer.slots.tokens))


def sample_of(trainer: Trainer, num: int) -> Piece:
    """The first examples of the stream, on fresh states."""
    model, slots = trainer.model, trainer.slots
    examples = trainer.stream.gather(0, num)
    tokens, targets, task_types = (
        to_device(torch.from_numpy(part), slots.tokens.device).long() for part in examples
    )
    state = model.initial_state(num, tokens.shape[1], trainer.num_symbols, slots.state[0].dtype)
    return Piece(0, tokens, targets, task_types, state, torch.ones(num).long())


def gigabytes(num_bytes: int) -> str:
    """ "3.1 GB"."""
    return f"{num_bytes / 1e9:.1f} GB"
