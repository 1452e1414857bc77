"""Published checkpoints in and out: a `.pt` state dict of the authors' code becomes our checkpoint, and back.

Only the weights travel, in float32: what they belong to is an entry of params.yaml, and every key and shape is
compared with the model it describes.
"""

import logging
import os
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from serrm.files import new_file
from serrm.inference.load import load_model
from serrm.manifest import hash_file
from serrm.models.recurrence import num_parameters
from serrm.models.settings import ModelSettings, SequenceSettings
from serrm.published.weights import published_model, published_weights
from serrm.puzzles.tasks import alphabet
from serrm.training.checkpoint import CONFIG, MODEL, code_hash, package_versions, write_checkpoint
from serrm.training.settings import RunSettings

log = logging.getLogger(__name__)
# Side of a task's grids as published.
SIDES = {"sudoku": 9, "maze": 30, "arc_agi_1": 30, "arc_agi_2": 30}


def import_checkpoint(
    file: Path, settings: RunSettings, target: Path, *, replaces: bool = False
) -> dict[str, Any]:
    """Write the weights of a published state dict as the checkpoint `target`; returns its config.json.

    `settings` are those of the run that the weights belong to. A checkpoint at `target` is replaced only on demand,
    anything else never.
    A published ARC file does not name the puzzles of its task-type table, so such a checkpoint can be exported
    but not evaluated on ARC tasks.
    Raises ValueError for a file that is no state dict of plain tensors, and naming a key that does not fit.
    """
    _check_target(target, replaces, (target / MODEL).is_file() and (target / CONFIG).is_file())
    if settings.task not in SIDES:
        raise ValueError(f"task {settings.task!r} is none of {', '.join(SIDES)}")
    side = SIDES[settings.task]
    num_symbols = alphabet(settings.task, side).num_symbols
    try:
        model = published_model(settings.model, read_state_dict(file), num_symbols, side**2)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error
    config = {
        "run": settings.model_dump(mode="json"),
        "imported": {"file": file.name, "sha256": hash_file(file)},
        "code_hash": code_hash(),
        "packages": package_versions(),
        "num_symbols": num_symbols,
        "side": side,
        "parameters": num_parameters(model),
        "parameters_with_task_types": num_parameters(model, has_task_types=True),
    }
    write_checkpoint(target, model.state_dict(), None, config)
    return config


def export_checkpoint(checkpoint: Path, target: Path, *, replaces: bool = False) -> dict[str, torch.Size]:
    """Write the weights of a checkpoint as the state dict `target` of the published code; returns its shapes.

    A file at `target` is replaced only on demand. Raises ValueError naming a setting that has no published form.
    """
    _check_target(target, replaces, target.is_file())
    loaded = load_model(checkpoint, torch.device("cpu"))
    try:
        weights = published_weights(loaded.settings.model, loaded.model)
    except ValueError as error:
        raise ValueError(f"{checkpoint}: {error}") from error
    # An open file, as a name would become part of the content.
    with new_file(target) as partial, partial.open("wb") as stream:
        torch.save(weights, stream)
    return {key: value.shape for key, value in weights.items()}


def read_state_dict(path: Path) -> dict[str, Tensor]:
    """A file of tensors by name, unpickled without running any code in it.

    Raises ValueError if it contains code, or anything but floating-point tensors by name.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of unusual pickle protocols
            content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # of any kind, where a file is damaged
        raise ValueError(
            f"no state dict of plain tensors: {type(error).__name__} in unpickling it"
        ) from error
    if not isinstance(content, dict) or not all(
        isinstance(key, str) and isinstance(value, Tensor) and value.is_floating_point()
        for key, value in content.items()
    ):
        raise ValueError("no state dict of plain floating-point tensors")
    return content


def _check_target(target: Path, replaces: bool, is_replaceable: bool) -> None:
    if os.path.lexists(target) and not (replaces and is_replaceable):
        raise ValueError(
            f"{target} exists; --force replaces a checkpoint folder or a state dict, nothing else"
        )


def _warn_of_rotation(settings: ModelSettings) -> None:
    if isinstance(settings, SequenceSettings) and settings.positions == "rope2d":
        log.warning(
            "positions: rope2d: the published code rotates other places (rope2d_shifted), so it gives other answers"
        )
