"""Conformance: does a model built here give the numbers of the authors' published code?

Builds a model from the configuration and weights of a vector file and compares it with every number of that file, in
float32, on the CPU or another device.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float, Int
from torch import Tensor

from serrm.inference.predict import confidences
from serrm.models.halting import halting_loss
from serrm.models.recurrence import RecurrentModel, State
from serrm.models.settings import QLearning
from serrm.published.config import settings_from_published
from serrm.published.exchange import published_model
from serrm.published.vectors import (
    HALTING,
    LOGITS,
    LOSS,
    STEPS,
    TASK_ROWS,
    TASK_TABLE,
    TOTAL_LOSS,
    TRAINING_LOSS,
    Vectors,
    read_vectors,
)
from serrm.published.weights import to_published
from serrm.training.loss import solved, stablemax_cross_entropy

# Largest difference allowed: of logits and halting values, absolute (the recurrence amplifies rounding) …
STEP_TOLERANCE = {1: 2e-4, 2: 2e-4, 3: 2e-3}
LOSS_TOLERANCE = 1e-5  # … of a loss, relative …
GRADIENT_TOLERANCE = 1e-3  # … of a gradient, in norm, relative to its norm
CPU = torch.device("cpu")


@dataclass(frozen=True)
class Check:
    """One comparison: the largest difference between our numbers and the file's."""

    quantity: str
    difference: float
    tolerance: float

    @property
    def is_ok(self) -> bool:
        """Whether they agree; never if the difference is not a number."""
        return self.difference <= self.tolerance


@dataclass
class FirstStep:
    """What the halting rule looks at after the first training step."""

    tokens: Int[Tensor, "B I"]
    num_steps: Int[Tensor, " B"]


def check_conformance(path: Path, device: torch.device = CPU) -> list[Check]:
    """Compare our model with every number of a vector file.

    Raises ValueError if it is no such file, its parts do not fit each other, or its model is not built here.
    """
    try:
        vectors = read_vectors(path).on(device)
        model = build_published(vectors).to(device)
        return [*_check_evaluation(model, vectors), *_check_training(model, vectors)]
    except (ValueError, RuntimeError) as error:  # PyTorch's word for sizes that do not fit
        raise ValueError(f"{path}: {' '.join(str(error).split())}") from error


def build_published(vectors: Vectors) -> RecurrentModel:
    """The model of a vector file, with its weights and task-type table.

    Raises ValueError for a family that is not built, and for a configuration that the weights do not fit.
    """
    if bool(vectors.config.get("puzzle_emb_ndim")) != (TASK_TABLE in vectors.weights):
        raise ValueError("config: puzzle_emb_ndim and the weights disagree about task embeddings")
    settings, num_positions = settings_from_published(vectors.config), vectors.tokens.shape[1]
    return published_model(settings, vectors.weights, vectors.config["vocab_size"], num_positions)


@torch.no_grad()
def _check_evaluation(model: RecurrentModel, vectors: Vectors) -> list[Check]:
    """Supervision steps one after the other, the state carried along."""
    model.eval()
    state, numbers, checks = _initial_state(model, vectors), vectors.numbers, []
    task_vectors = model.task_vectors(vectors.task_ids)
    for step in STEPS:
        output = model(state, vectors.tokens, task_vectors)
        state = output.state
        if vectors.has_q_halting:
            name, halting = "halting logit", output.halting[:, 0]
        else:
            name, halting = "confidence", confidences(output.logits)
        loss = stablemax_cross_entropy(output.logits, vectors.targets).sum()
        logits_difference = _largest(output.logits, numbers[LOGITS.format(step)])
        halting_difference = _largest(halting, numbers[HALTING.format(step)])
        loss_difference = _relative(loss, numbers[LOSS.format(step)])
        checks += [
            Check(f"logits, step {step}", logits_difference, STEP_TOLERANCE[step]),
            Check(f"{name}, step {step}", halting_difference, STEP_TOLERANCE[step]),
            Check(f"loss, step {step} (relative)", loss_difference, LOSS_TOLERANCE),
        ]
    return checks


def _check_training(model: RecurrentModel, vectors: Vectors) -> Iterator[Check]:
    """The losses of a first training step, and the gradients of their sum / B."""
    model.train()
    task_vectors = model.task_vectors(vectors.task_ids)
    if task_vectors is not None:
        task_vectors.requires_grad_()
    losses = _training_losses(model, vectors, task_vectors)
    for key, loss in losses.items():
        name = {TRAINING_LOSS: "training loss", TOTAL_LOSS: "training loss with halting"}[key]
        yield Check(f"{name} (relative)", _relative(loss.detach(), vectors.numbers[key]), LOSS_TOLERANCE)
    (list(losses.values())[-1] / len(vectors.tokens)).backward()
    own = {name: value.grad for name, value in model.named_parameters() if value.grad is not None}
    shapes = {key: value.shape for key, value in vectors.gradients.items() if key != TASK_ROWS}
    gradients = to_published(vectors.config["model"], own, shapes)
    if task_vectors is not None and task_vectors.grad is not None:
        gradients[TASK_ROWS] = task_vectors.grad
    for key, expected in vectors.gradients.items():
        difference = _relative(gradients[key], expected)
        yield Check(f"gradient of {key.removeprefix('inner.')} (relative)", difference, GRADIENT_TOLERANCE)


def _training_losses(
    model: RecurrentModel, vectors: Vectors, task_vectors: Float[Tensor, "B W"] | None
) -> dict[str, Float[Tensor, ""]]:
    """Sums over the batch, by the file's keys: of the prediction, then with the Q head's where it is trained.

    (With random halting the published total has a term more, which has no gradient and which we leave out.)
    """
    output = model(_initial_state(model, vectors), vectors.tokens, task_vectors)
    loss = stablemax_cross_entropy(output.logits, vectors.targets)
    losses = {TRAINING_LOSS: loss.sum()}
    if vectors.has_q_halting:
        rule = QLearning(kind="q_learning", exploration=0, bootstrap=vectors.config["model"] == "hrm")
        batch = FirstStep(vectors.tokens, torch.ones_like(vectors.task_ids))
        is_solved, most = solved(output.logits, vectors.targets), vectors.config["halt_max_steps"]
        halting = halting_loss(rule, model, output, batch, task_vectors, is_solved, most)
        assert halting is not None, "a Q head is taught"
        losses[TOTAL_LOSS] = (loss + halting).sum()
    return losses


def _initial_state(model: RecurrentModel, vectors: Vectors) -> State:
    num_puzzles, num_positions = vectors.tokens.shape
    return model.initial_state(num_puzzles, num_positions, vectors.config["vocab_size"])


def _largest(ours: Float[Tensor, "..."], theirs: Float[Tensor, "..."]) -> float:
    return float((ours - theirs).abs().max())


def _relative(ours: Float[Tensor, "..."], theirs: Float[Tensor, "..."]) -> float:
    """Norm of the difference relative to the norm of theirs; 0 where both are zero."""
    difference, scale = (float(value.double().norm()) for value in (ours - theirs, theirs))
    return 0.0 if difference == 0 else difference / scale if scale else math.inf
