"""Halting rules of training: when a slot of the batch takes its next puzzle (paper, section 3).

`random` needs nothing from the model. `q_learning` reads the model's halting logits and adds a loss that teaches
them. SE-RRM has no Q head: its state has another shape, which the paper gives as the reason.
"""

from typing import Protocol, runtime_checkable

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from serrm.core.randomness import Purpose, keyed_rng
from serrm.models.recurrence import RecurrentModel, StepOutput, TaskVectors, Tokens
from serrm.models.settings import HaltingSettings, QLearning, RandomHalting

HALT, CONTINUE = 0, 1  # columns of the halting logits


@runtime_checkable
class Batch(Protocol):
    """The inputs of a rule: slots of the training loop. `num_steps` is on the host."""

    tokens: Tokens
    num_steps: Int[Tensor, " B"]


def looks_at_answers(settings: HaltingSettings) -> bool:
    """True if the rule depends on which puzzles are solved."""
    return isinstance(settings, RandomHalting) and settings.probability_solved > 0


def random_halting(
    seed: int, step: int, num_slots: int, probability: float, purpose: Purpose = Purpose.HALTING
) -> Bool[np.ndarray, " B"]:
    """SE-RRM's rule: slot b halts after optimiser step `step` with the given probability.

    A pure function of (seed, step, slot), so it needs no state and no copy from the device.
    """
    return keyed_rng(seed, purpose, step).random(num_slots) < probability


def least_steps(seed: int, step: int, num_slots: int, probability: float, most: int) -> Int[np.ndarray, " B"]:
    """Exploration of Q-learning: with this probability a slot may not halt before a step from 2…most, else any."""
    rng = keyed_rng(seed, Purpose.HALTING, step)
    is_exploring = rng.random(num_slots) < probability
    return np.where(is_exploring, rng.integers(2, max(2, most) + 1, num_slots), 0)


def halts(
    settings: HaltingSettings,
    halting: Float[Tensor, "B 2"] | None,
    batch: Batch,
    seed: int,
    step: int,
    most: int,
    is_solved: Bool[Tensor, " B"] | None = None,
) -> Bool[Tensor, " B"]:
    """Decide on the host which slots halt after this step; every slot halts after `most` supervision steps.

    A rule that reads what the model computed, `looks_at_answers`, has to wait for the device.
    """
    num_slots, is_last = len(batch.num_steps), batch.num_steps >= most
    if isinstance(settings, RandomHalting):
        chance = torch.from_numpy(random_halting(seed, step, num_slots, settings.probability))
        if is_solved is not None:
            draws = random_halting(seed, step, num_slots, settings.probability_solved, Purpose.HALTING_SOLVED)
            chance = chance | (is_solved.cpu() & torch.from_numpy(draws))
        return chance | is_last
    assert halting is not None, "q_learning needs a model with halting logits"
    wants = halting[:, HALT] > (halting[:, CONTINUE] if settings.bootstrap else 0)
    least = torch.from_numpy(least_steps(seed, step, num_slots, settings.exploration, most))
    return (wants.cpu() & (batch.num_steps >= least)) | is_last


def halting_loss(
    settings: HaltingSettings,
    model: RecurrentModel,
    output: StepOutput,
    batch: Batch,
    task_vectors: TaskVectors | None,
    is_solved: Bool[Tensor, " B"],
    most: int,
) -> Float[Tensor, " B"] | None:
    """The term that the rule adds to each puzzle's loss: 0.5·BCE of halting, and of continuing where bootstrapped."""
    if not isinstance(settings, QLearning):
        return None
    assert output.halting is not None, "q_learning needs a model with halting logits"
    logits = output.halting
    loss = binary_cross_entropy(logits[:, HALT], is_solved.float())
    if settings.bootstrap:
        target = continue_target(model, output, batch, task_vectors, most)
        loss = loss + binary_cross_entropy(logits[:, CONTINUE], target)
    return 0.5 * loss


def binary_cross_entropy(logits: Float[Tensor, " B"], targets: Float[Tensor, " B"]) -> Float[Tensor, " B"]:
    """BCE of σ(logits), by float64: its gradient has a sigmoid (see `rounded_sigmoid`)."""
    losses = F.binary_cross_entropy_with_logits(logits.double(), targets.double(), reduction="none")
    return losses.to(logits.dtype)


def rounded_sigmoid(logits: Float[Tensor, " B"]) -> Float[Tensor, " B"]:
    """σ(logits), rounded from float64, so that its bits do not depend on the processor.

    PyTorch's sigmoid of float32 computes the last values of an array by other code than the rest, and which are the
    last ones depends on the width of the processor's vectors.
    """
    return logits.double().sigmoid().to(logits.dtype)


@torch.no_grad()
def continue_target(
    model: RecurrentModel,
    output: StepOutput,
    batch: Batch,
    task_vectors: TaskVectors | None,
    most: int,
) -> Float[Tensor, " B"]:
    """HRM's bootstrapped target: σ(max(q_halt', q_continue')) of the next step, σ(q_halt') at the last."""
    following = model(output.state, batch.tokens, task_vectors).halting
    is_last = (batch.num_steps >= most).to(following.device, non_blocking=True)
    return rounded_sigmoid(torch.where(is_last, following[:, HALT], following.amax(1)))
