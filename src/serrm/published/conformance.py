"""Conformance: does a model built here give the numbers of the authors' published code?

A vector file (`.npz`) holds a configuration under the published names, published weights, one batch, and what the
published model made of it: logits, halting values and losses of three supervision steps in evaluation, the loss and the
gradients of a first training step. The model is built and compared with every number, in float32.
"""

import json
import math
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from serrm.inference.predict import confidences
from serrm.models.halting import halting_loss
from serrm.models.recurrence import RecurrentModel, State
from serrm.models.settings import HrmSettings, ModelSettings, QLearning, SeRrmSettings, TrmSettings
from serrm.published.exchange import published_model
from serrm.published.weights import published_parts, short_key, to_published
from serrm.settings import parse
from serrm.training.loop import PAD, solved, stablemax_cross_entropy

IGNORED = -100  # the published label of a position that does not count
STEPS = (1, 2, 3)  # supervision steps of the evaluation
TRAINING_LOSS, TOTAL_LOSS = "train/step1/lm_loss_sum", "train/step1/loss_sum"
TASK_ROWS = "inner.puzzle_emb.local_weights"  # the task vectors of the batch, one row an example
# Largest difference allowed: of logits and halting values, absolute (the recurrence amplifies rounding) …
STEP_TOLERANCE = {1: 2e-4, 2: 2e-4, 3: 2e-3}
LOSS_TOLERANCE = 1e-5  # … of a loss, relative …
GRADIENT_TOLERANCE = 1e-3  # … of a gradient, in norm, relative to its norm
FAMILIES: dict[str, Any] = {"se_rrm": SeRrmSettings, "trm": TrmSettings, "hrm": HrmSettings}
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


@dataclass(frozen=True)
class Vectors:
    """The content of a vector file: `targets` hold our pad where the published label is ignored."""

    config: dict[str, Any]
    tokens: Int[Tensor, "B I"]
    targets: Int[Tensor, "B I"]
    task_ids: Int[Tensor, " B"]
    weights: dict[str, Tensor]  # by published key
    gradients: dict[str, Tensor]  # of the training loss / B, by published key and TASK_ROWS
    numbers: dict[str, Tensor]  # what the model gave, by the file's keys

    @property
    def has_q_halting(self) -> bool:
        """Whether the halting values are the Q head's, not the confidence of random halting."""
        return any(key.startswith("inner.q_head.") for key in self.gradients)


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
        vectors = read_vectors(path, device)
        model = build_published(vectors).to(device)
        return [*_check_evaluation(model, vectors), *_check_training(model, vectors)]
    except (ValueError, RuntimeError) as error:  # PyTorch's word for sizes that do not fit
        raise ValueError(f"{path}: {' '.join(str(error).split())}") from error


def read_vectors(path: Path, device: torch.device = CPU) -> Vectors:
    """Read a vector file. ValueError if it is none."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            config = json.loads(str(archive["config"]))
            found = {key: torch.from_numpy(archive[key]).to(device) for key in archive if key != "config"}
        labels = found["labels"].long()
        return Vectors(
            config,
            found["inputs"].long(),
            labels.masked_fill(labels == IGNORED, PAD),
            found["puzzle_identifiers"].long(),
            {key.removeprefix("weight/"): value for key, value in found.items() if key.startswith("weight/")},
            {key.removeprefix("grad/"): value for key, value in found.items() if key.startswith("grad/")},
            found,
        )
    except (AttributeError, EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise ValueError(f"no vector file: {error}") from error


def build_published(vectors: Vectors) -> RecurrentModel:
    """The model of a vector file, with its weights and task-type table."""
    num_symbols, num_positions = vectors.config["vocab_size"], vectors.tokens.shape[1]
    return published_model(settings_of(vectors.config), vectors.weights, num_symbols, num_positions)


def settings_of(config: Mapping[str, Any]) -> ModelSettings:
    """Our settings of a published configuration, whose key `model` names the family. ValueError for another family."""
    if config["model"] not in FAMILIES:
        raise ValueError(f"models of the family {config['model']!r} are not built here")
    values = {
        "family": config["model"],
        "width": config["hidden_size"],
        "layers": config["L_layers"],
        "h_cycles": config["H_cycles"],
        "l_cycles": config["L_cycles"],
        "heads": config["num_heads"],
        "expansion": config["expansion"],
        "positions": config["pos_encodings"],
        "attention_dropout": config.get("dropout", 0.0),
    }
    if config["model"] == "se_rrm":
        values |= {
            "head_dim": config["head_dim"],
            "symbol_heads": config["num_heads_t"],
            "symbol_head_dim": config["head_dim_t"],
            "registers": config["add_tokens"],
            "symbols": "tied" if config["equivariant_symbols"] else "untied",
            "planes": "all",
            "task_types": "factored" if config["puzzle_emb_ndim"] else "none",
        }
    else:  # the published RoPE2D rotates the wrong places behind a prefix
        values["positions"] = {"rope2d": "rope2d_shifted"}.get(values["positions"], values["positions"])
        filled = math.ceil(config["puzzle_emb_ndim"] / config["hidden_size"])  # by the task embedding
        values["prefix"] = config.get("puzzle_emb_len") or filled
    if config["model"] == "trm":
        values["mixer"] = "mlp" if config["mlp_t"] else "attention"
    settings: ModelSettings = parse(FAMILIES[config["model"]], values, "config")
    return settings


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
        logits_difference = _largest(output.logits, numbers[f"eval/step{step}/logits"])
        halting_difference = _largest(halting, numbers[f"eval/step{step}/q_halt_logits"])
        loss_difference = _relative(loss, numbers[f"eval/step{step}/lm_loss_sum"])
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
    parts = published_parts(settings_of(vectors.config), model.state_dict())
    gradients = to_published(parts, own)
    if task_vectors is not None and task_vectors.grad is not None:
        gradients[short_key(TASK_ROWS)] = task_vectors.grad
    for key, expected in vectors.gradients.items():
        name = short_key(key)
        yield Check(
            f"gradient of {name} (relative)", _relative(gradients[name], expected), GRADIENT_TOLERANCE
        )


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
