"""The authors' weights and ours: published keys, and models made from a published state dict or turned into one.

No other module has the names of their weights. Every part is the same numbers, perhaps in another shape
(their embeddings have singleton axes of `B K I D`) or as some rows of one of ours, so one table serves both ways.
"""

import logging
import re
from collections.abc import Mapping
from typing import NamedTuple

from torch import Tensor

from serrm.models.recurrence import RecurrentModel
from serrm.models.registry import build_model
from serrm.models.settings import NUM_SPECIAL, ModelSettings, SeRrmSettings

log = logging.getLogger(__name__)
PREFIXES = ("_orig_mod.", "model.", "inner.")
TASK_TYPES = "puzzle_emb.weights"  # theirs
TABLE = "task_types"  # the same, ours
NETWORKS = {"block": "L_level", "low": "L_level", "high": "H_level"}
WEIGHTS = {"qkv": "qkv_proj", "out": "o_proj", "gate_up": "gate_up_proj", "down": "down_proj"}
SEQUENCE = {
    "embedding.tokens": "embed_tokens.embedding_weight",
    "readout.weight": "lm_head.weight",
    "readout.halt_weight": "q_head.weight",
    "readout.halt_bias": "q_head.bias",
}
# Settings of SE-RRM for which the published code has no weights, or weights of another meaning.
UNPUBLISHED = {"planes": "usual", "positions": "none", "task_types": "full", "states": "two"}
LAYER = re.compile(r"networks\.(\w+)\.layers\.(\d+)\.(\d+)\.(?:sublayer\.)+(\w+)")
ALL = slice(None)


class Part(NamedTuple):
    """A published weight: rows of one of ours, and its published shape."""

    name: str
    rows: slice
    shape: tuple[int, ...]


def published_parts(settings: ModelSettings, ours: Mapping[str, Tensor]) -> dict[str, Part]:
    """The parts of a model with our state dict, by published key without wrappers.

    Raises ValueError naming a setting that has no published form.
    """
    parts: dict[str, Part] = {}
    for name, value in ours.items():
        if match := LAYER.fullmatch(name):
            parts[_layer_key(settings, *match.groups())] = Part(name, ALL, tuple(value.shape))
    if TABLE in ours:
        parts[TASK_TYPES] = Part(TABLE, ALL, tuple(ours[TABLE].shape))
    if not isinstance(settings, SeRrmSettings):
        parts |= {key: Part(name, ALL, tuple(ours[name].shape)) for name, key in SEQUENCE.items()}
        for row, key in enumerate(("L_init", "H_init")):
            parts[key] = Part("initial", slice(row, row + 1), (settings.width,))
        return parts
    for setting, ours_alone in UNPUBLISHED.items():
        if getattr(settings, setting) == ours_alone:
            raise ValueError(f"{setting}: {ours_alone} has no form in the published code")
    parts["Z_init"] = Part("initial", ALL, (settings.width,))
    parts["lm_head.weight"] = Part("readout.weight", ALL, tuple(ours["readout.weight"].shape))
    for name, num, special, usual, untied in (
        ("symbols", 1, "embed_special_tokens", "embed_symbol_tokens", "embed_symbols"),
        ("registers", settings.registers, "add_tokens_special", "add_tokens", "add_tokens"),
    ):
        num_rows = len(ours[f"embedding.{name}"])
        split = {special: slice(0, NUM_SPECIAL), usual: slice(NUM_SPECIAL, num_rows)}
        for key, rows in (split if settings.symbols == "tied" else {untied: slice(0, num_rows)}).items():
            if num:
                shape = (1, rows.stop - rows.start, num, settings.width)
                parts[key] = Part(f"embedding.{name}", rows, shape)
    return parts


def _layer_key(settings: ModelSettings, network: str, layer: str, place: str, weight: str) -> str:
    first = "mlp_t" if weight in ("gate_up", "down") else "self_attn"
    sublayers = ("attn", "attn_t", "mlp") if isinstance(settings, SeRrmSettings) else (first, "mlp")
    return f"{NETWORKS[network]}.layers.{layer}.{sublayers[int(place)]}.{WEIGHTS[weight]}.weight"


def to_published(parts: Mapping[str, Part], ours: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Our weights, or as many of their gradients as there are, under the published keys and in the published shapes."""
    return {
        key: ours[part.name][part.rows].reshape(part.shape)
        for key, part in parts.items()
        if part.name in ours
    }


def published_model(
    settings: ModelSettings, weights: Mapping[str, Tensor], num_symbols: int, num_positions: int
) -> RecurrentModel:
    """A model with the weights of a published state dict and as many task types as that has.

    Without a task-type table in the state dict, a model that has one keeps its initial one, with one row.
    Raises ValueError naming a key that is unknown, missing or of the wrong shape, or a setting without published form.
    """
    model = build_model(settings, num_symbols, num_positions=num_positions)
    state = {name: value.clone() for name, value in model.state_dict().items()}
    parts = published_parts(settings, state)
    theirs = {short_key(key): value for key, value in weights.items()}
    if unknown := sorted(theirs.keys() - parts.keys()):
        raise ValueError(f"{unknown[0]}: this model has no such weight")
    if TASK_TYPES in parts and TASK_TYPES not in theirs:
        log.warning("no task-type embeddings in the file: zeros take their place")
        del parts[TASK_TYPES]
    for key, part in parts.items():
        if key not in theirs:
            raise ValueError(f"{key}: missing")
        shape = theirs[key].shape
        expected = part.shape if key != TASK_TYPES else (max(1, *shape[:1]), *part.shape[1:])
        if shape != expected:
            raise ValueError(f"{key}: expected the shape {expected}, got {tuple(shape)}")
        if key == TASK_TYPES:
            state[TABLE] = theirs[key].float()
        else:
            rows = state[part.name][part.rows]
            rows.copy_(theirs[key].reshape(rows.shape))
    model.task_types = state.get(TABLE)  # it may have another number of rows
    model.load_state_dict(state)
    return model


def published_weights(settings: ModelSettings, model: RecurrentModel) -> dict[str, Tensor]:
    """The weights of a model under the published keys and in the published shapes, each with its own memory.

    Raises ValueError naming a setting that has no published form.
    """
    ours = model.state_dict()
    weights = to_published(published_parts(settings, ours), ours)
    return {"".join(PREFIXES) + key: value.clone() for key, value in weights.items()}


def short_key(key: str) -> str:
    """A published key without the wrappers it may have been saved in."""
    for prefix in PREFIXES:
        key = key.removeprefix(prefix)
    return key
