"""What a supervision step costs: matrix products, two operations a multiply-add, everything else left out.

Closed formulas from settings, without torch, so that training, benchmarks and forecasts say the same number. A weight's
product costs 2·rows·in·out, attention 4·rows·heads·S·d (the scores and their use); what carries gradient costs three
times as much as what does not.
"""

from dataclasses import dataclass

from serrm.models.settings import HaltingSettings, ModelSettings, QLearning, SeRrmSettings
from serrm.models.sizes import num_applications, sublayers


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
    parts = sublayers(settings, num_positions, num_symbols)
    application = settings.layers * sum(part.operations for part in parts)
    if isinstance(settings, SeRrmSettings):
        planes = settings.num_planes(num_symbols)
        num_outputs, halting = planes * (1 if settings.symbols == "tied" else planes), 0
    else:
        num_outputs, halting = num_symbols, 2 * settings.width * 2
    readout = 2 * settings.width * num_positions * num_outputs
    return Work(application, readout, halting, *num_applications(settings))
