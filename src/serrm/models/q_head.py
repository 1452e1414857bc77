"""The Q head of HRM and TRM in training: its loss, HRM's bootstrapped target, a sigmoid with the same bits anywhere."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from serrm.models.recurrence import SupervisionStep

HALT, CONTINUE = 0, 1  # columns of the halting logits


def q_loss(step: SupervisionStep, *, bootstrap: bool) -> Float[Tensor, " b"]:
    """Compute the term added to each puzzle's loss: 0.5·BCE of halting, and of continuing where bootstrapped."""
    logits = step.output.halting
    assert logits is not None, "q_learning needs a model with halting logits"
    loss = binary_cross_entropy(logits[:, HALT], step.is_solved.float())
    if bootstrap:
        loss = loss + binary_cross_entropy(logits[:, CONTINUE], continue_target(step))
    return 0.5 * loss


def binary_cross_entropy(logits: Float[Tensor, " b"], targets: Float[Tensor, " b"]) -> Float[Tensor, " b"]:
    """Compute the BCE of σ(logits) by float64, as its gradient has a sigmoid (see `rounded_sigmoid`)."""
    losses = F.binary_cross_entropy_with_logits(logits.double(), targets.double(), reduction="none")
    return losses.to(logits.dtype)


def rounded_sigmoid(logits: Float[Tensor, " b"]) -> Float[Tensor, " b"]:
    """Compute σ(logits), rounded from float64, so that its bits do not depend on the processor.

    PyTorch's sigmoid of float32 computes the last values of an array by other code than the rest, and which are the
    last ones depends on the width of the processor's vectors.
    """
    return logits.double().sigmoid().to(logits.dtype)


@torch.no_grad()
def continue_target(step: SupervisionStep) -> Float[Tensor, " b"]:
    """Compute HRM's bootstrapped target: σ(max(q_halt', q_continue')) of the next step, σ(q_halt') at the last."""
    following = step.model(step.output.state, step.tokens, step.task_vectors).halting
    is_last = (step.num_steps >= step.max_steps).to(following.device, non_blocking=True)
    return rounded_sigmoid(torch.where(is_last, following[:, HALT], following.amax(1)))
