"""TRM: one network updates both states; z_L takes z_H and the input, z_H takes z_L (the paper's second baseline).

What it is beside HRM: the same network for both states, gradient through a whole H cycle, a longer
prefix, and optionally an MLP over positions in place of attention.
"""

from torch import nn

from serrm.models.layers import Rng, SwiGLU
from serrm.models.recurrence import RecurrentModel, Residual, two_state_schedule
from serrm.models.sequence import (
    OverPlaces,
    SequenceReadout,
    TokenSequence,
    attention_over_positions,
    sequence_network,
)
from serrm.models.settings import SequenceSettings, TrmSettings


def build_trm(
    settings: TrmSettings, num_symbols: int, num_positions: int, generator: Rng = None
) -> RecurrentModel:
    """A TRM for an alphabet of `num_symbols` (pad included); the MLP form takes grids of `num_positions` only."""
    places = settings.prefix + num_positions
    only = num_positions if settings.mixer == "mlp" else None

    def mlp(settings: SequenceSettings, generator: Rng) -> nn.Module:
        return OverPlaces(Residual(SwiGLU(places, settings.gates(places), generator)))

    mixer = {"attention": attention_over_positions, "mlp": mlp}[settings.mixer]
    return RecurrentModel(
        embedding=TokenSequence(settings, num_symbols, generator, only),
        networks={"block": sequence_network(settings, generator, mixer)},
        schedule=two_state_schedule(settings.h_cycles, settings.l_cycles),
        readout=SequenceReadout(settings, num_symbols, generator),
        width=settings.width,
        generator=generator,
    )
