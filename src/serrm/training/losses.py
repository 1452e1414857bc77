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

    from serrm.models.recurrence import SupervisionStep


class LossSettings(NamedSettings):
    """Settings of a loss, an entry of LOSSES, and its functions of logits."""

    def losses(self, step: "SupervisionStep") -> "Tensor":
        """Compute the loss of each puzzle, `b`, of a supervision step with logits `b I K` and targets `b I`.

        Positions with target 0 do not count.
        """
        raise NotImplementedError

    def probabilities(self, logits: "Tensor") -> "Tensor":
        """Compute the probabilities of the symbols, `... K`, which weigh guesses."""
        raise NotImplementedError

    def certainty(self, logits: "Tensor") -> "Tensor":
        """Compute the certainty of each cell, `...`, which orders equal votes and marks uncertain cells."""
        return self.probabilities(logits).amax(-1)


class StablemaxProbabilities(LossSettings):
    """The probabilities of the paper's loss, by stablemax.

    Certainty is by softmax, as in the vote of SE-RRM's published code on ARC-AGI.
    """

    def probabilities(self, logits: "Tensor") -> "Tensor":
        """Normalise the stablemax weights."""
        from serrm.training.cross_entropy import stablemax

        weights = stablemax(logits.float())
        return weights / weights.sum(-1, keepdim=True)

    def certainty(self, logits: "Tensor") -> "Tensor":
        """Compute the largest softmax probability.

        It is rounded from float64, so that the bits do not depend on the processor
        (docs/decisions/022-same-numbers.md).
        """
        return logits.double().softmax(-1).amax(-1).float()


class Stablemax(StablemaxProbabilities):
    """The loss of the paper: cross-entropy of probabilities by stablemax."""

    kind: Literal["stablemax"] = "stablemax"

    def losses(self, step: "SupervisionStep") -> "Tensor":
        """Compute −log of the target's stablemax probability, averaged over the labelled positions."""
        from serrm.training.cross_entropy import stablemax_cross_entropy

        return stablemax_cross_entropy(step.output.logits, step.targets)


class Winner(StablemaxProbabilities):
    """The loss of each puzzle's best start alone: winner-take-all (Dillon 2026, arXiv:2601.19085).

    With `model.starts` above 1. The paper scores a single start; here the most certain start answers.
    """

    kind: Literal["winner"] = "winner"

    def losses(self, step: "SupervisionStep") -> "Tensor":
        """Compute the least stablemax cross-entropy of a puzzle's starts."""
        from serrm.training.cross_entropy import stablemax_cross_entropy

        starts = step.output.logits[:, None] if step.output.starts is None else step.output.starts
        targets = step.targets.repeat_interleave(starts.shape[1], 0)
        return stablemax_cross_entropy(starts.flatten(0, 1), targets).view(starts.shape[:2]).amin(1)


class Elimination(LossSettings):
    """Every symbol of a cell is judged by itself, kept or eliminated (Davis et al. 2026, arXiv:2605.08605).

    Only the supervision of lattice deduction transformers, by sigmoids of the logits, with a share of cross-entropy.
    """

    kind: Literal["elimination"] = "elimination"
    cross_entropy: float = Field(default=0.2, ge=0)
    """`elimination`: weight of the softmax cross-entropy that is added."""

    def losses(self, step: "SupervisionStep") -> "Tensor":
        """Average the binary cross-entropy over the symbols that can be predicted and the labelled cells."""
        import torch
        from torch.nn import functional

        from serrm.training.cross_entropy import mean_over_labels

        logits, targets = step.output.logits.double(), step.targets
        is_possible, is_target = logits.isfinite(), functional.one_hot(targets, logits.shape[-1])
        possible = torch.where(is_possible, logits, 0)
        cells = functional.binary_cross_entropy_with_logits(possible, is_target.double(), reduction="none")
        means = torch.where(is_possible, cells, 0).sum(-1) / is_possible.sum(-1)
        whole = functional.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
        return mean_over_labels((means + self.cross_entropy * whole).float(), targets)

    def probabilities(self, logits: "Tensor") -> "Tensor":
        """Normalise the sigmoids of the logits."""
        sigmoids = logits.double().sigmoid()
        return (sigmoids / sigmoids.sum(-1, keepdim=True)).float()


class Softmax(LossSettings):
    """Softmax cross-entropy, rounded from float64, so that its bits do not depend on the processor.

    Smoothed labels are those of Szegedy et al. 2016 ("Rethinking the Inception architecture", arXiv:1512.00567).
    """

    kind: Literal["softmax"] = "softmax"
    smoothing: float = Field(default=0.0, ge=0, lt=1)
    """`softmax`: share of a label that is spread evenly over the symbols that the model can predict."""

    def losses(self, step: "SupervisionStep") -> "Tensor":
        """Compute −log of the target's softmax probability, averaged over labelled positions, with smoothed labels."""
        import torch
        from torch.nn import functional

        from serrm.training.cross_entropy import PAD, mean_over_labels

        targets = step.targets
        cells = step.output.logits.double().transpose(1, 2)
        losses = functional.cross_entropy(cells, targets, reduction="none", ignore_index=PAD)
        if self.smoothing:
            logs, is_possible = cells.log_softmax(1), cells.isfinite()
            means = torch.where(is_possible, logs, 0).sum(1) / is_possible.sum(1)
            losses = (1 - self.smoothing) * losses - self.smoothing * means
        return mean_over_labels(losses.float(), targets)

    def probabilities(self, logits: "Tensor") -> "Tensor":
        """Compute the softmax of the logits."""
        return logits.double().softmax(-1).float()


LOSSES: Final = Entries[type[LossSettings]](
    {
        "stablemax": Stablemax,
        "softmax": Softmax,
        "winner": Winner,
        "elimination": Elimination,
    }
)

Loss = Annotated[SerializeAsAny[LossSettings], EntryOf(LOSSES)]
