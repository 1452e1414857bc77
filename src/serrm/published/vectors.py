"""Vector files: numbers of the authors' published code, read and checked before anything is compared with them.

An `.npz` of this format holds a configuration under the published names, published weights, one batch, and what the
published model made of it: logits, halting values and losses of three supervision steps in evaluation, the loss
and the gradients of a first training step.
"""

import json
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Int, Shaped
from torch import Tensor

from serrm.training.loss import PAD

IGNORED = -100  # the published label of a position that does not count
STEPS = (1, 2, 3)  # supervision steps of the evaluation
LOGITS, HALTING, LOSS = "eval/step{}/logits", "eval/step{}/q_halt_logits", "eval/step{}/lm_loss_sum"
TRAINING_LOSS, TOTAL_LOSS = "train/step1/lm_loss_sum", "train/step1/loss_sum"
TASK_ROWS = "inner.puzzle_emb.local_weights"  # the task vectors of the batch, one row an example
TASK_TABLE = "inner.puzzle_emb.weights"
Q_HEAD = "inner.q_head."
LARGEST = 2**31  # number that a configuration may hold
# What reading a damaged or foreign file may raise.
UNREADABLE = (
    *(OSError, ValueError, TypeError, KeyError, EOFError, MemoryError, NotImplementedError),
    *(SyntaxError, tokenize.TokenError),  # of NumPy's header, which is Python
    *(zipfile.BadZipFile, zlib.error),
)


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

    def on(self, device: torch.device) -> "Vectors":
        """The same on another device."""
        moved = {field: getattr(self, field).to(device) for field in ("tokens", "targets", "task_ids")}
        for field in ("weights", "gradients", "numbers"):
            moved[field] = {key: value.to(device) for key, value in getattr(self, field).items()}
        return replace(self, **moved)

    @property
    def has_q_halting(self) -> bool:
        """Whether the halting values are the Q head's, not the confidence of random halting."""
        return any(key.startswith(Q_HEAD) for key in self.gradients)


def read_vectors(path: Path) -> Vectors:
    """Read a vector file. ValueError says what is missing or has a wrong shape or value."""
    arrays = _read_arrays(path)
    config = _parse_config(arrays.pop("config", np.array("")))
    tensors = {key: _tensor(key, value) for key, value in arrays.items()}
    missing = [key for key in _shapes(0, 0, 0) if key not in tensors]
    if missing:
        raise ValueError(f"no vector file: {missing[0]} is missing")
    _check_shapes(tensors, config)
    labels = tensors["labels"].long()
    vectors = Vectors(
        config,
        tensors["inputs"].long(),
        labels.masked_fill(labels == IGNORED, PAD),
        tensors["puzzle_identifiers"].long(),
        _group("weight/", tensors),
        _group("grad/", tensors),
        {key: value for key, value in tensors.items() if key.startswith(("eval/", "train/"))},
    )
    _check_values(vectors, labels)
    _check_gradients(vectors)
    return vectors


def _read_arrays(path: Path) -> dict[str, Shaped[np.ndarray, "..."]]:
    try:
        # np.load leaves a file that it opened itself open when it fails.
        with path.open("rb") as stream:
            archive = np.load(stream, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise ValueError("a single array, not an .npz archive")
            return {key: np.asarray(archive[key]) for key in archive}
    except UNREADABLE as error:
        raise ValueError(f"no vector file: {error}") from error


def _parse_config(text: Shaped[np.ndarray, "..."]) -> dict[str, Any]:
    try:
        config = json.loads(str(text))
    except json.JSONDecodeError as error:
        raise ValueError(f"no vector file: config is no JSON: {error}") from error
    if not isinstance(config, dict):
        raise ValueError("no vector file: config is no JSON object")
    for key, value in config.items():
        if isinstance(value, int | float) and not abs(value) <= LARGEST:
            raise ValueError(f"config: {key} is {value}, which is out of range")
    if type(config.get("vocab_size")) is not int:
        raise ValueError(f"config: vocab_size is {config.get('vocab_size')!r}, not a whole number")
    return config


def _tensor(key: str, value: Shaped[np.ndarray, "..."]) -> Tensor:
    if value.dtype.kind not in "iuf":
        raise ValueError(f"{key}: expected numbers, got the type {value.dtype}")
    return torch.from_numpy(
        value.astype(np.int64 if value.dtype.kind in "iu" else value.dtype.newbyteorder("="))
    )


def _shapes(batch: int, positions: int, symbols: int) -> dict[str, tuple[int, ...]]:
    """The shape of everything a vector file must hold besides weights and gradients."""
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("inputs", "labels"), (batch, positions))
    shapes |= {"puzzle_identifiers": (batch,), TRAINING_LOSS: (), TOTAL_LOSS: ()}
    for step in STEPS:
        shapes |= {
            LOGITS.format(step): (batch, positions, symbols),
            HALTING.format(step): (batch,),
            LOSS.format(step): (),
        }
    return shapes


def _check_shapes(tensors: Mapping[str, Tensor], config: Mapping[str, Any]) -> None:
    inputs = tensors["inputs"]
    if inputs.ndim != 2 or not inputs.numel():
        raise ValueError(f"inputs: expected the shape (B, I), got {tuple(inputs.shape)}")
    batch, positions = inputs.shape
    for key, shape in _shapes(batch, positions, config["vocab_size"]).items():
        if tensors[key].shape != shape:
            raise ValueError(f"{key}: expected the shape {shape}, got {tuple(tensors[key].shape)}")


def _check_values(vectors: Vectors, labels: Int[Tensor, "B I"]) -> None:
    num_symbols = vectors.config["vocab_size"]
    num_tasks = len(vectors.weights.get(TASK_TABLE, range(1)))
    labelled = labels[labels != IGNORED]
    for key, values, least, end in (
        ("inputs", vectors.tokens, 0, num_symbols),
        ("labels", labelled, PAD + 1, num_symbols),
        ("puzzle_identifiers", vectors.task_ids, 0, num_tasks),
    ):
        wrong = values[(values < least) | (values >= end)]
        if wrong.numel():
            raise ValueError(f"{key}: {int(wrong[0])} is not in {least}..{end - 1}")
    if vectors.has_q_halting and type(vectors.config.get("halt_max_steps")) is not int:
        raise ValueError("config: halt_max_steps is no whole number, which the Q head's loss needs")


def _check_gradients(vectors: Vectors) -> None:
    expected = {key: value.shape for key, value in vectors.weights.items()}
    if TASK_TABLE in vectors.weights:
        expected[TASK_ROWS] = torch.Size((len(vectors.tokens), *vectors.weights[TASK_TABLE].shape[1:]))
    for key, shape in expected.items():
        if key in vectors.gradients and vectors.gradients[key].shape != shape:
            raise ValueError(f"grad/{key}: expected the shape {tuple(shape)}")
    unknown = sorted(vectors.gradients.keys() - expected.keys())
    if unknown or not vectors.gradients:
        raise ValueError(f"grad/{unknown[0]}: no such weight" if unknown else "no vector file: no gradients")


def _group(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}
