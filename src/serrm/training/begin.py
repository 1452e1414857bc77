"""What a cell's training begins with: its stream of examples, its model, and for a fine-tuning another's weights.

Those are given between the built model and its trainer, so that the average begins with them too. Only weights travel:
optimiser, schedule, slots and the stream of puzzles begin afresh. (No part of the paper.)
"""

from pathlib import Path

import torch

from serrm.arrays.stream import Stream
from serrm.arrays.training_data import open_stream
from serrm.manifest import hash_file
from serrm.models.recurrence import RecurrentModel
from serrm.models.registry import build_model
from serrm.training.checkpoint import MODEL, check, read_config, read_weights
from serrm.training.settings import TrainCell


def open_cell_stream(cell: TrainCell, arrays: Path) -> Stream:
    """The training examples of a cell. ValueError if the arrays are not what it needs."""
    used = cell.arrays
    return open_stream(
        arrays,
        used.num_augmentations,
        used.seed,
        has_identity_twice=cell.fidelity.identity_twice,
        hints=cell.train.hints,
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


def first_weights(model: RecurrentModel, origin: str | None, begun: Path | None) -> str | None:
    """Give `model` the weights of `origin`, unless a checkpoint says that it has begun; returns their sha256."""
    if origin is None:
        return None
    if begun is None:
        return load_initial(model, Path(origin))
    sha256: str = read_config(begun)["initial_sha256"]
    return sha256


@torch.no_grad()
def load_initial(model: RecurrentModel, checkpoint: Path) -> str:
    """Give `model` the averaged weights of a checkpoint folder; returns the sha256 of the weights' file.

    Raises ValueError if there is no checkpoint, and naming the first weight that is missing, unknown or of another
    shape than this model's.
    """
    check(checkpoint)
    theirs, ours = read_weights(checkpoint), model.state_dict()
    for name in sorted(theirs.keys() | ours.keys()):
        if name not in theirs:
            raise ValueError(f"train.init_from: {checkpoint} has no weight {name}, which this model needs")
        if name not in ours:
            raise ValueError(f"train.init_from: {checkpoint} has a weight {name} that this model lacks")
        if theirs[name].shape != ours[name].shape:
            shapes = f"{tuple(theirs[name].shape)}, this model {tuple(ours[name].shape)}"
            raise ValueError(f"train.init_from: {name} of {checkpoint} has the shape {shapes}")
    model.load_state_dict(theirs)
    return hash_file(checkpoint / MODEL)
