"""The authors' checkpoint keys and ours: the only place that knows how their code names its weights.

Every pair is the same numbers, perhaps in another shape (their embeddings carry singleton axes of `B K I D`) or
several of theirs stacked into one of ours, so the mapping works both ways.
"""

import re
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from serrm.models.settings import NUM_SPECIAL, ModelSettings, SeRrmSettings

PREFIXES = ("_orig_mod.", "model.", "inner.")
TASK_TYPES = "puzzle_emb.weights"
TABLE = "task_types"  # the same, ours
# ours <- theirs, stacked along the first axis (after the singleton one, if any)
STACKS = {
    "se_rrm": {
        "embedding.symbols": ("embed_special_tokens", "embed_symbol_tokens"),
        "embedding.registers": ("add_tokens_special", "add_tokens"),
    },
    "trm": {"initial": ("L_init", "H_init")},
    "hrm": {"initial": ("L_init", "H_init")},
}
SEQUENCE = {
    "embed_tokens.embedding_weight": "embedding.tokens",
    "lm_head.weight": "readout.weight",
    "q_head.weight": "readout.halt_weight",
    "q_head.bias": "readout.halt_bias",
}
SINGLE = {
    "se_rrm": {"embed_symbols": "embedding.symbols", "lm_head.weight": "readout.weight", "Z_init": "initial"},
    "trm": SEQUENCE,
    "hrm": SEQUENCE,
}
NETWORKS = {
    "se_rrm": {"L_level": "block"},
    "trm": {"L_level": "block"},
    "hrm": {"L_level": "low", "H_level": "high"},
}
SWIGLU = {"gate_up_proj.weight": "gate_up", "down_proj.weight": "down"}
ATTENTION = {"qkv_proj.weight": "qkv", "o_proj.weight": "out"}
# their sublayer -> place in our layer, path to the part, names of its weights
SUBLAYERS = {
    "se_rrm": {
        "attn": ("0.sublayer", ATTENTION),
        "attn_t": ("1.sublayer", ATTENTION),
        "mlp": ("2.sublayer", SWIGLU),
    },
    "trm": {
        "self_attn": ("0.sublayer", ATTENTION),
        "mlp_t": ("0.sublayer.sublayer", SWIGLU),
        "mlp": ("1.sublayer", SWIGLU),
    },
}
SUBLAYERS["hrm"] = SUBLAYERS["trm"]
# Settings for which the published code has no weights, or weights of another meaning.
UNPUBLISHED = {"se_rrm": {"planes": "usual", "positions": "none", "task_types": "full"}, "trm": {}, "hrm": {}}
LAYER = re.compile(r"(\w_level)\.layers\.(\d+)\.(\w+)\.(.+)")


def family_of(keys: Mapping[str, object]) -> str:
    """Which family a published state dict belongs to, by its keys; ValueError if to none."""
    short = {short_key(key) for key in keys}
    for family, marks in {"se_rrm": {"Z_init"}, "trm": {"L_init"}}.items():
        if marks <= short:
            has_two = any(key.startswith("H_level.") for key in short)
            return "hrm" if family == "trm" and has_two else family
    raise ValueError(
        f"no published HRM, TRM or SE-RRM checkpoint: neither Z_init nor L_init among {len(short)} keys"
    )


def from_published(
    family: str, weights: Mapping[str, Tensor], shapes: Mapping[str, torch.Size]
) -> tuple[dict[str, Tensor], Tensor | None]:
    """Our state dict (of the given shapes, without the task-type table) and the table of the authors' state dict.

    Of weights that `check_published` has let pass.
    """
    theirs = {short_key(key): value for key, value in weights.items()}
    task_types = theirs.pop(TASK_TYPES, None)
    ours = {name: torch.empty(0) for name, shape in shapes.items() if shape.numel() == 0}
    for name, keys in STACKS[family].items():
        parts = [_rows(theirs.pop(key)) for key in keys if key in theirs]
        if parts:
            ours[name] = torch.cat(parts)
    ours |= {_our_name(family, key): value for key, value in theirs.items()}
    return {name: ours[name].reshape(shape).float() for name, shape in shapes.items()}, task_types


def to_published(
    family: str, ours: Mapping[str, Tensor], shapes: Mapping[str, torch.Size]
) -> dict[str, Tensor]:
    """Our weights, or their gradients, under the published keys and in the published shapes asked for."""
    theirs = {TASK_TYPES: ours[TABLE]} if TABLE in ours else {}
    for name, stacked in STACKS[family].items():
        present = {short: shapes[key] for key in shapes if (short := short_key(key)) in stacked}
        ordered = [short for short in stacked if short in present]
        if ordered:
            sizes = [_num_rows(present[short]) for short in ordered]
            theirs.update(zip(ordered, ours[name].split(sizes), strict=True))
    result = {}
    for key, shape in shapes.items():
        short = short_key(key)
        value = theirs[short] if short in theirs else ours[_our_name(family, short)]
        result[key] = value.reshape(shape)
    return result


def published_shapes(settings: ModelSettings, shapes: Mapping[str, torch.Size]) -> dict[str, torch.Size]:
    """The published keys, without wrappers, and shapes for a model of ours with a state dict of these shapes.

    Raises ValueError naming a setting that has no published form.
    """
    for setting, value in UNPUBLISHED[settings.family].items():
        if settings.model_dump()[setting] == value:
            raise ValueError(f"{setting}: {value} has no form in the published code")
    family, own = settings.family, {TASK_TYPES: TABLE}
    own |= {key: _our_name(family, key) for key in (*SINGLE[family], *_layer_keys(family, settings.layers))}
    result = {key: shapes[name] for key, name in own.items() if name in shapes and name not in STACKS[family]}
    result |= _reshaped_parts(settings, shapes)
    assert sum(map(torch.Size.numel, result.values())) == sum(map(torch.Size.numel, shapes.values()))
    return result


def check_published(weights: Mapping[str, Tensor], expected: Mapping[str, torch.Size]) -> None:
    """Compare a published state dict with the keys and shapes that a model asks for (see `published_shapes`).

    The task-type table may be missing, and have any number of rows but none. Raises ValueError naming the first key
    that is there twice, unknown, missing or of the wrong shape.
    """
    found: dict[str, torch.Size] = {}
    for key, value in weights.items():
        short = short_key(key)
        if short in found:
            raise ValueError(f"{short}: there twice, the second time as {key}")
        if short not in expected:
            raise ValueError(f"{short}: this model has no such weight")
        found[short] = value.shape
    for key, shape in expected.items():
        if key == TASK_TYPES:
            rows = found[key][0] if found.get(key) else 1
            shape = torch.Size((max(rows, 1), *shape[1:]))
        elif key not in found:
            raise ValueError(f"{key}: missing")
        if found.get(key, shape) != shape:
            raise ValueError(f"{key}: expected the shape {tuple(shape)}, got {tuple(found[key])}")


def short_key(key: str) -> str:
    """A published key without the wrappers it may have been saved in."""
    for prefix in PREFIXES:
        key = key.removeprefix(prefix)
    return key


def _layer_keys(family: str, num_layers: int) -> Iterator[str]:
    """Published keys of the layers; a model has some of them."""
    for network in NETWORKS[family]:
        for layer in range(num_layers):
            for sublayer, (_, names) in SUBLAYERS[family].items():
                yield from (f"{network}.layers.{layer}.{sublayer}.{weight}" for weight in names)


def _reshaped_parts(settings: ModelSettings, shapes: Mapping[str, torch.Size]) -> dict[str, torch.Size]:
    """Published shapes of embeddings and initial states, which are `1 K R D` and ` D`."""
    width = settings.width
    if not isinstance(settings, SeRrmSettings):
        return dict.fromkeys(("L_init", "H_init"), torch.Size((width,)))
    planes, registers = shapes["embedding.symbols"][0], settings.registers
    tied = {
        "embed_special_tokens": (1, NUM_SPECIAL, 1, width),
        "embed_symbol_tokens": (1, 1, 1, width),
        "add_tokens_special": (1, NUM_SPECIAL, registers, width),
        "add_tokens": (1, 1, registers, width),
    }
    untied = {"embed_symbols": (1, planes, 1, width), "add_tokens": (1, planes, registers, width)}
    chosen = (tied if settings.symbols == "tied" else untied).items()
    return {"Z_init": torch.Size((width,))} | {
        key: torch.Size(shape) for key, shape in chosen if 0 not in shape
    }


def _our_name(family: str, key: str) -> str:
    match = LAYER.fullmatch(key)
    if match is None:
        return SINGLE[family][key]
    network, layer, sublayer, weight = match.groups()
    path, names = SUBLAYERS[family][sublayer]
    return f"networks.{NETWORKS[family][network]}.layers.{layer}.{path}.{names[weight]}"


def _rows(value: Tensor) -> Tensor:
    """(1, V, R, D) -> (V, R, D), and a vector (D) -> (1, D)."""
    return value[0] if value.ndim == 4 else value[None]


def _num_rows(shape: torch.Size) -> int:
    return shape[1] if len(shape) == 4 else 1
