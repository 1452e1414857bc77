"""Resolved settings of a cell in words: one hyperparameter at a time, as the tables A2 to A4 of the paper write it."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from serrm.reporting.cells import DASH

Settings = Mapping[str, Any]
"""What a training resolves to, as plain data: sections `model`, `train`, `arrays`, `fidelity`."""

NETWORKS: Final = {"hrm": 2, "trm": 1}
POSITIONS: Final = {
    "rope": "RoPE",
    "rope2d": "RoPE2D",
    "rope2d_shifted": "RoPE2D, shifted",
    "rope2d_boxes": "RoPE2D with boxes",
    "rope2d_in_boxes": "RoPE2D of boxes and places in them",
    "rope2d_linear": "RoPE2D with evenly spaced frequencies",
    "none": "none",
}
SCHEDULES: Final = {"constant": "Warmup + Constant-LR", "cosine": "Warmup + Cosine-Decay"}


def setting(key: str, settings: Settings | None) -> str:
    """A hyperparameter by its key in VALUES; a dash without settings, or where the family has none of the kind."""
    return DASH if settings is None else VALUES[key](settings)


def _halting(settings: Settings) -> str:
    halting = settings["train"]["halting"]
    if halting["kind"] == "random":
        return f"random ({100 * halting['probability']:g}% chance per step)"
    return "q-learning"


def _length(settings: Settings) -> str:
    train = settings["train"]
    return f"{train['steps']:,} optimiser steps" if train.get("steps") else f"{train['epochs']:.10g}"


def _layers(settings: Settings) -> str:
    model = settings["model"]
    if model["family"] == "se_rrm":
        return f"{2 * model['layers']} ({model['layers']} for each dimension)"
    return str(NETWORKS[model["family"]] * model["layers"])


def _of_family(key: str) -> Callable[[Settings], str]:
    """A setting that only some families have."""
    return lambda settings: str(settings["model"].get(key, DASH))


def _task_types(key: str) -> Callable[[Settings], str]:
    def value(settings: Settings) -> str:
        chosen = settings["train"]["task_types"]
        return DASH if chosen is None else f"{chosen[key]:g}"

    return value


def _heads(settings: Settings) -> str:
    model = settings["model"]
    if model["family"] == "se_rrm":
        over_symbols = f"{model['symbol_heads']} × {model['symbol_head_dim']}"
        return f"{model['heads']} × {model['head_dim']}, over symbols {over_symbols}"
    return f"{model['heads']} × {model['width'] // model['heads']}"


VALUES: Final[dict[str, Callable[[Settings], str]]] = {
    "supervision_steps": lambda cell: str(cell["train"]["max_supervision_steps"]),
    "halting": _halting,
    "cycles": lambda cell: f"H={cell['model']['h_cycles']}, L={cell['model']['l_cycles']}",
    "batch_size": lambda cell: str(cell["train"]["batch_size"]),
    "num_epochs": _length,
    "lr": lambda cell: f"{cell['train']['learning_rate']:g}",
    "weight_decay": lambda cell: f"{cell['train']['weight_decay']:g}",
    "schedule": lambda cell: SCHEDULES.get(cell["train"]["schedule"], cell["train"]["schedule"]),
    "task_type_lr": _task_types("learning_rate"),
    "task_type_weight_decay": _task_types("weight_decay"),
    "hidden_size": lambda cell: str(cell["model"]["width"]),
    "layers": _layers,
    "positions": lambda cell: POSITIONS.get(cell["model"]["positions"], cell["model"]["positions"]),
    "standard_length": lambda cell: str(cell["model"].get("standard_length") or DASH),
    "heads": _heads,
    "symbols": _of_family("symbols"),
    "planes": _of_family("planes"),
    "task_types": _of_family("task_types"),
    "registers": _of_family("registers"),
    "prefix": _of_family("prefix"),
    "mixer": _of_family("mixer"),
    "dropout": lambda cell: f"{cell['model']['attention_dropout']:g}",
    "augmentations": lambda cell: f"{cell['arrays']['num_augmentations']:,}",
    "warmup": lambda cell: f"{cell['train']['warmup_steps']:,}",
    "betas": lambda cell: ", ".join(f"{beta:g}" for beta in cell["train"]["betas"]),
    "ema": lambda cell: f"{cell['train']['ema']:g}",
    "precision": lambda cell: cell["train"]["precision"],
}

NAMES: Final = {
    "task_type_lr": "Learning rate for puzzle embeddings",
    "task_type_weight_decay": "Weight decay for puzzle embeddings",
    "standard_length": "Positions without scaled scores",
    "heads": "Attention heads",
    "symbols": "Symbol embeddings",
    "planes": "Symbol planes",
    "task_types": "Task-type embeddings",
    "registers": "Register positions",
    "prefix": "Prefix positions",
    "mixer": "Mixing of positions",
    "dropout": "Attention dropout",
    "augmentations": "Augmentations of a training puzzle",
    "warmup": "Warm-up steps",
    "betas": "Betas",
    "ema": "Weight average (EMA)",
    "precision": "Arithmetic",
}
