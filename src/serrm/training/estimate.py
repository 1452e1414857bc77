"""Memory and time of a training run, logged before its first step from a short trial.

The trial takes steps on the first examples and drops their gradients: the numbers of the run are the same with and
without it. It compiles what will be compiled. A run that does not fit into memory is refused here.
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

PROCESS_BYTES = 600 * 2**20  # of a process with PyTorch, without a model
CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
ADVICE = "lower execution.micro_batch or train.batch_size"


def estimate(trainer: Trainer, num_steps: int) -> str:
    """Memory and time of `num_steps` in words. ValueError if the machine or the GPU has too little memory.

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
    """Bytes of one process: weights, EMA, gradients, two moments, task types, states, and activations."""
    model = trainer.model
    learned = sum(weight.nbytes for weight in model.parameters())
    states = sum(part.nbytes for part in trainer.slots.state)
    table = 0 if model.task_types is None else model.task_types.nbytes
    a_puzzle = kept_bytes(trainer, 2) - kept_bytes(trainer, 1)
    return PROCESS_BYTES + 5 * learned + table + states + trainer.num_at_once * a_puzzle


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
        try_step(trainer, num)
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
    """Seconds of the forward and backward passes of a step, on a CPU measured on part of the batch."""
    num = trial_size(trainer, seconds=0.5)
    try_step(trainer, num)
    taken = seconds_of(lambda: try_step(trainer, num), trainer.model.initial.device)
    return taken / num * len(trainer.slots.tokens)


def trial_size(trainer: Trainer, seconds: float) -> int:
    """Number of puzzles for a trial step: on a CPU as many as take `seconds`, compiled the number compiled for."""
    device, num = trainer.model.initial.device, trainer.num_at_once
    if device.type != "cpu" or runs_compiled(trainer.model, trainer.slots.state[0].dtype):
        return num
    of_one = max(1e-9, seconds_of(lambda: try_step(trainer, 1), device))
    return max(1, min(num, int(seconds / of_one)))


def try_step(trainer: Trainer, num: int) -> None:
    """A forward and backward pass as in training, on the first `num` examples; drops the gradients."""
    model, slots = trainer.model.train(), trainer.slots
    tokens, targets, task_types = (
        to_device(torch.from_numpy(part), slots.tokens.device).long()
        for part in trainer.stream.gather(0, num)
    )
    state = model.initial_state(num, tokens.shape[1], trainer.num_symbols, slots.state[0].dtype)
    try:
        trainer.supervision_step(Piece(0, tokens, targets, task_types, state, torch.ones(num).long()))
    finally:
        trainer.optimizer.zero_grad()


def gigabytes(num_bytes: int) -> str:
    """ "3.1 GB"."""
    return f"{num_bytes / 1e9:.1f} GB"
