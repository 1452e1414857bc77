"""Builds a model of any family from its settings."""

import torch

from serrm.models.families import ModelSettings
from serrm.models.recurrence import RecurrentModel
from serrm.models.settings import NUM_SPECIAL, ModelSizes


def build_model(
    settings: ModelSettings,
    num_symbols: int,
    generator: torch.Generator,
    *,
    num_positions: int = 0,
    num_task_types: int = 1,
    num_special: int = NUM_SPECIAL,
) -> RecurrentModel:
    """A model of the settings' family for an alphabet of `num_symbols` (including the pad), with its task-type table.

    The generator draws the weights. `num_positions` matters only to a model with weights for one size of grid.
    `num_special` are the first tokens, which no permutation of symbols moves.
    """
    return settings.build(ModelSizes(num_symbols, num_positions, num_task_types, num_special), generator)


def empty_model(
    settings: ModelSettings,
    num_symbols: int,
    *,
    num_positions: int = 0,
    num_task_types: int = 1,
    num_special: int = NUM_SPECIAL,
) -> RecurrentModel:
    """Build the model with zeros as weights, to load weights or to count them; it cannot be trained."""
    return settings.build(ModelSizes(num_symbols, num_positions, num_task_types, num_special), None)
