"""Losses and optimisers as parts of a training: their settings, with what they do.

A part has the field `kind`, its name. Where it has no settings besides, the name alone stands for it in params files.
Only methods may import torch.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import model_serializer

from serrm.core.settings import Settings

if TYPE_CHECKING:
    from torch import Tensor

    from serrm.models.recurrence import RecurrentModel
    from serrm.training.settings import TrainSettings


Betas = tuple[float, float]


class Part(Settings):
    """A part of a training, written as its name alone where that says everything."""

    if TYPE_CHECKING:
        kind: str

    @model_serializer(mode="wrap")
    def _shortest(self, handler: Callable[[Any], Any]) -> Any:
        values = handler(self)
        return values["kind"] if values.keys() == {"kind"} else values


class LossSettings(Part):
    """Settings of a loss, an entry of LOSSES, and what it makes of logits."""

    def losses(self, logits: "Tensor", targets: "Tensor") -> "Tensor":
        """The loss of each puzzle, `B`, of logits `B I K` and targets `B I`; positions with target 0 do not count."""
        raise NotImplementedError

    def probabilities(self, logits: "Tensor") -> "Tensor":
        """The probabilities of the symbols, `... K`, by which guesses are weighed."""
        raise NotImplementedError

    def certainty(self, logits: "Tensor") -> "Tensor":
        """The certainty of each cell's prediction, `...`, by which equal votes and uncertain cells are told apart."""
        return self.probabilities(logits).amax(-1)


class OptimizerSettings(Part):
    """Settings of an optimiser, an entry of OPTIMIZERS, and what it does."""

    averages: ClassVar[bool] = False  # has weights to score of its own, so there is no EMA of them

    def build(self, model: "RecurrentModel", train: "TrainSettings") -> Any:
        """A torch.optim.Optimizer, or an object with its `param_groups`, `step`, `zero_grad` and state dicts.

        The training loop sets the learning rate before every step.
        """
        raise NotImplementedError

    def weights_to_score(self, optimizer: Any, parameters: "list[Tensor]") -> "list[Tensor]":
        """The weights to evaluate and share, in the order of the parameters, of an optimiser that averages."""
        raise NotImplementedError
