"""The weights that a training begins with, where they are another checkpoint's: fine-tuning.

Between the built model and its trainer, so that the average begins with the same weights. Only weights travel:
optimiser, schedule, slots and the stream of puzzles begin afresh. (No part of the paper.)
"""

from pathlib import Path

import torch

from serrm.manifest import hash_file
from serrm.models.recurrence import RecurrentModel
from serrm.training.checkpoint import MODEL, check, read_config, read_weights


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
            raise ValueError(f"train.init_from: {checkpoint} has a weight {name}, which this model has not")
        if theirs[name].shape != ours[name].shape:
            shapes = f"{tuple(theirs[name].shape)}, this model {tuple(ours[name].shape)}"
            raise ValueError(f"train.init_from: {name} of {checkpoint} has the shape {shapes}")
    model.load_state_dict(theirs)
    return hash_file(checkpoint / MODEL)
