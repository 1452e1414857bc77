"""Plain cross-entropy, of probabilities by softmax. (Not in the paper.)"""

from typing import TYPE_CHECKING, Literal

from serrm.training.base import LossSettings

if TYPE_CHECKING:
    from torch import Tensor


class Softmax(LossSettings):
    """Softmax cross-entropy, rounded from float64, so that its bits do not depend on the processor."""

    kind: Literal["softmax"] = "softmax"

    def losses(self, logits: "Tensor", targets: "Tensor") -> "Tensor":
        """−log of the target's softmax probability, averaged over the labelled positions."""
        from torch.nn import functional

        from serrm.training.cross_entropy import PAD, mean_over_labels

        cells = logits.double().transpose(1, 2)
        losses = functional.cross_entropy(cells, targets, reduction="none", ignore_index=PAD)
        return mean_over_labels(losses.float(), targets)

    def probabilities(self, logits: "Tensor") -> "Tensor":
        """The softmax of the logits."""
        return logits.double().softmax(-1).float()
