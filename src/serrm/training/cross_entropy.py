"""Stablemax cross-entropy, the loss of the paper, and the mean over labelled positions, which all losses use.

The settings that choose a loss are in `stablemax` and `softmax`.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

PAD = 0  # label of a position that is not scored


def mean_over_labels(losses: Float[Tensor, "B I"], targets: Int[Tensor, "B I"]) -> Float[Tensor, " B"]:
    """Average the losses of a puzzle's labelled positions."""
    is_labelled = targets != PAD
    return torch.where(is_labelled, losses, 0).sum(1) / is_labelled.sum(1).clamp(min=1)


def stablemax(logits: Float[Tensor, "... K"]) -> Float[Tensor, "... K"]:
    """s(x) = x + 1 for x ≥ 0 and 1/(1 − x) below: the weight a logit has before normalisation."""
    return torch.where(logits >= 0, logits.clamp(min=0) + 1, 1 / (1 - logits.clamp(max=0)))


def stablemax_cross_entropy(
    logits: Float[Tensor, "B I K"], targets: Int[Tensor, "B I"]
) -> Float[Tensor, " B"]:
    """Compute the loss per puzzle, −log of the target's stablemax probability, averaged over the labelled positions.

    It is accurate to a few units in the last place in float32: with s_t the target's weight and r the sum of the
    others, −log(s_t/(s_t + r)) = log1p(r/s_t) subtracts nothing.
    """
    weights = stablemax(logits.float())
    is_target = torch.nn.functional.one_hot(targets, logits.shape[-1]).bool()
    rest = weights.masked_fill(is_target, 0).sum(-1)
    target_weights = torch.where(targets != PAD, weights.masked_fill(~is_target, 0).sum(-1), 1)
    return mean_over_labels(torch.log1p(rest / target_weights), targets)
