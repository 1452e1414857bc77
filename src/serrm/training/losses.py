"""The losses by name. Their functions of logits import torch when they are called (`cross_entropy`).

A custom loss is a separate module and an entry here, so that adding it trains no other run again
(docs/decisions/021-code-by-hash.md).
"""

from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import Field, SerializeAsAny

from serrm.core.entries import Entries
from serrm.core.settings import EntryOf, NamedSettings

if TYPE_CHECKING:
    from torch import Tensor


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


class Stablemax(LossSettings):
    """The loss of the paper: cross-entropy of probabilities by stablemax.

    Certainty is by softmax, as in the vote of SE-RRM's published code on ARC-AGI.
    """

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


LOSSES: Final = Entries[type[LossSettings]](
    {
        "stablemax": Stablemax,
        "softmax": Softmax,
    }
)

Loss = Annotated[SerializeAsAny[LossSettings], EntryOf(LOSSES)]
