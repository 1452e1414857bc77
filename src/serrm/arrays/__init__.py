"""Arrays on disk and streams of training examples, for every task."""

import hashlib
import json
from pathlib import Path

from serrm.arrays import arc, stream
from serrm.core.files import hash_file
from serrm.puzzles.settings import HintSettings
from serrm.puzzles.task import GridTask
from serrm.puzzles.tasks import TASKS


def open_stream(
    arrays: Path, num_augmentations: int, seed: int, *, hints: HintSettings | None = None
) -> stream.Stream:
    """Open the training examples of a data set's arrays, with that many augmentations per puzzle.

    ValueError for hints on ARC-AGI, whose questions show no part of the answer's grid.
    """
    task = stream.read_metadata(arrays / stream.TRAINING)["task"]
    if isinstance(TASKS[task], GridTask):
        puzzles = stream.open_arrays(arrays, stream.TRAIN)
        return stream.GridExamples(puzzles, num_augmentations, seed, hints).stream()
    if hints is not None:
        raise ValueError(f"train.hints: not available on {task}, whose questions have no blanks")
    pairs = arc.open_arc_arrays(arrays, stream.TRAIN)
    return arc.ArcExamples(pairs, num_augmentations + 1, seed).stream()


def check_task(arrays: Path, task: str) -> None:
    """ValueError if the arrays are of another task, as after an edit of a data set's `task` alone."""
    of_arrays = stream.read_metadata(arrays / stream.TRAINING)["task"]
    if of_arrays != task:
        advice = f"`dvc repro --force download@{arrays.name}` and `dvc repro` make them anew"
        raise ValueError(f"{arrays}: the arrays are of task {of_arrays}, not {task}; {advice}")


def training_hash(arrays: Path) -> str:
    """Hash the training set of a data set's arrays and its metadata.

    The ARC index is left out: it follows from the metadata (seed, names, number of variants).
    ValueError if there are no arrays.
    """
    folder = arrays / stream.TRAINING
    metadata = stream.read_metadata(folder)
    digest = hashlib.sha256((json.dumps(metadata, indent=2, sort_keys=True) + "\n").encode())
    for path in sorted(folder.glob("*.npy")):
        if path.name != arc.INDEX:
            digest.update(f"{hash_file(path)} {path.name}\n".encode())
    return digest.hexdigest()
