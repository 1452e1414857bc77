"""What a training reads of a folder of arrays, apart from the test sets beside it: its examples, and their hash.

A folder with other test sets, or with none, is the same to a training. The ARC index, a function of seed, puzzle and
number, is left out of the hash.
"""

import hashlib
import json
from pathlib import Path

from serrm.arrays.arc_stream import open_arc_examples
from serrm.arrays.puzzles import TRAIN, open_arrays, read_metadata
from serrm.arrays.settings import HintSettings
from serrm.arrays.stream import GridExamples, Stream
from serrm.manifest import hash_file
from serrm.puzzles.tasks import TASKS, GridTask


def open_stream(
    arrays: Path,
    num_augmentations: int,
    seed: int,
    *,
    has_identity_twice: bool = False,
    hints: HintSettings | None = None,
) -> Stream:
    """The training examples of a folder of arrays, with that many symmetric images of each puzzle.

    `has_identity_twice` makes the ARC puzzle itself a variant more, a fault of the published code. ValueError if hints
    are asked for on ARC-AGI, whose questions show no part of the answer's grid.
    """
    task = read_metadata(arrays)["task"]
    if isinstance(TASKS[task], GridTask):
        return GridExamples(open_arrays(arrays, TRAIN), num_augmentations, seed, hints).stream()
    if hints is not None:
        raise ValueError(f"train.hints: questions of {task} have no cells of the answer to show")
    num_variants = num_augmentations + 1
    return open_arc_examples(arrays, num_variants, seed, has_identity_twice=has_identity_twice).stream()


def training_hash(arrays: Path) -> str:
    """sha256 of what a training reads: the training set's files and what the metadata say of it.

    ValueError if there are no arrays.
    """
    digest = hashlib.sha256(_metadata_text(arrays).encode())
    for path in sorted((arrays / TRAIN).glob("*.npy")):
        digest.update(f"{hash_file(path)} {path.name}\n".encode())
    return digest.hexdigest()


def _metadata_text(arrays: Path) -> str:
    """The metadata without the other sets, and without the hash of the source, which covers them."""
    metadata = read_metadata(arrays)
    kept = {key: value for key, value in metadata.items() if key != "source_hash"}
    return json.dumps(kept | {"sets": {TRAIN: metadata["sets"][TRAIN]}}, indent=2, sort_keys=True) + "\n"
