"""Conformance of our models with numbers of the authors' published code.

A vector file (`.npz`) holds a configuration under the published names, published weights, one batch, and the output
of the published model: logits, halting values and losses of three supervision steps in evaluation, the loss and the
gradients of a first training step. The model is built and compared with every number, in float32.
"""

import json
import math
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from serrm.core.settings import parse
from serrm.inference.predict import confidences
from serrm.models.families import FAMILIES, ModelSettings
from serrm.models.halting import QLearning
from serrm.models.recurrence import RecurrentModel, State, SupervisionStep
from serrm.published.exchange import PUBLISHED, published_layout, published_model, short_key, to_published
from serrm.training.cross_entropy import PAD, stablemax_cross_entropy
from serrm.training.loop import solved
from serrm.training.losses import Stablemax

IGNORED = -100  # the published label of a position that is not scored
# Errors that numpy raises for a damaged file.
DAMAGE = (AttributeError, EOFError, KeyError, OSError, TypeError, ValueError, tokenize.TokenError, zlib.error)
STEPS = (1, 2, 3)  # supervision steps of the evaluation
TASK_ROWS = "inner.puzzle_emb.local_weights"  # the task vectors of the batch, one row per example
# The largest absolute difference of logits and halting values (the recurrence amplifies rounding), …
STEP_TOLERANCE = {1: 2e-4, 2: 2e-4, 3: 2e-3}
LOSS_TOLERANCE = 1e-5  # … the largest relative one of a loss, …
GRADIENT_TOLERANCE = 1e-3  # … and the largest norm of a gradient's difference, relative to its norm


@dataclass(frozen=True)
class Comparison:
    """One comparison: the largest difference between our numbers and the file's."""

    quantity: str
    difference: float
    tolerance: float

    @property
    def is_ok(self) -> bool:
        """True if they agree; False if the difference is not a number."""
        return self.difference <= self.tolerance


@dataclass
class Vectors:
    """The content of a vector file: `targets` hold our pad where the published label is ignored."""

    config: dict[str, Any]
    numbers: dict[str, Tensor]  # by the file's keys
    tokens: Int[Tensor, "B I"]
    targets: Int[Tensor, "B I"]
    task_ids: Int[Tensor, " B"]
    num_steps: Int[Tensor, " B"]  # supervision steps of each puzzle in the training step, which is the first

    def below(self, prefix: str) -> dict[str, Tensor]:
        """Select the tensors below a prefix: weight/, or grad/ of the training loss / B, by the rest of the key."""
        return {
            key.removeprefix(prefix): tensor for key, tensor in self.numbers.items() if key.startswith(prefix)
        }

    @property
    def has_q_halting(self) -> bool:
        """True if the halting values are the Q head's, not the confidence of random halting."""
        return any(key.startswith("grad/inner.q_head.") for key in self.numbers)


def check_conformance(path: Path, device: str = "cpu") -> list[Comparison]:
    """Compare our model with every number of a vector file.

    Raises ValueError for another file, for parts that do not fit each other, and for an unknown model.
    """
    try:
        vectors = read_vectors(path, device)
        model = build_published(vectors).to(device)
        return [*_compare_evaluation(model, vectors), *_compare_training(model, vectors)]
    except (ValueError, RuntimeError) as error:  # PyTorch raises it for sizes that do not fit
        raise ValueError(f"{path}: {' '.join(str(error).split())}") from error


def read_vectors(path: Path, device: str = "cpu") -> Vectors:
    """Read a vector file. Raises ValueError if it is something else."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            config = json.loads(str(archive["config"]))
            numbers = {key: torch.from_numpy(archive[key]).to(device) for key in archive if key != "config"}
        labels, task_ids = numbers["labels"].long(), numbers["puzzle_identifiers"].long()
        targets = labels.masked_fill(labels == IGNORED, PAD)
        return Vectors(
            config, numbers, numbers["inputs"].long(), targets, task_ids, torch.ones_like(task_ids)
        )
    except (*DAMAGE, zipfile.BadZipFile) as error:
        raise ValueError(f"not a file of reference values: {error}") from error


def build_published(vectors: Vectors) -> RecurrentModel:
    """Build the model of a vector file, with its weights and task-type table."""
    num_symbols, num_positions = vectors.config["vocab_size"], vectors.tokens.shape[1]
    return published_model(settings_of(vectors.config), vectors.below("weight/"), num_symbols, num_positions)


def settings_of(config: Mapping[str, Any]) -> ModelSettings:
    """Convert a published configuration, whose key `model` names the family. ValueError for another family."""
    if config["model"] not in PUBLISHED:
        raise ValueError(f"unknown model family {config['model']!r}")
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
    else:  # the published RoPE2D rotates the wrong positions behind a prefix
        values["positions"] = {"rope2d": "rope2d_shifted"}.get(values["positions"], values["positions"])
        num_filled = math.ceil(config["puzzle_emb_ndim"] / config["hidden_size"])  # by the task embedding
        values["prefix"] = config.get("puzzle_emb_len") or num_filled
    if config["model"] == "trm":
        values["mixer"] = "mlp" if config["mlp_t"] else "attention"
    return parse(FAMILIES[config["model"]], values, "config")


@torch.no_grad()
def _compare_evaluation(model: RecurrentModel, vectors: Vectors) -> list[Comparison]:
    """Compare supervision steps one after the other, the state carried along."""
    model.eval()
    state, comparisons = _initial_state(model, vectors), list[Comparison]()
    task_vectors = model.task_vectors(vectors.task_ids)
    for step in STEPS:
        output = model(state, vectors.tokens, task_vectors)
        state, published = output.state, vectors.below(f"eval/step{step}/")
        if vectors.has_q_halting:
            name, halting = "halting logit", output.halting[:, 0]
        else:
            name, halting = "confidence", confidences(output.logits, Stablemax())
        for quantity, value, expected in (
            ("logits", output.logits, published["logits"]),
            (name, halting, published["q_halt_logits"]),
        ):
            difference = float((value - expected).abs().max())
            comparisons.append(Comparison(f"{quantity}, step {step}", difference, STEP_TOLERANCE[step]))
        loss = stablemax_cross_entropy(output.logits, vectors.targets).sum()
        comparisons.append(_compare_loss(f"loss, step {step}", loss, published["lm_loss_sum"]))
    return comparisons


def _compare_training(model: RecurrentModel, vectors: Vectors) -> Iterator[Comparison]:
    """Compare the losses of a first training step, and the gradients of their sum / B.

    (With random halting the published total has a further term, which has no gradient and is left out here.)
    """
    model.train()
    task_vectors = model.task_vectors(vectors.task_ids)
    if task_vectors is not None:
        task_vectors.requires_grad_()
    before = _initial_state(model, vectors)
    output = model(before, vectors.tokens, task_vectors)
    losses = stablemax_cross_entropy(output.logits, vectors.targets)
    yield _compare_loss("training loss", losses.sum(), vectors.numbers["train/step1/lm_loss_sum"])
    if vectors.has_q_halting:
        rule = QLearning(kind="q_learning", exploration=0, bootstrap=vectors.config["model"] == "hrm")
        is_solved, most = solved(output.logits, vectors.targets), vectors.config["halt_max_steps"]
        step = SupervisionStep(
            model,
            vectors.tokens,
            vectors.targets,
            task_vectors,
            before,
            output,
            is_solved,
            vectors.num_steps,
            most,
        )
        halting = rule.loss(step)
        assert halting is not None, "a Q head is trained"
        losses = losses + halting
        yield _compare_loss(
            "training loss with halting", losses.sum(), vectors.numbers["train/step1/loss_sum"]
        )
    losses.mean().backward()
    weight_gradients = {
        name: value.grad for name, value in model.named_parameters() if value.grad is not None
    }
    gradients = to_published(
        published_layout(settings_of(vectors.config), model.state_dict()), weight_gradients
    )
    if task_vectors is not None and task_vectors.grad is not None:
        gradients[short_key(TASK_ROWS)] = task_vectors.grad
    for key, expected in vectors.below("grad/").items():
        name = short_key(key)
        difference = _relative(gradients[name], expected)
        yield Comparison(f"gradient of {name} (relative)", difference, GRADIENT_TOLERANCE)


def _compare_loss(name: str, value: Float[Tensor, ""], expected: Float[Tensor, ""]) -> Comparison:
    return Comparison(f"{name} (relative)", _relative(value.detach(), expected), LOSS_TOLERANCE)


def _initial_state(model: RecurrentModel, vectors: Vectors) -> State:
    num_puzzles, num_positions = vectors.tokens.shape
    return model.initial_state(num_puzzles, num_positions, vectors.config["vocab_size"])


def _relative(value: Float[Tensor, "..."], expected: Float[Tensor, "..."]) -> float:
    """Divide the norm of the difference by the norm of the expected tensor; 0 where both are zero."""
    difference, scale = (float(tensor.double().norm()) for tensor in (value - expected, expected))
    return 0.0 if difference == 0 else difference / scale if scale else math.inf
