"""The texts and arrays in files, pipes and archives, with or without compression.

A file may be a named pipe or a device, such as /dev/stdin or a shell's `<(…)`. Binary content is a ValueError of one
line.
"""

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple

import numpy as np

COMPRESSED: Final[dict[bytes, Callable[[bytes], bytes]]] = {
    b"\x1f\x8b": gzip.decompress,
    b"BZh": bz2.decompress,
    b"\xfd7zXZ\x00": lzma.decompress,
}
"""Decompression by the first bytes of a file."""
ENDINGS: Final = (".gz", ".bz2", ".xz", ".zip")  # of compressed files
ZIP, NPY, TAR = b"PK\x03\x04", b"\x93NUMPY", b"ustar"
UNSUPPORTED: Final = {
    b"PAR1": "a Parquet file; write it as CSV",
    b"%PDF": "a PDF",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"(\xb5/\xfd": "compressed with zstd; unpack it",
    b"7z\xbc\xaf": "a 7z archive; unpack it",
    b"Rar!": "a RAR archive; unpack it",
    b"SQLite": "a database; write it as CSV",
}
ENCODINGS: Final = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


class Document(NamedTuple):
    """A text or an array, its name for messages, its file's name without an ending, and its folder in an archive."""

    name: str
    stem: str
    content: Any
    folder: str = "."


def documents(path: Path) -> Iterator[Document]:
    """The texts and arrays of a file. ValueError without a file or for a damaged one; OSError if it may not be read."""
    if not path.exists():
        raise ValueError(f"{path}: no such file")
    yield from unpacked(path.read_bytes(), str(path), path.name.partition(".")[0])


def unpacked(content: bytes, name: str, stem: str, folder: str = ".") -> Iterator[Document]:
    """The texts and arrays in the bytes of a file; an archive may have several."""
    try:
        for start, decompress in COMPRESSED.items():
            if content.startswith(start):
                yield from unpacked(_decompressed(content, decompress, name), name, stem, folder)
                return
        if content.startswith(ZIP):
            yield from _of_archive(content, name)
        elif content.startswith(NPY):
            yield Document(name, stem, _array(content, name), folder)
        else:
            yield Document(name, stem, text_of(content, name), folder)
    except (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError) as error:
        raise ValueError(f"{name}: damaged or not readable: {error}") from None


def _decompressed(content: bytes, decompress: Callable[[bytes], bytes], name: str) -> bytes:
    try:
        return decompress(content)
    except ValueError as error:  # of bz2, for a file that ends too early
        raise ValueError(f"{name}: damaged or not readable: {error}") from None


def _array(content: bytes, name: str) -> Any:
    try:
        return np.load(io.BytesIO(content), allow_pickle=False)
    except ValueError as error:
        raise ValueError(f"{name}: damaged or not readable: {error}") from None


def _of_archive(content: bytes, name: str) -> Iterator[Document]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = [member for member in archive.namelist() if not member.endswith("/")]
        if "[Content_Types].xml" in names:
            raise ValueError(f"{name}: an office document; write it as CSV")
        for member in names:
            path = PurePosixPath(member)
            if path.parts[0] != "__MACOSX" and path.name[0] != ".":
                stem, folder = path.name.partition(".")[0], str(path.parent)
                yield from unpacked(archive.read(member), f"{name}/{member}", stem, folder)


def text_of(content: bytes, name: str) -> str:
    """The text of bytes in UTF-8 or UTF-16. ValueError for binary content.

    Invalid bytes, which may stand in a comment, become U+FFFD, a character that no grid has.
    """
    for start, message in UNSUPPORTED.items():
        if content.startswith(start):
            raise ValueError(f"{name}: {message}")
    if content[257:262] == TAR:
        raise ValueError(f"{name}: a tar archive; unpack it")
    encodings = [encoding for start, encoding in ENCODINGS.items() if content.startswith(start)]
    encoding = encodings[0] if encodings else "utf-8"
    if encoding != "utf-16" and content.count(0) > len(content) / 8:
        raise ValueError(f"{name}: not a text file")
    return content.decode(encoding, "replace")
