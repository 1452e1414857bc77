"""The identity of a training: its settings, data, code and kind of arithmetic, of which its result is made.

An unfinished training lies in a folder that is named after its identity (`Identity.folder_name`), and it goes on in no
other. So an edit starts another training, and when the edit is undone the first one goes on. A finished training is
known by the hash of its weights. Needs no torch.
"""

import hashlib
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TextIO

from serrm.core.files import existing, parse_file
from serrm.core.locks import NoLocks, lock
from serrm.core.settings import Settings

log = logging.getLogger(__name__)
IDENTITY = "identity.json"  # in the scratch folder
LOCK = "lock"  # held there by the process that trains
MODEL = "model.safetensors"  # in a checkpoint
SUMS = "SHA256SUMS"  # there, as sha256sum writes and checks it


class PipelineRun(NamedTuple):
    """The place of a training in a pipeline: the profile, the run's name there, and the hash of the code it uses."""

    profile: str
    name: str
    code: str


class Identity(Settings):
    """Digests of all that makes a training's result, and the run that it is of."""

    profile: str
    run: str
    settings: str
    data: str
    """Digest of the training arrays and of the weights that fine-tuning starts from."""
    code: str
    arithmetic: str
    """The kind of arithmetic, in words."""

    @property
    def folder_name(self) -> str:
        """The sha256 of settings, data, code and arithmetic; the profile and the run's name are labels."""
        parts = (self.settings, self.data, self.code, self.arithmetic)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def differences(self, other: "Identity") -> list[str]:
        """Name the parts in which two identities differ."""
        names = ("settings", "data", "code", "arithmetic")
        return [name for name in names if getattr(self, name) != getattr(other, name)]


class Unfinished(NamedTuple):
    """An unfinished training: its folder, its identity and the optimiser steps that its newest checkpoint has had."""

    folder: Path
    identity: Identity
    step: int


def unfinished_trainings(scratch: Path) -> Iterator[Unfinished]:
    """Yield the trainings in a scratch folder that have a checkpoint, the most recent one first."""
    files = scratch.glob(f"*/{IDENTITY}")
    for file in sorted(files, key=lambda file: file.parent.stat().st_mtime, reverse=True):
        steps = [int(path.name.removeprefix("step_")) for path in file.parent.glob("step_*")]
        if steps:
            yield Unfinished(file.parent, parse_file(file, Identity.model_validate_json), max(steps))


def lock_folder(folder: Path) -> TextIO:
    """Lock a scratch folder until the file that is returned is closed. ValueError if another process has the lock."""
    try:
        file = lock(folder / LOCK)
    except NoLocks as error:
        log.warning("not locked against other processes: %s", error)
        return (folder / LOCK).open("a", encoding="utf-8")
    if file is None:
        raise ValueError(f"{folder}: another process trains here")
    return file


def weights_sha256(checkpoint: Path) -> str:
    """Find the sha256 of a checkpoint's weights as SHA256SUMS has it. ValueError if it is not there."""
    for line in existing(checkpoint / SUMS).read_text().splitlines():
        digest, _, name = line.partition("  ")
        if name == MODEL:
            return digest
    raise ValueError(f"{checkpoint / SUMS}: no hash of {MODEL}")
