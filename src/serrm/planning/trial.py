"""The rate of this machine and the memory of a run, measured by a few training steps of it on random puzzles."""

import logging
import os
from dataclasses import replace
from time import process_time

import torch
from torch import Tensor

from serrm.arrays.stream import random_stream
from serrm.core.devices import prepare_device, seconds_of
from serrm.core.execution import Execution
from serrm.core.resources import usable_memory
from serrm.kernels.accelerate import accelerate
from serrm.kernels.precision import resolved_precision
from serrm.puzzles.tasks import alphabet
from serrm.training.loop import Trainer
from serrm.training.run import build_run_model
from serrm.training.settings import RunSettings
from serrm.training.trial import try_step

MAX_BATCH = 32  # puzzles per batch in the trials
NUM_TRIALS, TRIAL_SECONDS = 5, 0.2
PROCESS_BYTES = 600 * 2**20  # memory of a process with PyTorch and no model

log = logging.getLogger(__name__)


def open_trial(run: RunSettings, side: int, execution: Execution) -> Trainer:
    """Build the trainer of a run with small batches of random puzzles, not compiled, as compiling takes long."""
    device = prepare_device(execution.device, execution.threads)
    settings = run.train.model_copy(
        update={
            "precision": resolved_precision(run.train.precision, device),
            "batch_size": min(run.train.batch_size, MAX_BATCH),
        }
    )
    tokens = alphabet(run.task, side)
    stream = replace(random_stream(side, tokens.num_symbols), num_special=len(tokens.special))
    model = build_run_model(run, stream).to(device).train()
    accelerate(model, allows_native=execution.native)
    return Trainer(model, stream, settings, run.seed, micro_batch=execution.micro_batch)


def seconds_of_puzzle(trainer: Trainer) -> float:
    """Time a training step per puzzle, by the best of some trials.

    On a CPU they are the process's own seconds per thread, which do not count those of other processes; a busy machine
    is logged.
    """
    load, processors = os.getloadavg()[0], os.cpu_count() or 1
    if load > processors / 2:
        busy = f"this machine is busy (load average {load:.1f}, {processors} processors)"
        log.warning(f"{busy}: the forecast is that of an idle one")
    device = trainer.model.initial.device
    # The first step allocates memory and loads kernels, and other processes may interrupt one.
    num = max(_num_of_trial(trainer) for _ in range(NUM_TRIALS))

    def trial() -> float:
        if device.type != "cpu":
            return seconds_of(lambda: try_step(trainer, num), device)
        start = process_time()
        try_step(trainer, num)
        return (process_time() - start) / torch.get_num_threads()

    return min(trial() for _ in range(NUM_TRIALS)) / num


def _num_of_trial(trainer: Trainer) -> int:
    """Count the puzzles in a trial step: as many as take some time on a CPU, the whole batch on a GPU."""
    device, num = trainer.model.initial.device, trainer.num_at_once
    if device.type != "cpu":
        return num
    seconds_of_one = max(1e-9, seconds_of(lambda: try_step(trainer, 1), device))
    return max(1, min(num, int(TRIAL_SECONDS / seconds_of_one)))


def check_memory(trainer: Trainer, run: RunSettings, micro_batch: int | None) -> None:
    """Log a warning if a run needs more memory than this machine has; a GPU's kernels show theirs only in training."""
    if trainer.model.initial.device.type != "cpu":
        return
    needed, total = memory_of(trainer, run.train.batch_size, micro_batch), usable_memory()
    if needed > total:
        sizes = f"needs about {needed / 1e9:.1f} GB, this machine has {total / 1e9:.1f} GB"
        log.warning(f"{run.name} {sizes}: lower micro_batch in machine.yaml or train.batch_size")


def memory_of(trainer: Trainer, batch_size: int, micro_batch: int | None) -> int:
    """Count the bytes of a training: weights, EMA, gradients, two moments, task types, states, and activations."""
    model, slots = trainer.model, trainer.slots
    learned = sum(weight.nbytes for weight in model.parameters())
    states = sum(state.nbytes for state in slots.state) // len(slots.tokens) * batch_size
    table = 0 if model.task_types is None else model.task_types.nbytes
    puzzle = _activations(trainer, 2) - _activations(trainer, 1)
    return PROCESS_BYTES + 5 * learned + table + states + min(batch_size, micro_batch or batch_size) * puzzle


def _activations(trainer: Trainer, num: int) -> int:
    """Count the bytes that a supervision step of `num` puzzles keeps for its backward pass.

    Autograd reports the tensors it keeps. Resident memory would not do: it shows the largest step so far, and the
    growth between two small steps depends on malloc.
    """
    sizes: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        try_step(trainer, num)
    return sum(sizes.values())
