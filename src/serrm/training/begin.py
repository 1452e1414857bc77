"""What a cell's training begins with: its stream of examples and its model, as the settings say."""

from pathlib import Path

import torch

from serrm.arrays.stream import Stream
from serrm.arrays.tasks import open_stream
from serrm.config import TrainCell
from serrm.models.recurrence import RecurrentModel
from serrm.models.registry import build_model


def open_cell_stream(cell: TrainCell, arrays: Path) -> Stream:
    """The training examples of a cell. ValueError if the arrays are not what it needs."""
    used = cell.arrays
    return open_stream(
        arrays, used.num_augmentations, used.seed, has_identity_twice=cell.fidelity.identity_twice
    )


def build_cell_model(cell: TrainCell, stream: Stream) -> RecurrentModel:
    """The model of a cell with its first weights, on the host."""
    return build_model(
        cell.model,
        stream.num_symbols,
        torch.Generator().manual_seed(cell.seed),
        num_positions=stream.side**2,
        num_task_types=stream.num_task_types,
    )
