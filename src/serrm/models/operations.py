"""What a supervision step costs: matrix products, two operations a multiply-add, everything else left out.

Closed formulas from settings, without torch, so that training, benchmarks and forecasts say the same number. A weight's
product costs 2·rows·in·out, attention 4·sequences·heads·S²·d (the scores and their use); what carries gradient costs
three times as much as what does not.
"""

from dataclasses import dataclass

from serrm.models.settings import (
    GatedSettings,
    HaltingSettings,
    HrmSettings,
    ModelSettings,
    QLearning,
    SequenceSettings,
    SeRrmSettings,
    TrmSettings,
)


@dataclass(frozen=True)
class Work:
    """Operations a puzzle: of one application of a network and of the readouts, and how many applications there are."""

    application: int
    readout: int  # of the logits
    halting: int  # of the two halting logits; 0 for a model without
    num_applications: int
    num_with_gradient: int

    @property
    def evaluation(self) -> int:
        """Operations of a supervision step that only predicts."""
        return self.num_applications * self.application + self.readout + self.halting

    def training(self, halting: HaltingSettings) -> int:
        """Operations of a training step: twice as many again for the backward pass of what is learned.

        HRM's bootstrapped target is the next step's prediction, so a whole step more without gradient.
        """
        learns_halting = isinstance(halting, QLearning)
        learned = self.num_with_gradient * self.application + self.readout + learns_halting * self.halting
        num_predicted = 2 if isinstance(halting, QLearning) and halting.bootstrap else 1
        return num_predicted * self.evaluation + 2 * learned


def count_work(settings: ModelSettings, num_positions: int, num_symbols: int) -> Work:
    """The work of a step on one puzzle of `num_positions` cells with an alphabet of `num_symbols`, pad included."""
    if isinstance(settings, SeRrmSettings):
        return _se_rrm(settings, num_positions, num_symbols)
    places, width = settings.prefix + num_positions, settings.width
    application = settings.layers * (_mixer(settings, places) + _gated(places, width, settings))
    of_cycle = settings.l_cycles + 1
    num_with_gradient = 2 if isinstance(settings, HrmSettings) else of_cycle
    readout, halting = 2 * width * num_positions * num_symbols, 2 * width * 2
    return Work(application, readout, halting, settings.h_cycles * of_cycle, num_with_gradient)


def _se_rrm(settings: SeRrmSettings, num_positions: int, num_symbols: int) -> Work:
    places, width = num_positions + settings.registers, settings.width
    planes = settings.num_planes(num_symbols)
    layer = (
        _attention(planes, places, width, settings.heads, settings.head_dim)
        + _attention(places, planes, width, settings.symbol_heads, settings.symbol_head_dim)
        + _gated(places * planes, width, settings)
    )
    of_position = planes * width * (1 if settings.symbols == "tied" else planes)
    of_cycle = settings.l_cycles + (settings.states == "two")
    return Work(
        settings.layers * layer, 2 * num_positions * of_position, 0, settings.h_cycles * of_cycle, of_cycle
    )


def _mixer(settings: SequenceSettings, places: int) -> int:
    if isinstance(settings, TrmSettings) and settings.mixer == "mlp":
        return _gated(settings.width, places, settings)
    return _attention(1, places, settings.width, settings.heads, settings.width // settings.heads)


def _attention(num_sequences: int, length: int, width: int, heads: int, head_dim: int) -> int:
    weights = 4 * width * heads * head_dim  # of queries, keys, values and output
    return num_sequences * length * (2 * weights + 4 * heads * length * head_dim)


def _gated(rows: int, width: int, settings: GatedSettings) -> int:
    return 2 * rows * 3 * width * settings.gates(width)
