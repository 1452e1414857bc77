"""The matrix products of a supervision step, counted: two operations a multiply-add, everything else left out.

Closed formulas from a model's settings. A weight's product costs 2·rows·in·out, attention 4·sequences·heads·S²·d (the
scores and their use); an application with gradient costs three times as much as one without.
"""

from dataclasses import dataclass

from serrm.models.se_rrm import NUM_SPECIAL
from serrm.models.settings import HrmSettings, ModelSettings, SequenceSettings, SeRrmSettings, TrmSettings


@dataclass(frozen=True)
class Work:
    """Operations a puzzle: of one application of a network, of the readout, and how many applications there are."""

    application: int
    readout: int
    num_applications: int
    num_with_gradient: int

    @property
    def evaluation(self) -> int:
        """Operations of a supervision step."""
        return self.num_applications * self.application + self.readout

    @property
    def training(self) -> int:
        """Operations of a training step: the backward pass costs twice the forward pass of what carries gradient."""
        return self.evaluation + 2 * (self.num_with_gradient * self.application + self.readout)


def count_work(settings: ModelSettings, num_positions: int, num_symbols: int) -> Work:
    """The work of a step on one puzzle of `num_positions` cells with an alphabet of `num_symbols`, pad included."""
    if isinstance(settings, SeRrmSettings):
        return _se_rrm(settings, num_positions, num_symbols)
    places = settings.prefix + num_positions
    application = settings.layers * (_mixer(settings, places) + _gated(places, settings.width, settings))
    readout = 2 * settings.width * (num_positions * num_symbols + 2)  # and the two halting logits
    of_cycle = settings.l_cycles + 1
    num_with_gradient = 2 if isinstance(settings, HrmSettings) else of_cycle
    return Work(application, readout, settings.h_cycles * of_cycle, num_with_gradient)


def _se_rrm(settings: SeRrmSettings, num_positions: int, num_symbols: int) -> Work:
    places, width = num_positions + settings.registers, settings.width
    planes = num_symbols - (NUM_SPECIAL if settings.planes == "usual" else 0)
    layer = (
        _attention(planes, places, width, settings.heads, settings.head_dim)
        + _attention(places, planes, width, settings.symbol_heads, settings.symbol_head_dim)
        + _gated(places * planes, width, settings)
    )
    of_position = planes * width * (1 if settings.symbols == "tied" else planes)
    num_updates = settings.h_cycles * settings.l_cycles
    return Work(settings.layers * layer, 2 * num_positions * of_position, num_updates, settings.l_cycles)


def _mixer(settings: SequenceSettings, places: int) -> int:
    if isinstance(settings, TrmSettings) and settings.mixer == "mlp":
        return _gated(settings.width, places, settings)
    return _attention(1, places, settings.width, settings.heads, settings.width // settings.heads)


def _attention(num_sequences: int, length: int, width: int, heads: int, head_dim: int) -> int:
    weights = 4 * width * heads * head_dim  # of queries, keys, values and output
    return num_sequences * length * (2 * weights + 4 * heads * length * head_dim)


def _gated(rows: int, width: int, settings: SeRrmSettings | SequenceSettings) -> int:
    return 2 * rows * 3 * width * settings.gates(width)
