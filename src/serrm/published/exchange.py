"""Convert published checkpoints: a `.pt` state dict of the authors' code becomes our checkpoint, and back.

Only the weights are converted, in float32. The settings come from an entry of params.yaml, and every key and shape is
compared with the model it describes. Every published weight has the same numbers as one of ours, perhaps in another
shape (embeddings have singleton axes of `B K I D`) or as some rows of ours, so one table serves both directions.
No other module contains the names of the authors' weights.
"""

import logging
import os
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from serrm.core.files import hash_file, new_file
from serrm.inference.predict import load_model
from serrm.models.families import ModelSettings
from serrm.models.recurrence import RecurrentModel, num_parameters
from serrm.models.se_rrm_settings import SeRrmSettings
from serrm.models.settings import NUM_SPECIAL, SHIFTED, ModelSizes, SequenceSettings
from serrm.puzzles.tasks import alphabet
from serrm.training.checkpoint import write_checkpoint
from serrm.training.settings import CheckpointConfig, Imported, RunSettings

log = logging.getLogger(__name__)
# Side of a task's grids as published.
SIDES = {"sudoku": 9, "maze": 30, "arc_agi_1": 30, "arc_agi_2": 30}


def import_checkpoint(file: Path, settings: RunSettings, target: Path) -> CheckpointConfig:
    """Write the weights of a published state dict as the new checkpoint `target`; returns its config.json.

    `settings` are those of the run that the weights belong to.
    A published ARC file does not name the puzzles of its task-type table, so such a checkpoint can be exported
    but not evaluated on ARC puzzles.
    Raises ValueError for a file that is no state dict of plain tensors, and for a key that does not fit, naming it.
    """
    _check_new(target)
    if settings.task not in SIDES:
        raise ValueError(f"unsupported task {settings.task!r}; supported: {', '.join(SIDES)}")
    side = SIDES[settings.task]
    num_symbols = alphabet(settings.task, side).num_symbols
    try:
        model = published_model(settings.model, read_state_dict(file), num_symbols, side**2)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error
    config = CheckpointConfig(
        run=settings,
        imported=Imported(file=file.name, sha256=hash_file(file)),
        num_symbols=num_symbols,
        side=side,
        parameters=num_parameters(model),
        parameters_with_task_types=num_parameters(model, with_task_types=True),
    )
    write_checkpoint(target, model.state_dict(), None, config)
    return config


def export_checkpoint(checkpoint: Path, target: Path) -> dict[str, torch.Size]:
    """Write the weights of a checkpoint as the new state dict `target` of the published code; returns its shapes.

    Raises ValueError naming a setting that has no published form.
    """
    _check_new(target)
    loaded = load_model(checkpoint, torch.device("cpu"))
    try:
        weights = published_weights(loaded.settings.model, loaded.model)
    except ValueError as error:
        raise ValueError(f"{checkpoint}: {error}") from error
    # An open file, because a name would become part of the content.
    with new_file(target) as partial, partial.open("wb") as stream:
        torch.save(weights, stream)
    return {key: value.shape for key, value in weights.items()}


def read_state_dict(path: Path) -> dict[str, Tensor]:
    """Read a file of tensors by name; no code in it is run.

    Raises ValueError if it contains code, or anything but floating-point tensors by name.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # raised for unusual pickle protocols
            content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # of any kind, for a damaged file
        raise ValueError(
            f"not a state dict of plain tensors: unpickling raised {type(error).__name__}"
        ) from error
    if not isinstance(content, dict):
        raise ValueError(f"a {type(content).__name__}, not a state dict of plain floating-point tensors")
    for key, value in content.items():
        if not isinstance(key, str) or not _is_plain(value):
            raise ValueError(f"not a state dict of plain floating-point tensors: {key} is none")
        if not value.isfinite().all():
            raise ValueError(f"{key}: not all of its numbers are finite")
    return {key: value.detach() for key, value in content.items()}  # a parameter would count as one


def _is_plain(value: Any) -> bool:
    """Return True for a tensor with its numbers, which are floating-point numbers of at least 16 bits."""
    is_dense = isinstance(value, Tensor) and value.layout == torch.strided and not value.is_nested
    return is_dense and not value.is_meta and value.is_floating_point() and value.itemsize > 1


def _check_new(target: Path) -> None:
    if os.path.lexists(target):
        raise ValueError(f"{target} exists: remove it, or choose another name")


PUBLISHED = ("hrm", "trm", "se_rrm")  # families
PREFIXES = ("_orig_mod.", "model.", "inner.")
TASK_TYPES = "puzzle_emb.weights"  # the published key of the task-type table
TABLE = "task_types"  # its key in our state dict
NETWORKS = {"block": "L_level", "low": "L_level", "high": "H_level"}
WEIGHTS = {"qkv": "qkv_proj", "out": "o_proj", "gate_up": "gate_up_proj", "down": "down_proj"}
SEQUENCE = {
    "embedding.tokens": "embed_tokens.embedding_weight",
    "readout.weight": "lm_head.weight",
    "readout.halt_weight": "q_head.weight",
    "readout.halt_bias": "q_head.bias",
}
# The values of settings that the published code supports, for settings that have other values too.
OF_SEQUENCE = {"positions": ("none", "rope", "rope2d", SHIFTED)}
OF_SE_RRM = {
    "planes": ("all",),
    "positions": ("rope", "rope2d"),
    "task_types": ("none", "factored"),
    "states": ("one",),
}
LAYER = re.compile(r"networks\.(\w+)\.layers\.(\d+)\.(\d+)\.(?:sublayer\.)+(\w+)")
ALL = slice(None)


class PublishedWeight(NamedTuple):
    """A published weight: rows of one of our weights, and its published shape."""

    name: str
    rows: slice
    shape: tuple[int, ...]


def published_layout(settings: ModelSettings, state: Mapping[str, Tensor]) -> dict[str, PublishedWeight]:
    """List the published weights of a model with our state dict, by published key without wrappers.

    Raises ValueError naming a setting that has no published form.
    """
    if settings.family not in PUBLISHED:
        raise ValueError(f"family: {settings.family} has no counterpart in the published code")
    assert isinstance(settings, SequenceSettings | SeRrmSettings)
    published_values = OF_SEQUENCE if isinstance(settings, SequenceSettings) else OF_SE_RRM
    for setting, published in published_values.items():
        if (value := getattr(settings, setting)) not in published:
            raise ValueError(f"{setting}: {value} has no counterpart in the published code")

    def whole(name: str) -> PublishedWeight:
        return PublishedWeight(name, ALL, tuple(state[name].shape))

    matches = [match for name in state if (match := LAYER.fullmatch(name))]
    layout = {_layer_key(settings, *match.groups()): whole(match.string) for match in matches}
    if TABLE in state:
        layout[TASK_TYPES] = whole(TABLE)
    if isinstance(settings, SequenceSettings):
        layout |= {key: whole(name) for name, key in SEQUENCE.items()}
        for row, key in enumerate(("L_init", "H_init")):
            layout[key] = PublishedWeight("initial", slice(row, row + 1), (settings.width,))
        return layout
    layout["Z_init"] = PublishedWeight("initial", ALL, (settings.width,))
    layout["lm_head.weight"] = whole("readout.weight")
    for name, num, special, usual, untied in (
        ("symbols", 1, "embed_special_tokens", "embed_symbol_tokens", "embed_symbols"),
        ("registers", settings.registers, "add_tokens_special", "add_tokens", "add_tokens"),
    ):
        num_rows = len(state[f"embedding.{name}"])
        if settings.symbols == "tied" and num_rows != NUM_SPECIAL + 1:
            raise ValueError(
                f"symbols: the published code ties all but {NUM_SPECIAL}, this model {num_rows - 1}"
            )
        split = {special: slice(0, NUM_SPECIAL), usual: slice(NUM_SPECIAL, num_rows)}
        for key, rows in (split if settings.symbols == "tied" else {untied: slice(0, num_rows)}).items():
            if num:
                shape = (1, rows.stop - rows.start, num, settings.width)
                layout[key] = PublishedWeight(f"embedding.{name}", rows, shape)
    return layout


def _layer_key(settings: ModelSettings, network: str, layer: str, index: str, weight: str) -> str:
    first = "mlp_t" if weight in ("gate_up", "down") else "self_attn"
    sublayers = ("attn", "attn_t", "mlp") if isinstance(settings, SeRrmSettings) else (first, "mlp")
    return f"{NETWORKS[network]}.layers.{layer}.{sublayers[int(index)]}.{WEIGHTS[weight]}.weight"


def to_published(layout: Mapping[str, PublishedWeight], weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Write our weights, or some of their gradients, under the published keys and in the published shapes."""
    return {
        key: weights[weight.name][weight.rows].reshape(weight.shape)
        for key, weight in layout.items()
        if weight.name in weights
    }


def published_model(
    settings: ModelSettings, weights: Mapping[str, Tensor], num_symbols: int, num_positions: int
) -> RecurrentModel:
    """Build a model with the weights of a published state dict and as many task types as that has.

    Without a task-type table in the state dict, a model that has one keeps its initial one, with one row.
    Raises ValueError naming a key that is unknown, missing or of the wrong shape, or a setting without published form.
    """
    model = settings.build(ModelSizes(num_symbols, num_positions), None)
    state = {name: value.clone() for name, value in model.state_dict().items()}
    layout = published_layout(settings, state)
    published = {short_key(key): value for key, value in weights.items()}
    if unknown := sorted(published.keys() - layout.keys()):
        raise ValueError(f"{unknown[0]}: this model has no such weight")
    if TASK_TYPES in layout and TASK_TYPES not in published:
        log.warning("no task-type embeddings in the file; zeros take their place")
        del layout[TASK_TYPES]
    for key, weight in layout.items():
        if key not in published:
            raise ValueError(f"{key}: missing")
        shape = published[key].shape
        expected = weight.shape if key != TASK_TYPES else (max(1, *shape[:1]), *weight.shape[1:])
        if shape != expected:
            raise ValueError(f"{key}: expected the shape {expected}, got {tuple(shape)}")
        if key == TASK_TYPES:
            state[TABLE] = published[key].float()
        else:
            rows = state[weight.name][weight.rows]
            rows.copy_(published[key].reshape(rows.shape))
    model.task_types = state.get(TABLE)  # it may have another number of rows
    model.load_state_dict(state)
    return model


def published_weights(settings: ModelSettings, model: RecurrentModel) -> dict[str, Tensor]:
    """Copy the weights of a model under the published keys and in the published shapes, each with its own memory.

    Raises ValueError naming a setting that has no published form.
    """
    state = model.state_dict()
    weights = to_published(published_layout(settings, state), state)
    return {"".join(PREFIXES) + key: value.clone() for key, value in weights.items()}


def short_key(key: str) -> str:
    """Strip a published key of the wrappers it may have been saved in."""
    for prefix in PREFIXES:
        key = key.removeprefix(prefix)
    return key
