"""Base classes of losses and optimisers: their settings, with the methods that training calls.

The field `kind` is the name. In params files the name alone stands for settings without further values. Only methods
may import torch.
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


class NamedSettings(Settings):
    """Settings of a loss or an optimiser, written as the name alone where there are no other values."""

    if TYPE_CHECKING:
        kind: str

    @model_serializer(mode="wrap")
    def _shortest(self, handler: Callable[[Any], Any]) -> Any:
        values = handler(self)
        return values["kind"] if values.keys() == {"kind"} else values


class LossSettings(NamedSettings):
    """Settings of a loss, an entry of LOSSES, and its functions of logits."""

    def losses(self, logits: "Tensor", targets: "Tensor") -> "Tensor":
        """The loss of each puzzle, `B`, of logits `B I K` and targets `B I`; positions with target 0 do not count."""
        raise NotImplementedError

    def probabilities(self, logits: "Tensor") -> "Tensor":
        """The probabilities of the symbols, `... K`, which weigh guesses."""
        raise NotImplementedError

    def certainty(self, logits: "Tensor") -> "Tensor":
        """The certainty of each cell's prediction, `...`, which orders equal votes and marks uncertain cells."""
        return self.probabilities(logits).amax(-1)


class OptimizerSettings(NamedSettings):
    """Settings of an optimiser, an entry of OPTIMIZERS, and its construction."""

    # For custom optimisers (docs/howto.md): True if they compute the weights to score, in place of the EMA.
    averages: ClassVar[bool] = False

    def build(self, model: "RecurrentModel", train: "TrainSettings") -> Any:
        """A torch.optim.Optimizer, or an object with its `param_groups`, `step`, `zero_grad` and state dicts.

        The training loop sets the learning rate before every step.
        """
        raise NotImplementedError

    def product_flops(self, model: "RecurrentModel") -> int:
        """FLOPs of the matrix products of one step, two per multiply-add; 0 if there are none."""
        return 0

    def weights_to_score(self, optimizer: Any, parameters: "list[Tensor]") -> "list[Tensor]":
        """The weights to evaluate and share, in the order of the parameters, by an optimiser that averages."""
        raise NotImplementedError


def trained_parameters(model: "RecurrentModel") -> "list[Tensor]":
    """The parameters that an optimiser updates, in the order of the model.

    Empty ones, such as SE-RRM's registers where it has none, are left out.
    """
    return [p for p in model.parameters() if p.numel()]
