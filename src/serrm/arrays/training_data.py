"""What a training reads of a folder of arrays, apart from the test sets beside it: its hash, and a copy of it alone.

A folder with other test sets, or with none, is the same to a training. The ARC index, a function of seed, puzzle and
number, is left out of the hash.
"""

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np

from serrm.arrays.arc import INDEX
from serrm.arrays.puzzles import METADATA, TRAIN, read_metadata
from serrm.manifest import hash_file


def training_hash(arrays: Path) -> str:
    """sha256 of what a training reads: the training set's files and what the metadata say of it.

    ValueError if there are no arrays.
    """
    digest = hashlib.sha256(_metadata_text(arrays).encode())
    for path in sorted((arrays / TRAIN).glob("*.npy")):
        digest.update(f"{hash_file(path)} {path.name}\n".encode())
    return digest.hexdigest()


def copy_training_data(arrays: Path, target: Path, num_variants: int) -> None:
    """Write what a training reads into the new folder `target`, with the same hash.

    Of the ARC index the first `num_variants` of each puzzle are kept. ValueError if there are no arrays.
    """
    text = _metadata_text(arrays)
    (target / TRAIN).mkdir(parents=True)
    (target / METADATA).write_text(text, encoding="utf-8")
    for path in (arrays / TRAIN).glob("*.npy"):
        shutil.copyfile(path, target / TRAIN / path.name)
    if (arrays / INDEX).is_file():
        np.save(target / INDEX, np.load(arrays / INDEX, mmap_mode="r")[:, :num_variants])


def _metadata_text(arrays: Path) -> str:
    """The metadata without the other sets, and without the hash of the source, which covers them."""
    metadata = read_metadata(arrays)
    kept = {key: value for key, value in metadata.items() if key != "source_hash"}
    return json.dumps(kept | {"sets": {TRAIN: metadata["sets"][TRAIN]}}, indent=2, sort_keys=True) + "\n"
