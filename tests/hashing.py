"""A hash of a folder, for tests that compare what stages write."""

import hashlib
from pathlib import Path

from serrm.core.files import file_names, hash_file


def data_hash(directory: Path) -> str:
    """The sha256 over the sorted relative names and the contents of all files of a directory."""
    digest = hashlib.sha256()
    for name in file_names(directory):
        digest.update(f"{hash_file(directory / name)} {name}\n".encode())
    return digest.hexdigest()
