"""Files that appear whole or not at all; folders likewise are `data.manifest.new_directory`'s."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A temporary sibling of `path` to write; at the end it takes path's place, on a failure it vanishes.

    A link at `path`, into a cache say, is replaced and not followed.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
