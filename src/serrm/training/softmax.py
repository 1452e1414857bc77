"""Plain cross-entropy, of probabilities by softmax, also with smoothed labels. (Not in the paper.)"""

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from serrm.training.base import LossSettings

if TYPE_CHECKING:
    from torch import Tensor


class Softmax(LossSettings):
    """Softmax cross-entropy, rounded from float64, so that its bits do not depend on the processor.

    Smoothed labels are those of Szegedy et al. 2016 ("Rethinking the Inception architecture", arXiv:1512.00567).
    """

    kind: Literal["softmax"] = "softmax"
    smoothing: float = Field(default=0.0, ge=0, lt=1)
    """`softmax`: share of a label that is spread evenly over the symbols that the model can predict."""

    def losses(self, logits: "Tensor", targets: "Tensor") -> "Tensor":
        """−log of the target's softmax probability, averaged over the labelled positions; labels may be smoothed."""
        import torch
        from torch.nn import functional

        from serrm.training.cross_entropy import PAD, mean_over_labels

        cells = logits.double().transpose(1, 2)
        losses = functional.cross_entropy(cells, targets, reduction="none", ignore_index=PAD)
        if self.smoothing:
            logs, is_possible = cells.log_softmax(1), cells.isfinite()
            means = torch.where(is_possible, logs, 0).sum(1) / is_possible.sum(1)
            losses = (1 - self.smoothing) * losses - self.smoothing * means
        return mean_over_labels(losses.float(), targets)

    def probabilities(self, logits: "Tensor") -> "Tensor":
        """The softmax of the logits."""
        return logits.double().softmax(-1).float()
