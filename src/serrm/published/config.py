"""The authors' configurations as our settings, family by family: their names on the right, ours on the left.

Beside `published/weights.py`, which does the same for weights. A new family is an entry of `SETTINGS`.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from serrm.config import parse
from serrm.models.settings import HrmSettings, ModelSettings, SeRrmSettings, TrmSettings

Config = Mapping[str, Any]


def settings_from_published(config: Config) -> ModelSettings:
    """Our settings of a published configuration, whose key `model` names the family.

    Raises ValueError for a family that is not among `SETTINGS`, and naming a key that is missing or wrong.
    """
    family = str(config.get("model"))
    if family not in SETTINGS:
        raise ValueError(f"models of the family {family!r} are not built here")
    try:
        return SETTINGS[family](config)
    except (KeyError, TypeError, ZeroDivisionError) as error:
        raise ValueError(f"config: {type(error).__name__}: {error}") from error


def se_rrm_settings(config: Config) -> SeRrmSettings:
    """A published SE-RRM configuration as our settings."""
    values = {
        "family": "se_rrm",
        **_shared(config),
        "head_dim": config["head_dim"],
        "symbol_heads": config["num_heads_t"],
        "symbol_head_dim": config["head_dim_t"],
        "positions": config["pos_encodings"],
        "registers": config["add_tokens"],
        "symbols": "tied" if config["equivariant_symbols"] else "untied",
        "planes": "all",
        "task_types": "factored" if config["puzzle_emb_ndim"] else "none",
        "attention_dropout": config["dropout"],
    }
    return parse(SeRrmSettings, values, "config")


def trm_settings(config: Config) -> TrmSettings:
    """A published TRM configuration as our settings."""
    mixer = "mlp" if config["mlp_t"] else "attention"
    prefix = config["puzzle_emb_len"] or _default_prefix(config)
    values = {"family": "trm", **_shared(config), **_sequence(config), "prefix": prefix, "mixer": mixer}
    return parse(TrmSettings, values, "config")


def hrm_settings(config: Config) -> HrmSettings:
    """A published HRM configuration as our settings."""
    values = {"family": "hrm", **_shared(config), **_sequence(config), "prefix": _default_prefix(config)}
    return parse(HrmSettings, values, "config")


SETTINGS: dict[str, Callable[[Config], ModelSettings]] = {
    "se_rrm": se_rrm_settings,
    "trm": trm_settings,
    "hrm": hrm_settings,
}


def _shared(config: Config) -> dict[str, Any]:
    """What all families have."""
    return {
        "width": config["hidden_size"],
        "layers": config["L_layers"],
        "h_cycles": config["H_cycles"],
        "l_cycles": config["L_cycles"],
        "heads": config["num_heads"],
        "expansion": config["expansion"],
    }


def _sequence(config: Config) -> dict[str, Any]:
    """What HRM and TRM have; the published RoPE2D rotates the wrong places behind a prefix."""
    positions = config["pos_encodings"]
    return {
        "positions": "rope2d_shifted" if positions == "rope2d" else positions,
        "attention_dropout": config.get("dropout", 0.0),
    }


def _default_prefix(config: Config) -> int:
    """As many positions as the task embedding fills."""
    ratio: float = config["puzzle_emb_ndim"] / config["hidden_size"]
    return math.ceil(ratio)
