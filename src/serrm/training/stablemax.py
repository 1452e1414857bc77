"""The loss of the paper: cross-entropy of probabilities by stablemax. Its functions, in `cross_entropy`, need torch."""

from typing import TYPE_CHECKING, Literal

from serrm.training.base import LossSettings

if TYPE_CHECKING:
    from torch import Tensor


class Stablemax(LossSettings):
    """Stablemax cross-entropy. Certainty is by softmax, as in the vote of SE-RRM's published code on ARC-AGI."""

    kind: Literal["stablemax"] = "stablemax"

    def losses(self, logits: "Tensor", targets: "Tensor") -> "Tensor":
        """−log of the target's stablemax probability, averaged over the labelled positions."""
        from serrm.training.cross_entropy import stablemax_cross_entropy

        return stablemax_cross_entropy(logits, targets)

    def probabilities(self, logits: "Tensor") -> "Tensor":
        """The stablemax weights, normalised."""
        from serrm.training.cross_entropy import stablemax

        weights = stablemax(logits.float())
        return weights / weights.sum(-1, keepdim=True)

    def certainty(self, logits: "Tensor") -> "Tensor":
        """The largest softmax probability.

        It is rounded from float64, so that the bits do not depend on the processor
        (docs/decisions/022-same-numbers.md).
        """
        return logits.double().softmax(-1).amax(-1).float()
