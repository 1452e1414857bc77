"""The manifest that the `download` stage writes beside raw files: name, sha256, size and origin of every file."""

from collections.abc import Mapping
from pathlib import Path

from serrm.core.files import Origin, file_names, hash_file
from serrm.core.settings import Settings

MANIFEST = "manifest.json"


class FileRecord(Settings):
    """A raw file's name relative to the directory, the sha256 and size of its content, and its origin."""

    name: str
    sha256: str
    num_bytes: int
    origin: str
    revision: str | None


class Manifest(Settings):
    """The raw files of one directory, sorted by name, with the kind of their source and the seed."""

    kind: str
    seed: int
    files: tuple[FileRecord, ...]


def write_manifest(directory: Path, kind: str, seed: int, origins: Mapping[str, Origin]) -> None:
    """Write `manifest.json` for all files of a directory; `origins` has one entry for each of them."""
    names = file_names(directory)
    assert set(names) == set(origins), f"files without origin or the reverse: {set(names) ^ set(origins)}"
    files = tuple(
        FileRecord(
            name=name,
            sha256=hash_file(directory / name),
            num_bytes=(directory / name).stat().st_size,
            origin=origins[name].where,
            revision=origins[name].revision,
        )
        for name in names
    )
    text = Manifest(kind=kind, seed=seed, files=files).model_dump_json(indent=2)
    (directory / MANIFEST).write_text(text + "\n", encoding="utf-8")
