"""Stablemax cross-entropy (Prieto et al. 2025), as HRM, TRM and SE-RRM train with it."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

PAD = 0  # label of a position that does not count


def stablemax(logits: Float[Tensor, "... K"]) -> Float[Tensor, "... K"]:
    """s(x) = x + 1 for x ≥ 0 and 1/(1 − x) below: the weight a logit has before normalisation."""
    return torch.where(logits >= 0, logits.clamp(min=0) + 1, 1 / (1 - logits.clamp(max=0)))


def solved(logits: Float[Tensor, "B I K"], targets: Int[Tensor, "B I"]) -> Bool[Tensor, " B"]:
    """Which puzzles have every labelled position right."""
    return ((logits.argmax(-1) == targets) | (targets == PAD)).all(1)


def stablemax_cross_entropy(
    logits: Float[Tensor, "B I K"], targets: Int[Tensor, "B I"]
) -> Float[Tensor, " B"]:
    """Loss a puzzle: −log of the target's stablemax probability, averaged over the labelled positions.

    Float32, yet accurate to a few units in the last place: with s_t the target's weight and r the sum of
    the others, −log(s_t/(s_t + r)) = log1p(r/s_t) subtracts nothing.
    """
    weights = stablemax(logits.float())
    is_target = torch.nn.functional.one_hot(targets, logits.shape[-1]).bool()
    rest = weights.masked_fill(is_target, 0).sum(-1)
    is_labelled = targets != PAD
    own = torch.where(is_labelled, weights.masked_fill(~is_target, 0).sum(-1), 1)
    losses = torch.log1p(rest / own)
    return torch.where(is_labelled, losses, 0).sum(1) / is_labelled.sum(1).clamp(min=1)
