"""A checkpoint directory becomes a model ready to predict."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from serrm.config import TrainCell, parse
from serrm.models.recurrence import RecurrentModel
from serrm.models.registry import build_model
from serrm.training.checkpoint import read_config, read_weights


@dataclass(frozen=True)
class LoadedModel:
    """A model in evaluation mode with what it was trained as."""

    model: RecurrentModel
    cell: TrainCell
    config: dict[str, Any]


def load_model(
    checkpoint: Path,
    device: torch.device,
    *,
    has_dropout: bool = False,
    weights: dict[str, Tensor] | None = None,
) -> LoadedModel:
    """The averaged weights of a checkpoint (or the given ones of a snapshot) on `device`.

    `has_dropout` keeps attention dropout active, a fault of the published code that can be switched on.
    ValueError if the directory is no checkpoint or its weights do not fit its settings.
    """
    config = read_config(checkpoint)
    cell = parse(TrainCell, config["cell"], f"{checkpoint}: cell")
    model = build_model(cell.model, config["num_symbols"], num_positions=config["side"] ** 2)
    try:
        model.load_state_dict(weights or read_weights(checkpoint))
    except RuntimeError as error:
        raise ValueError(f"{checkpoint}: {str(error).splitlines()[-1].strip()}") from error
    return LoadedModel(model.to(device).train(has_dropout), cell, config)
