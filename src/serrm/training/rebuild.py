"""A training's state without what can be made again, for moving it: what is left behind, and how it comes back.

The average is what `model.safetensors` holds, to the bit. The recurrent states of the slots, most of a state at the
paper's size, are rebuilt: every slot takes as many supervision steps as it had, without gradient. Their weights are
those of now, not of then, so a training that goes on so is not that of one never stopped, bit for bit.
"""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from serrm.training.checkpoint import read_weights
from serrm.training.loop import Trainer
from serrm.training.slots import seed_dropout, to_device

log = logging.getLogger(__name__)
BYTES = ("tokens", "targets")  # of slots, never above 255


def lightened(state: Mapping[str, Any]) -> dict[str, Any]:
    """The state of a training without average and recurrent states, tokens in a byte each; twice changes nothing."""
    slots = {name: value for name, value in state["slots"].items() if name != "state"}
    small = {name: slots[name].to(torch.uint8) for name in BYTES}
    return {name: value for name, value in state.items() if name != "average"} | {"slots": slots | small}


def resume(trainer: Trainer, state: dict[str, Any], checkpoint: Path) -> None:
    """Go on from the state of a checkpoint, making again what it was lightened of.

    All processes have to do it together.
    """
    if "average" in state:
        trainer.load_state_dict(state)
        return
    trainer.load_state_dict(_completed(trainer, state, read_weights(checkpoint)))
    num_steps = rebuild_states(trainer)
    log.warning(
        "the states of the slots were not carried here: rebuilt by up to %d supervision steps with the weights of "
        "now, so what follows is not bit for bit what it would have been",
        num_steps,
    )


def _completed(trainer: Trainer, state: dict[str, Any], averaged: Mapping[str, Tensor]) -> dict[str, Any]:
    """The state with its average, and all B slots in the initial state."""
    model, slots = trainer.model, state["slots"]
    names = [name for name, parameter in model.named_parameters() if parameter.numel()]
    tokens = {name: slots[name].long() for name in BYTES}
    num, num_positions = slots["tokens"].shape
    initial = model.initial_state(num, num_positions, trainer.num_symbols, trainer.slots.state[0].dtype)
    return state | {
        "average": [averaged[name] for name in names],
        "slots": slots | tokens | {"state": list(initial)},
    }


@torch.no_grad()
def rebuild_states(trainer: Trainer) -> int:
    """Bring every slot from the initial state to its depth; returns the most supervision steps any of them took.

    Step by step as the training did, oldest first, so that dropout's masks are those of then.
    """
    model, slots = trainer.model, trainer.slots
    depths = torch.where(slots.is_halted, 0, slots.num_steps)  # who halted begins anew
    most = int(depths.max())
    model.train()
    for age in range(most, 0, -1):
        for piece in slots.pieces(trainer.micro_batch):
            seed_dropout(trainer.seed, trainer.step - age, piece.first)
            new = model(piece.state, piece.tokens, model.task_vectors(piece.task_types)).state
            was_there = depths[piece.first : piece.first + len(piece.tokens)] >= age
            slots.go_on(piece, _chosen(to_device(was_there, piece.tokens.device), new, piece.state))
    return most


def _chosen(is_new: Tensor, new: tuple[Tensor, ...], old: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """The new state of the slots marked, the old one of the others."""
    return tuple(
        torch.where(is_new.view(-1, *[1] * (after.dim() - 1)), after, before)
        for after, before in zip(new, old, strict=True)
    )
