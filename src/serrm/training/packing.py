"""Moving a training to another machine and back: a folder with what is needed to go on, within limits of size.

A packed folder is laid out as the repository: settings, the training arrays, the scratch folder with the newest
checkpoint. Files above a limit are in parts; `SHA256SUMS` covers all. What may stay behind, if all together is too
large: recurrent states (made again on arrival), and the oldest snapshots made on the way.
"""

import logging
import math
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import torch
from pydantic import PositiveInt

from serrm.arrays.training_data import copy_training_data, training_hash
from serrm.manifest import file_names, new_directory
from serrm.models.recurrence import num_parameters
from serrm.settings import Settings
from serrm.training import checkpoint as ckpt
from serrm.training.begin import build_cell_model, open_cell_stream
from serrm.training.finished import FINISHED
from serrm.training.rebuild import lightened
from serrm.training.settings import TrainCell
from serrm.training.snapshots import SNAPSHOTS

log = logging.getLogger(__name__)
PACKING = "packing.json"
PART = ".part"  # and five digits, behind the name of a file
A_LINE = 256  # bytes of SHA256SUMS a file, at most


class Packing(Settings):
    """What a packed folder belongs to, and how large it may be."""

    profile: str
    name: str  # of the cell
    digest: str
    data_hash: str
    code_hash: str
    max_file: PositiveInt | None
    max_total: PositiveInt | None


class Places(NamedTuple):
    """Where a cell's files lie below a root: the repository's, or that of a packed folder."""

    root: Path
    settings: Path  # resolved
    arrays: Path  # what it is trained on
    run: Path  # the finished training
    scratch: Path  # the unfinished one


class Packed(NamedTuple):
    """What a packed folder holds."""

    num_bytes: int
    num_files: int
    what: str  # such as "step 300, recurrent states left behind"


def places(root: Path, profile: str, cell: TrainCell) -> Places:
    """Where a cell's files lie."""
    data, name = root / "data", cell.name
    return Places(
        root,
        data / "config" / profile / "train" / f"{name}.json",
        data / "arrays" / profile / cell.task,
        data / "runs" / profile / name,
        data / "scratch" / cell.digest(),
    )


def newest(scratch: Path) -> Path | None:
    """The finished training of a scratch folder, else its newest sound checkpoint, else None."""
    finished = scratch / FINISHED
    return finished if finished.is_dir() else ckpt.latest_sound(scratch)


def pack(
    root: Path,
    profile: str,
    cell: TrainCell,
    target: Path,
    *,
    max_file: int | None,
    max_total: int | None,
    has_snapshots: bool,
) -> Packed:
    """Write what is needed to go on with a cell's training into `target`, whole or not at all.

    `has_snapshots`: those of the scratch folder come along; at home they may wait. Raises ValueError if there are no
    arrays, or if what cannot stay behind is larger than `max_total`.
    """
    here = places(root, profile, cell)
    identity = Packing(
        profile=profile,
        name=cell.name,
        digest=cell.digest(),
        data_hash=training_hash(here.arrays),
        code_hash=ckpt.code_hash(),
        max_file=max_file,
        max_total=max_total,
    )
    found = newest(here.scratch)
    with new_directory(target) as folder:
        there = places(folder, profile, cell)
        _write_fixed(here, there, cell, identity, has_begun=found is not None)
        what = "from the first step"
        if found is not None:
            what = _write_training(here, there, found, identity, has_snapshots=has_snapshots)
        to_come = 0 if found is not None or max_total is None else _bytes_to_come(cell, here.arrays)
        if (size := _size(folder, max_file) + to_come) > (max_total or math.inf):
            raise ValueError(f"{cell.name}: {size:,} bytes at the least, --max-total is {max_total:,}")
        sizes = _finish(folder, max_file)
    return Packed(sum(sizes), len(sizes), what)


def _finish(folder: Path, max_file: int | None) -> list[int]:
    """Split what is larger than a file may be, and add the sums; returns the sizes of all files."""
    for name in file_names(folder):
        _split(folder / name, max_file)
    ckpt.write_sums(folder)
    if (folder / ckpt.SUMS).stat().st_size > (max_file or math.inf):
        raise ValueError(f"--max-file {max_file:,}: too small, the list of parts would be larger itself")
    return [(folder / name).stat().st_size for name in file_names(folder)]


def _write_fixed(here: Places, there: Places, cell: TrainCell, identity: Packing, *, has_begun: bool) -> None:
    """Identity, settings, arrays, and for a fine-tuning that has not begun the weights it begins with."""
    (there.root / PACKING).write_text(identity.model_dump_json(indent=2) + "\n")
    there.settings.parent.mkdir(parents=True)
    there.settings.write_text(cell.model_dump_json(indent=2) + "\n")
    copy_training_data(here.arrays, there.arrays, cell.arrays.num_augmentations + 1)
    if (origin := cell.train.init_from) is None or has_begun:
        return
    if Path(origin).is_absolute() or ".." in Path(origin).parts:
        raise ValueError(f"train.init_from: {origin} lies outside the project and cannot be carried along")
    ckpt.check(here.root / origin)
    ckpt.copy_for_prediction(here.root / origin, there.root / origin)


def _write_training(
    here: Places, there: Places, found: Path, identity: Packing, *, has_snapshots: bool
) -> str:
    """The checkpoint and the snapshots, without what has to stay behind; says in words what is there."""
    limit, room = identity.max_total or math.inf, identity.max_file
    is_finished, step = found.name == FINISHED, ckpt.read_config(found)["training"]["steps"]
    what = f"finished at step {step}" if is_finished else f"step {step}"
    shutil.copytree(found, there.scratch / found.name, ignore=shutil.ignore_patterns(SNAPSHOTS))
    if has_snapshots and (here.scratch / SNAPSHOTS).is_dir():
        unfinished = shutil.ignore_patterns("*.partial")
        shutil.copytree(here.scratch / SNAPSHOTS, there.scratch / SNAPSHOTS, ignore=unfinished)
    if _size(there.root, room) > limit:
        _rewrite(found, there.scratch / found.name, is_finished=is_finished)
        what += "" if is_finished else ", recurrent states left behind"
    for snapshot in sorted((there.scratch / SNAPSHOTS).glob("*.safetensors")):
        if _size(there.root, room) > limit:
            log.warning("%s: no room for the snapshot %s, it is left behind", identity.name, snapshot.name)
            snapshot.unlink()
    return what


def _rewrite(found: Path, target: Path, *, is_finished: bool) -> None:
    """A checkpoint without what can be made again, or of a finished training is needed no more."""
    state: dict[str, Any] = torch.load(found / ckpt.STATE, map_location="cpu", weights_only=True)
    light = {name: state[name] for name in ("step", "progress")} if is_finished else lightened(state)
    ckpt.write_checkpoint(target, ckpt.read_weights(found), light, ckpt.read_config(found))


def _bytes_to_come(cell: TrainCell, arrays: Path) -> int:
    """Least bytes of the checkpoint of a training that has not begun: weights, average, and Adam's two moments."""
    model = build_cell_model(cell, open_cell_stream(cell, arrays))
    num, with_table = num_parameters(model), num_parameters(model, has_task_types=True)
    return 4 * (4 * num + 2 * (with_table - num))


def _size(folder: Path, max_file: int | None) -> int:
    """Bytes that a folder will have once it is split and summed up, at most."""
    sizes = [(folder / name).stat().st_size for name in file_names(folder)]
    num_files = sum(-(-size // max_file) if max_file else 1 for size in sizes)
    return sum(sizes) + A_LINE * num_files


def _split(path: Path, max_file: int | None) -> None:
    """Put parts in the place of a file above the limit."""
    if max_file is None or path.stat().st_size <= max_file:
        return
    with path.open("rb") as file:
        for number in range(-(-path.stat().st_size // max_file)):
            path.with_name(f"{path.name}{PART}{number:05d}").write_bytes(file.read(max_file))
    path.unlink()
