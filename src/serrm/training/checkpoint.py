"""Checkpoints: a directory with everything needed to resume bit for bit, written whole or not at all.

`model.safetensors` holds the EMA weights, for evaluation and sharing; `training_state.pt` holds the raw weights, the
optimiser, the EMA, the slots and the number of examples drawn; `config.json` holds the settings, the hash of the data
and results (`CheckpointConfig`).
Nothing in it depends on the machine's speed or the moment, so that repeating a training gives the same bytes.
`SHA256SUMS` holds the hashes of all files. Call `check` or `latest_sound` before reading: the readers check no hashes.
"""

import io
import json
import logging
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save
from torch import Tensor

from serrm.core.files import file_names, hash_file, new_directory, write_whole
from serrm.core.settings import parse
from serrm.training.identity import MODEL, SUMS
from serrm.training.settings import CheckpointConfig

log = logging.getLogger(__name__)
STATE = "training_state.pt"
CONFIG = "config.json"
FACTS = "facts"  # the key of a snapshot's metadata
SNAPSHOTS = "snapshots"  # EMA weights of earlier steps, in a checkpoint and in the scratch folder of a run


def write_checkpoint(
    target: Path, weights: Mapping[str, Tensor], state: Mapping[str, Any] | None, config: CheckpointConfig
) -> None:
    """Write a checkpoint under a temporary name, then rename it.

    Without a `state` training cannot resume from it.
    """
    with new_directory(target) as folder:
        # Written from memory, so a full disk raises OSError; PyTorch and safetensors raise other errors.
        (folder / MODEL).write_bytes(save({name: tensor.contiguous() for name, tensor in weights.items()}))
        if state is not None:
            _write_state(folder, state)
        (folder / CONFIG).write_text(config.model_dump_json(indent=2) + "\n")
        write_sums(folder)


def _write_state(folder: Path, state: Mapping[str, Any]) -> None:
    content = io.BytesIO()
    torch.save(_with_one_object_per_string(state), content)
    (folder / STATE).write_bytes(content.getbuffer())


def _with_one_object_per_string(value: Any) -> Any:
    """Copy nested dicts, lists and tuples with equal strings as one object.

    Pickle writes a string that it has seen as a reference. So a resumed training, whose keys were read from a file,
    writes the same bytes as one without interruption.
    """
    if isinstance(value, str):
        return sys.intern(value)
    if isinstance(value, Mapping):
        return {_with_one_object_per_string(key): _with_one_object_per_string(value[key]) for key in value}
    if isinstance(value, list | tuple):
        return type(value)(_with_one_object_per_string(item) for item in value)
    return value


def write_result(target: Path, last: Path, snapshots: Path) -> None:
    """Make the checkpoint of a finished run: a copy of its last one, with the snapshots made on the way."""
    with new_directory(target) as folder:
        shutil.copytree(last, folder, dirs_exist_ok=True)
        shutil.copytree(snapshots, folder / snapshots.name, ignore=shutil.ignore_patterns("*.partial"))
        write_sums(folder)


def write_snapshot(folder: Path, weights: Mapping[str, Tensor], step: int, samples: int, loss: float) -> None:
    """Write EMA weights for the learning curve, with the examples drawn so far and the last record's loss."""
    # Under one key, as safetensors writes several in any order.
    facts = {FACTS: json.dumps({"step": step, "samples": samples, "loss": loss})}
    content = save({name: value.contiguous() for name, value in weights.items()}, metadata=facts)
    write_whole(folder / f"step_{step:09d}.safetensors", content)


def copy_for_prediction(checkpoint: Path, target: Path) -> None:
    """Make a checkpoint of another one's EMA weights and settings, from which training cannot resume."""
    with new_directory(target) as folder:
        for name in (MODEL, CONFIG):
            shutil.copyfile(checkpoint / name, folder / name)
        write_sums(folder)


def copy_without_slots(checkpoint: Path, target: Path) -> None:
    """Copy a checkpoint without the slots of its training state, which on a GPU can take ten times the rest.

    Training goes on from the copy with weights, optimiser, EMA and the place in the examples, and new slots.
    """
    state = read_training_state(checkpoint, torch.device("cpu"))
    state["slots"] = {"position": state["slots"]["position"]}
    with new_directory(target) as folder:
        shutil.copytree(checkpoint, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(STATE))
        _write_state(folder, state)
        write_sums(folder)


def write_sums(folder: Path) -> None:
    """Write the hashes of all files, and wait until the disk has them, so that they survive a power cut."""
    names = [name for name in file_names(folder) if name != SUMS]
    (folder / SUMS).write_text("".join(f"{hash_file(folder / name)}  {name}\n" for name in names))
    for name in (*names, SUMS):
        with (folder / name).open("rb") as file:
            os.fsync(file.fileno())


def damage_of(checkpoint: Path) -> str | None:
    """Describe the first damaged file of a checkpoint briefly; None if all files have their checksums."""
    try:
        lines = (checkpoint / SUMS).read_text().splitlines()
        for expected, name in (line.split("  ", 1) for line in lines):
            if hash_file(checkpoint / name) != expected:
                return f"{name} is not what was written ({(checkpoint / name).stat().st_size} bytes)"
    except (OSError, ValueError) as error:
        return f"{SUMS} cannot be checked: {error}"
    return None if lines else f"{SUMS} is empty"


def check(checkpoint: Path) -> None:
    """Raise ValueError if there is no checkpoint, or if one of its files is not as it was written."""
    for name in (MODEL, CONFIG):
        _existing_file(checkpoint, name)
    if damage := damage_of(checkpoint):
        raise ValueError(f"{checkpoint} is damaged: {damage}")


def misfit_of(error: RuntimeError) -> str:
    """Find the first weight that is missing, unknown or of another shape, by an error of `load_state_dict`."""
    title_and_first = str(error).splitlines()[:2]  # the first weight is on the second line, if there is one
    return title_and_first[-1].strip()


def read_weights(checkpoint: Path) -> dict[str, Tensor]:
    """Read the EMA weights of a checkpoint. ValueError if there is none."""
    return load_file(_existing_file(checkpoint, MODEL))


def read_config(checkpoint: Path) -> CheckpointConfig:
    """Read config.json. ValueError if there is no checkpoint, or a key is missing, unknown or wrong."""
    content = _existing_file(checkpoint, CONFIG).read_text()
    try:
        values = json.loads(content)
    except json.JSONDecodeError as error:
        raise ValueError(f"{checkpoint}: damaged checkpoint: {CONFIG}: {error}") from error
    return parse(CheckpointConfig, values, f"{checkpoint}: {CONFIG}")


def _existing_file(checkpoint: Path, name: str) -> Path:
    if not (checkpoint / name).is_file():
        raise ValueError(f"{checkpoint}: no checkpoint here ({name} is missing)")
    return checkpoint / name


def read_training_state(checkpoint: Path, device: torch.device) -> dict[str, Any]:
    """Read the training state, as plain types and tensors."""
    state: dict[str, Any] = torch.load(checkpoint / STATE, map_location=device, weights_only=True)
    return state


def latest(folder: Path) -> Path | None:
    """Find the newest checkpoint in a scratch folder."""
    return max(folder.glob("step_*"), default=None)


def latest_sound(folder: Path) -> Path | None:
    """Find the newest intact checkpoint; remove newer, damaged ones with a warning.

    Returns None if there is no checkpoint at all. Raises ValueError if all are damaged.
    """
    checkpoints = sorted(folder.glob("step_*"), reverse=True)
    damages = {path: damage_of(path) for path in checkpoints}
    sound = next((path for path in checkpoints if damages[path] is None), None)
    if sound is None:
        if checkpoints:
            newest = checkpoints[0]
            raise ValueError(f"{newest} is damaged: {damages[newest]}; remove {folder} to start again")
        return None
    for path in checkpoints[: checkpoints.index(sound)]:
        log.warning("%s is damaged: %s; continuing from %s", path, damages[path], sound.name)
        shutil.rmtree(path)
    return sound


def prune(folder: Path, num: int) -> None:
    """Remove all but the `num` newest checkpoints, and what an interrupted write left behind."""
    for path in [*sorted(folder.glob("step_*"), reverse=True)[num:], *folder.glob(".step_*")]:
        shutil.rmtree(path)
