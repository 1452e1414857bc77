"""The memory and time of a run, estimated before its first step by trial steps whose gradients are dropped.

`TrainingRun` logs the estimate and refuses a run that does not fit; `serrm forecast` takes the time from here.
"""

import os
from contextlib import nullcontext
from pathlib import Path

import torch
from torch import Tensor

from serrm.core import devices
from serrm.core.progress import duration
from serrm.kernels.accelerate import reuse_memory, runs_compiled
from serrm.training.loop import Trainer
from serrm.training.slots import Piece, to_device

PROCESS_BYTES = 600 * 2**20  # memory of a process with PyTorch and no model
CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
ADVICE = "lower micro_batch in machine.yaml or train.batch_size"


def estimate(trainer: Trainer, num_steps: int) -> str:
    """Describe the memory and time of `num_steps` optimiser steps. ValueError if there is too little memory.

    The memory is that of all processes on this machine, or of one GPU.
    """
    device = trainer.model.initial.device
    total = total_memory(device)
    try:
        memory = memory_of(trainer) * (trainer.processes.num_local if device.type == "cpu" else 1)
        # What a GPU's kernels keep differs with the compiler, so only the trial can show it.
        if device.type == "cpu" and memory > total:
            needed = f"needs about {gigabytes(memory)}, this machine has {gigabytes(total)}"
            raise ValueError(f"{needed}: {ADVICE}")
        seconds = seconds_of_step(trainer)
    except torch.cuda.OutOfMemoryError as error:
        raise ValueError(
            f"does not fit into the {gigabytes(total)} of memory of {device}: {ADVICE}"
        ) from error
    whole = duration(num_steps * seconds)
    return f"{gigabytes(memory)} and {seconds:.2g} s per step: {whole} for {num_steps:,} steps"


def memory_of(trainer: Trainer) -> int:
    """Bytes that one process needs for weights, EMA, gradients, two moments, task types, states, and activations."""
    model = trainer.model
    learned = sum(weight.nbytes for weight in model.parameters())
    states = sum(part.nbytes for part in trainer.slots.state)
    table = 0 if model.task_types is None else model.task_types.nbytes
    per_puzzle = kept_bytes(trainer, 2) - kept_bytes(trainer, 1)
    return PROCESS_BYTES + 5 * learned + table + states + trainer.num_at_once * per_puzzle


def kept_bytes(trainer: Trainer, num: int) -> int:
    """Bytes that a supervision step of `num` puzzles keeps for its backward pass, uncompiled.

    Autograd reports the tensors it keeps. Resident memory would not do: it shows the largest step so far, and the
    growth between two small steps depends on malloc.
    """
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
    """Bytes of the GPU, or those of the machine that this process may use."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[1]
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for name in CGROUP_LIMITS:
        text = Path(name).read_text().strip() if Path(name).is_file() else ""
        limits += [int(text)] if text.isdigit() else []
    return min(limits)


def seconds_of_step(trainer: Trainer) -> float:
    """Seconds of an optimiser step's forward and backward passes; a CPU is timed on part of the batch."""
    num = trial_size(trainer, seconds=0.5)
    # CUDA graphs are recorded in the second step and replayed from the third on.
    for _ in range(2 if runs_compiled(trainer.model, trainer.slots.state[0].dtype) else 1):
        try_step(trainer, num)
    seconds = devices.seconds_of(lambda: try_step(trainer, num), trainer.model.initial.device)
    return seconds / num * len(trainer.slots.tokens)


def trial_size(trainer: Trainer, seconds: float) -> int:
    """Number of puzzles in a trial step: as many as take `seconds` on a CPU, or all that go through the model at once.

    A GPU and a compiled network always get all of them.
    """
    device, num = trainer.model.initial.device, trainer.num_at_once
    if device.type != "cpu" or runs_compiled(trainer.model, trainer.slots.state[0].dtype):
        return num
    seconds_of_one = max(1e-9, devices.seconds_of(lambda: try_step(trainer, 1), device))
    return max(1, min(num, int(seconds / seconds_of_one)))


def try_step(trainer: Trainer, num: int) -> None:
    """Take a forward and backward pass as in training on the first `num` examples, and drop the gradients."""
    model, slots = trainer.model.train(), trainer.slots
    tokens, targets, task_types = (
        to_device(torch.from_numpy(part), slots.tokens.device).long()
        for part in trainer.stream.gather(0, num)
    )
    state = model.initial_state(num, tokens.shape[1], trainer.stream.num_symbols, slots.state[0].dtype)
    reuse_memory(model)
    try:
        trainer.forward_backward(Piece(0, tokens, targets, task_types, state, torch.ones(num).long()))
    finally:
        trainer.optimizer.zero_grad()


def gigabytes(num_bytes: int) -> str:
    """Format a number of bytes, such as "3.1 GB"."""
    return f"{num_bytes / 1e9:.1f} GB"
