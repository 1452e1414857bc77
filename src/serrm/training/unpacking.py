"""From a packed folder back into files: all of it where a training runs, the training alone where it came from.

Nothing is taken from a folder that is not whole, or is of another cell or other data.
"""

import json
import re
import shutil
import tempfile
from pathlib import Path

from serrm.arrays.training_data import training_hash
from serrm.config import parse, read_cell
from serrm.manifest import file_names
from serrm.training import checkpoint as ckpt
from serrm.training.finished import FINISHED
from serrm.training.packing import PACKING, PART, Packing, newest, places
from serrm.training.settings import TrainCell
from serrm.training.snapshots import SNAPSHOTS

PART_NAME = re.compile(rf"(.*){re.escape(PART)}(\d{{5}})")


def read_packing(packed: Path) -> tuple[Packing, TrainCell]:
    """What a packed folder belongs to. ValueError if it is none, or not whole as it was written."""
    if not (packed / PACKING).is_file():
        raise ValueError(f"{packed}: nothing packed here ({PACKING} is missing)")
    if wrong := ckpt.damage(packed):
        raise ValueError(f"{packed} is not as it was packed: {wrong}")
    packing = parse(Packing, json.loads((packed / PACKING).read_text()), PACKING)
    settings = packed / "data" / "config" / packing.profile / "train" / f"{packing.name}.json"
    cell = read_cell(TrainCell, settings)
    if (cell.name, cell.digest()) != (packing.name, packing.digest):
        raise ValueError(f"{packed}: {settings.name} is not of the cell {packing.name} that {PACKING} names")
    return packing, cell


def unpack(packed: Path, root: Path, below: str = "") -> None:
    """Copy the files of a packed folder, those below one of its folders, to `root`, joining parts."""
    for name in file_names(packed):
        if not name.startswith(below) or name in (PACKING, ckpt.SUMS):
            continue
        part = PART_NAME.fullmatch(name)
        whole, number = (name, 0) if part is None else (part[1], int(part[2]))
        target = root / whole
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("ab" if number else "wb") as file, (packed / name).open("rb") as piece:
            shutil.copyfileobj(piece, file)


def bring_home(packed: Path, root: Path, cell: TrainCell) -> str:
    """Put the packed training of a `cell` of this project where its training looks for it; says in words what it is.

    Raises ValueError if it is of another cell or other data, or this project has come further already.
    """
    packing, theirs = read_packing(packed)
    expected = ckpt.expected_of(cell, packing.data_hash)
    if difference := ckpt.first_difference(theirs.model_dump(mode="json"), expected["cell"], "cell"):
        raise ValueError(f"{packed}: packed with another {difference}")
    home = places(root, packing.profile, cell)
    if home.arrays.is_dir() and (ours := training_hash(home.arrays)) != packing.data_hash:
        raise ValueError(f"{packed}: packed with other data: {packing.data_hash!r}, here {ours!r}")
    home.scratch.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.scratch.parent) as folder:
        there = places(Path(folder), packing.profile, cell).scratch
        unpack(packed, Path(folder), there.relative_to(folder).as_posix())
        return _take(there, home.scratch, packed)


def _take(theirs: Path, ours: Path, packed: Path) -> str:
    """Move a scratch folder's newest checkpoint and its snapshots into ours, which may have some of its own."""
    arrived = newest(theirs) if theirs.is_dir() else None
    if arrived is None:
        raise ValueError(f"{packed}: it was not trained on yet, there is nothing to bring home")
    found = newest(ours) if ours.is_dir() else None
    steps = [-1 if each is None else _steps(each) for each in (arrived, found)]
    if steps[1] > steps[0]:
        raise ValueError(f"{packed}: at step {steps[0]}, {ours} has come to step {steps[1]}")
    (ours / SNAPSHOTS).mkdir(parents=True, exist_ok=True)
    for snapshot in sorted((theirs / SNAPSHOTS).glob("*.safetensors")):
        snapshot.replace(ours / SNAPSHOTS / snapshot.name)
    if (ours / arrived.name).is_dir():
        shutil.rmtree(ours / arrived.name)
    arrived.replace(ours / arrived.name)
    return f"finished at step {steps[0]}" if arrived.name == FINISHED else f"step {steps[0]}"


def _steps(checkpoint: Path) -> int:
    return int(ckpt.read_config(checkpoint)["training"]["steps"])
