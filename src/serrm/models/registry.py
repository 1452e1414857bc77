"""The model families by name, and how one of them is built from its settings."""

from collections.abc import Callable
from typing import Any

import torch

from serrm.models.hrm_trm import build_hrm, build_trm
from serrm.models.layers import Rng
from serrm.models.recurrence import RecurrentModel
from serrm.models.se_rrm import build_se_rrm, initial_task_types
from serrm.models.settings import ModelSettings

# Each takes (settings, num_symbols, num_positions, generator).
FAMILIES: dict[str, Callable[[Any, int, int, Rng], RecurrentModel]] = {
    "se_rrm": build_se_rrm,
    "trm": build_trm,
    "hrm": build_hrm,
}


def build_model(
    settings: ModelSettings,
    num_symbols: int,
    generator: Rng = None,
    *,
    num_positions: int = 0,
    num_task_types: int = 1,
) -> RecurrentModel:
    """A model of the settings' family for an alphabet of `num_symbols` (pad included), with its task-type table.

    `num_positions` matters to a model bound to one size of grid only.
    """
    model = FAMILIES[settings.family](settings, num_symbols, num_positions, generator)
    if settings.family == "se_rrm":
        model.task_types = initial_task_types(settings, num_task_types, num_symbols, generator)
    else:
        model.task_types = torch.zeros(num_task_types, settings.width)
    return model
