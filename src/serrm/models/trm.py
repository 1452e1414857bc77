"""TRM: one network updates both states; z_L takes z_H and the input, z_H takes z_L (SPEC 2.2 of the paper's baseline).

What it is beside HRM: the same network for both states, gradient through a whole H cycle, a longer
prefix, and optionally an MLP over positions in place of attention.
"""

import torch

from serrm.models.layers import SwiGLU
from serrm.models.recurrence import RecurrentModel, Residual, Schedule, Update
from serrm.models.sequence import (
    Z_H,
    Z_L,
    OverPlaces,
    SequenceReadout,
    TokenSequence,
    attention_over_positions,
    sequence_network,
)
from serrm.models.settings import TrmSettings


def build_trm(
    settings: TrmSettings, num_symbols: int, num_positions: int, generator: torch.Generator | None = None
) -> RecurrentModel:
    """A TRM for an alphabet of `num_symbols` (pad included); the MLP form takes grids of `num_positions` only."""
    places = settings.prefix + num_positions
    mixers = {
        "attention": attention_over_positions(settings, generator),
        "mlp": lambda: OverPlaces(Residual(SwiGLU(places, settings.expansion, generator)), places),
    }
    low = Update("block", target=Z_L, others=(Z_H,))
    high = Update("block", target=Z_H, others=(Z_L,), has_embedding=False)
    cycle = (low,) * settings.l_cycles + (high,)
    return RecurrentModel(
        embedding=TokenSequence(settings, num_symbols, generator),
        networks={"block": sequence_network(settings, mixers[settings.mixer], generator)},
        schedule=Schedule(cycle * settings.h_cycles, num_with_gradient=len(cycle)),
        readout=SequenceReadout(settings, num_symbols, generator),
        width=settings.width,
        num_states=2,
        generator=generator,
    )
