"""Trial steps, whose gradients are dropped: the warm-up of CUDA graphs, and what a forecast measures."""

import torch

from serrm.kernels.accelerate import reuse_memory, runs_compiled
from serrm.training.loop import Trainer
from serrm.training.slots import Piece, to_device

NUM_RECORDING_STEPS = 3  # CUDA graphs are recorded in the second step and replayed from the third on


def warm_up(trainer: Trainer) -> None:
    """Compile and record the CUDA graphs of a compiled network, so that its first step runs as all later ones."""
    if runs_compiled(trainer.model, trainer.slots.state[0].dtype):
        for _ in range(NUM_RECORDING_STEPS):
            try_step(trainer, trainer.num_at_once)


def try_step(trainer: Trainer, num: int) -> None:
    """Take a forward and backward pass as in training on the first `num` examples, and drop the gradients."""
    model, slots = trainer.model.train(), trainer.slots
    tokens, targets, task_types = (
        to_device(torch.from_numpy(array), slots.tokens.device).long()
        for array in trainer.stream.gather(0, num)
    )
    state = model.initial_state(num, tokens.shape[1], trainer.stream.num_symbols, slots.state[0].dtype)
    reuse_memory(model)
    try:
        trainer.forward_backward(Piece(0, tokens, targets, task_types, state, torch.ones(num).long()))
    finally:
        trainer.optimizer.zero_grad()
