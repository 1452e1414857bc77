"""The texts, arrays and tables in files, pipes and archives, within limits on their size.

A file may be a named pipe or a device, such as /dev/stdin or a shell's `<(…)`. Binary content is a ValueError of one
line.
"""

import gzip
import io
import zipfile
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

import numpy as np

MAX_BYTES: Final = 256 * 2**20  # of a file, and of all that it unpacks to
MAX_DEPTH: Final = 2  # of archives within archives
GZIP, ZIP, NPY, PARQUET = b"\x1f\x8b", b"PK\x03\x04", b"\x93NUMPY", b"PAR1"


class Document(NamedTuple):
    """A text or a value, and its place for messages: a file, or a member of an archive."""

    path: PurePosixPath
    content: Any

    @property
    def stem(self) -> str:
        """The name of the file without endings."""
        return self.path.name.partition(".")[0]


def unpacked(content: bytes, path: PurePosixPath, depth: int = 0) -> Iterator[Document]:
    """Read the texts and values in the bytes of a file; an archive may have several."""
    try:
        value = _opened(content, depth)
    except Exception as error:  # damaged content can make zipfile, gzip, numpy and pyarrow raise any
        raise ValueError(f"{path}: not readable: {' '.join(str(error).split())[:200]}") from None
    if not isinstance(value, tuple):
        yield Document(path, value)
    else:
        for name, member in value:
            yield from unpacked(member, path / name, depth + 1)


def _opened(content: bytes, depth: int) -> Any:
    """Read the text, array or table in the bytes of a file, or the names and contents of an archive."""
    if depth > MAX_DEPTH:
        raise ValueError("archives within archives")
    _check_size(len(content))
    if content.startswith(GZIP):
        return _opened(gzip.GzipFile(fileobj=io.BytesIO(content)).read(MAX_BYTES + 1), depth + 1)
    if content.startswith(ZIP):
        return tuple(_members(zipfile.ZipFile(io.BytesIO(content))))
    if content.startswith(NPY):
        return np.load(io.BytesIO(content), allow_pickle=False)
    return _table(content) if content.startswith(PARQUET) else text_of(content)


def _check_size(num_bytes: int) -> None:
    if num_bytes > MAX_BYTES:
        raise ValueError(f"more than {MAX_BYTES // 2**20} MB unpacked; split it, as by split -l 1000000")


def _members(archive: zipfile.ZipFile) -> Iterator[tuple[str, bytes]]:
    """Yield names and content of an archive's files, other than hidden ones."""
    num_left = MAX_BYTES
    for name in archive.namelist():
        path = PurePosixPath(name)
        if not name.endswith("/") and path.name[:1] not in ("", ".") and path.parts[0] != "__MACOSX":
            member = archive.open(name).read(num_left + 1)
            num_left -= len(member)
            _check_size(-num_left + MAX_BYTES)
            yield name, member


def _table(content: bytes) -> Any:
    from pyarrow.parquet import ParquetFile

    file = ParquetFile(io.BytesIO(content))
    groups = (file.metadata.row_group(number) for number in range(file.num_row_groups))
    _check_size(sum(group.total_byte_size for group in groups))
    return [file.read().to_pydict()]


def text_of(content: bytes) -> str:
    """Read the text of bytes in UTF-8 or UTF-16. ValueError for binary content.

    Invalid bytes, which may stand in a comment, become U+FFFD, a character that no grid has.
    """
    encoding = "utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    text = content.decode(encoding, "replace")
    if text.count("\0") + text.count("\ufffd") > len(text) / 8:
        raise ValueError(
            "not a text, and not in .gz, .zip, .npy or Parquet; docs/howto.md has the five forms"
        )
    return text
