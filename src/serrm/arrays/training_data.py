"""The hash of what a training reads of a folder of arrays, apart from the test sets beside it.

A folder with other test sets, or with none, is the same to a training. The ARC index, a function of seed, puzzle and
number, is left out of the hash.
"""

import hashlib
import json
from pathlib import Path

from serrm.arrays.puzzles import TRAIN, read_metadata
from serrm.manifest import hash_file


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
