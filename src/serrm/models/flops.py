"""Counts the FLOPs of a model's supervision step on one puzzle from its settings.

An optimiser step is a supervision step of B puzzles, so it has B times the FLOPs.
"""

from collections.abc import Callable
from functools import cache, partial

import torch
from torch.utils.flop_counter import FlopCounterMode

from serrm.models.families import ModelSettings
from serrm.models.halting import HaltingSettings
from serrm.models.settings import ModelSizes


@cache
def flops(settings: ModelSettings, sizes: ModelSizes, halting: HaltingSettings | None = None) -> int:
    """Count the FLOPs of a supervision step on one puzzle of `num_positions` cells.

    PyTorch counts the FLOPs of matrix products, two per multiply-add, on a model without numbers (device meta). All
    other operations and the optimiser are left out. Without `halting` these are the FLOPs of a prediction.
    With `halting` they are those of a step in training, which also has the backward pass through the updates that carry
    gradient, the halting logits if they are learned, and the predictions that the rule's loss makes, as HRM's
    bootstrapped target does.
    """
    with torch.device("meta"):
        model = settings.build(sizes, None).eval()  # as no layer is left out at random then
        tokens = torch.zeros(model.num_starts, sizes.num_positions, dtype=torch.long)
    state = model.initial_state(1, sizes.num_positions, sizes.num_symbols)[0]
    state = (state.flatten(0, 1) if model.num_starts > 1 else state).requires_grad_()
    embedding, rotation = model.embedding(state, tokens, None)
    networks = model.networks.items()
    flops_of = {name: _counted(partial(network, state, embedding, rotation)) for name, network in networks}
    applications = [flops_of[update.network] for update in model.schedule.updates]
    prediction = sum(applications) + _counted(partial(model.readout, state))
    if halting is None:
        return prediction
    logits, halting_logits = model.readout(state)
    learned = logits.sum() + halting_logits.sum() if halting.needs_q_head else logits.sum()
    # The backward pass of a product takes two products of its size.
    backward = 2 * sum(applications[-model.schedule.num_with_gradient :]) + _counted(learned.backward)
    return (1 + halting.num_predictions) * prediction + backward


def _counted(call: Callable[[], object]) -> int:
    with FlopCounterMode(display=False) as counter:
        call()
    return int(counter.get_total_flops())
