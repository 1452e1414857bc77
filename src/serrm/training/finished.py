"""A training that was finished elsewhere: found in its scratch folder, it is put in place as if trained here.

Its records are told again, so that training log and MLflow hear of all of them; what it was trained on stays what its
config.json says.
"""

import logging
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from serrm.manifest import new_directory
from serrm.training import checkpoint as ckpt
from serrm.training.progress import Record
from serrm.training.snapshots import SNAPSHOTS

log = logging.getLogger(__name__)
FINISHED = "finished"  # the folder, beside the checkpoints of an unfinished training


def install(
    scratch: Path, target: Path, expected: Mapping[str, Any], on_record: Callable[[Record], None]
) -> dict[str, Any]:
    """Put the finished training of a cell's scratch folder into `target`; returns its config.json.

    ValueError if the training is damaged, or made with settings or data other than those `expected`.
    """
    finished = scratch / FINISHED
    if damaged := ckpt.damage(finished):
        raise ValueError(f"{finished} is damaged: {damaged}; unpack it again, or remove it to train here")
    state = ckpt.read_training_state(finished, expected, torch.device("cpu"))
    config = ckpt.read_config(finished)
    for record in state["progress"]["records"]:
        on_record(record)
    with new_directory(target) as folder:
        shutil.copytree(finished, folder, dirs_exist_ok=True)
        if (scratch / SNAPSHOTS).is_dir():
            shutil.copytree(scratch / SNAPSHOTS, folder / SNAPSHOTS, dirs_exist_ok=True)
        ckpt.write_sums(folder)
    shutil.rmtree(scratch)
    log.info("%s was trained elsewhere (%s): in place", target.name, config["training"]["device"])
    return config
