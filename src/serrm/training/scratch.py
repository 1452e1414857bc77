"""Scratch folders of unfinished trainings as MLflow's mirror sees them: who trains there, and the facts so far.

A folder has an identifier of its own, so that only the training that began MLflow's run continues it. Needs no torch.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import uuid4

from serrm.core.files import parse_file, read_json, write_json
from serrm.core.locks import is_locked
from serrm.core.provenance import current_provenance
from serrm.training.identity import IDENTITY, LOCK, Identity
from serrm.training.settings import RunSettings

FACTS: Final = "provenance.json"
SETTINGS: Final = "settings.json"  # the resolved settings


class Training(NamedTuple):
    """An unfinished training: its folder and identity, the settings of its run, and the facts about it."""

    folder: Path
    identity: Identity
    settings: RunSettings
    facts: dict[str, Any]


def write_facts(folder: Path, workspace: Path) -> None:
    """Write the facts about a training that begins or resumes in a scratch folder."""
    facts = {
        "training_id": read_facts(folder).get("training_id", uuid4().hex),
        "identity": folder.name,
        "experiment": os.environ.get("DVC_EXP_NAME", ""),  # set by `dvc exp run`
        "workspace": str(workspace.resolve()),
    }
    write_json(folder / FACTS, current_provenance(workspace) | facts)


def read_facts(folder: Path) -> dict[str, Any]:
    """Read the facts about the training in a scratch folder; empty without them."""
    return read_json(folder / FACTS)


def is_training(folder: Path) -> bool:
    """Test if a process trains in a scratch folder now. NoLocks if the file system cannot tell."""
    return is_locked(folder / LOCK)


def trainings_of(scratch: Path, profile: str, workspace: Path) -> Iterator[Training]:
    """Yield the unfinished trainings of a profile in a copy of the project, also those without a checkpoint so far."""
    for file in sorted(scratch.glob(f"*/{IDENTITY}")):
        folder, facts = file.parent, read_facts(file.parent)
        if facts.get("workspace") == str(workspace.resolve()) and (folder / SETTINGS).is_file():
            identity = parse_file(file, Identity.model_validate_json)
            if identity.profile == profile:
                settings = parse_file(folder / SETTINGS, RunSettings.model_validate_json)
                yield Training(folder, identity, settings, facts)
