"""FLOPs of a supervision step, counted by PyTorch on a model without numbers (device meta).

They are those of matrix products, two a multiply-add; everything else is left out, as is what an optimiser does.
"""

from collections.abc import Callable
from functools import cache, partial

import torch
from torch.utils.flop_counter import FlopCounterMode

from serrm.models.registry import build_model
from serrm.models.settings import HaltingSettings, ModelSettings, QLearning


@cache
def flops(
    settings: ModelSettings, num_positions: int, num_symbols: int, halting: HaltingSettings | None = None
) -> int:
    """FLOPs of a step on one puzzle of `num_positions` cells with an alphabet of `num_symbols`, pad included.

    Without `halting` it only predicts. With it, it trains: backward too through what carries gradient, the halting
    logits where they are learned, and HRM's bootstrapped target, which is the next step's prediction.
    """
    with torch.device("meta"):
        model = build_model(settings, num_symbols, num_positions=num_positions)
        tokens = torch.zeros(1, num_positions, dtype=torch.long)
    state = model.initial_state(1, num_positions, num_symbols)[0].requires_grad_()
    embedding, rotation = model.embedding(state, tokens, None)
    networks = model.networks.items()
    of_network = {name: _counted(partial(network, state, embedding, rotation)) for name, network in networks}
    applications = [of_network[update.network] for update in model.schedule.updates]
    prediction = sum(applications) + _counted(partial(model.readout, state))
    if halting is None:
        return prediction
    logits, halting_logits = model.readout(state)
    learned = logits.sum() + halting_logits.sum() if isinstance(halting, QLearning) else logits.sum()
    # The backward pass of a product is two products of its size.
    backward = 2 * sum(applications[-model.schedule.num_with_gradient :]) + _counted(learned.backward)
    return (2 if isinstance(halting, QLearning) and halting.bootstrap else 1) * prediction + backward


def _counted(work: Callable[[], object]) -> int:
    with FlopCounterMode(display=False) as counter:
        work()
    return int(counter.get_total_flops())
