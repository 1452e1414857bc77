"""A packed training taken further on this machine: unpacked beside its folder, trained, packed again."""

import logging
import shutil
import time
from contextlib import chdir
from pathlib import Path

import psutil

from serrm.training import checkpoint as ckpt
from serrm.training.finished import FINISHED
from serrm.training.interrupt import Interrupted
from serrm.training.packing import Packed, Packing, Places, pack, places
from serrm.training.run import train
from serrm.training.settings import Execution, TrainCell
from serrm.training.snapshots import SNAPSHOTS
from serrm.training.unpacking import read_packing, unpack

log = logging.getLogger(__name__)
SPARE = 1.0  # seconds kept for the end, beside twice what unpacking took


def train_packed(packed: Path, seconds: float | None, device: str) -> Packed:
    """Go on with a packed training to its end; what `packed` holds then is how far it is.

    Raises Interrupted if stopped before, by a signal or so that `seconds` after the start of this process all is
    written; ValueError if the folder is not whole or the training cannot go on.
    """
    packed = packed.resolve()
    packing, cell = read_packing(packed)
    if packing.code_hash != ckpt.code_hash():
        log.warning("%s was packed by another version of the code", packing.name)
    # It stays if all goes wrong: the same command goes on from it.
    work = packed.with_name(f".{packed.name}.work")
    here = places(work, packing.profile, cell)
    began = time.monotonic()
    _clear(here)
    unpack(packed, work)
    spare = SPARE + 2 * (time.monotonic() - began)
    try:
        _train(here, places(Path(), packing.profile, cell), cell, device, seconds, spare)
    except Interrupted as stop:
        done = _repack(here, cell, packed, packing)
        raise Interrupted(f"{stop}; {packed} holds {done.what}, {done.num_bytes:,} bytes") from stop
    return _repack(here, cell, packed, packing)


def _train(
    here: Places, at: Places, cell: TrainCell, device: str, seconds: float | None, spare: float
) -> None:
    """Train in the working folder, and lay the result where an unfinished training would lie."""
    left = None
    if seconds is not None:
        left = max(1e-3, seconds - spare - (time.time() - psutil.Process().create_time()))
    with chdir(here.root):  # init_from is relative to the project
        train(cell, at.arrays, at.run, at.scratch.parent, Execution(device=device, max_seconds=left))
    here.scratch.mkdir(parents=True, exist_ok=True)
    if (here.run / SNAPSHOTS).is_dir():
        (here.run / SNAPSHOTS).replace(here.scratch / SNAPSHOTS)
        ckpt.write_sums(here.run)
    here.run.replace(here.scratch / FINISHED)


def _repack(here: Places, cell: TrainCell, packed: Path, packing: Packing) -> Packed:
    limits = {"max_file": packing.max_file, "max_total": packing.max_total}
    done = pack(here.root, packing.profile, cell, packed, **limits, has_snapshots=True)
    shutil.rmtree(here.root)
    return done


def _clear(here: Places) -> None:
    """Remove what an earlier run left in the working folder, but for checkpoints of this training."""
    for path in here.root.glob("data/*"):
        if path != here.scratch.parent:
            shutil.rmtree(path)
    for path in here.scratch.parent.glob("*"):
        if path != here.scratch:
            shutil.rmtree(path)
