"""Writing what a report consists of: a file appears whole or not at all, and never through a link into a cache."""

import os
from pathlib import Path


def write_whole(path: Path, content: str) -> None:
    """Write a text file under another name, then let it take its place."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_text(content, encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
