"""HRM: a network for each of two states, the slow z_H and the fast z_L (the paper's first baseline).

What it is beside TRM: two networks, and gradient only through the last application of each.
"""

from serrm.models.layers import Rng
from serrm.models.recurrence import Z_H, Z_L, RecurrentModel, Schedule, Update
from serrm.models.sequence import SequenceReadout, TokenSequence, sequence_network
from serrm.models.settings import HrmSettings


def build_hrm(
    settings: HrmSettings, num_symbols: int, num_positions: int, generator: Rng = None
) -> RecurrentModel:
    """An HRM for an alphabet of `num_symbols`, pad included; any number of positions."""
    low = Update("low", target=Z_L, others=(Z_H,))
    high = Update("high", target=Z_H, others=(Z_L,), has_embedding=False)
    cycle = (low,) * settings.l_cycles + (high,)
    return RecurrentModel(
        embedding=TokenSequence(settings, num_symbols, generator),
        networks={name: sequence_network(settings, generator) for name in ("low", "high")},
        schedule=Schedule(cycle * settings.h_cycles, num_with_gradient=2),
        readout=SequenceReadout(settings, num_symbols, generator),
        width=settings.width,
        generator=generator,
    )
