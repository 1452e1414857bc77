"""Read files with errors of one line; write them whole or not at all, as `manifest.new_directory` does folders."""

import csv
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


def existing(path: Path) -> Path:
    """The path itself. ValueError if there is no file."""
    if not path.is_file():
        raise ValueError(f"{path}: no such file")
    return path


def read_parsed(path: Path, parse: Callable[[bytes], T]) -> T:
    """Parse a file with a pydantic parser. ValueError naming the file and the first key that is missing or wrong."""
    from pydantic import ValidationError  # not needed by those who only write

    try:
        return parse(existing(path).read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        where = "/".join(map(str, first["loc"]))
        raise ValueError(f"{path}: {where or 'file'}: {first['msg']}") from error


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A temporary sibling of `path` to write; at the end it takes path's place, on a failure it vanishes.

    A link at `path`, into a cache say, is replaced and not followed. Folders above it are made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield partial
        partial.replace(path)
    except OSError as error:
        error.filename = error.filename or str(path)  # a full disk has none
        raise
    finally:
        partial.unlink(missing_ok=True)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file under another name, then let it take its place."""
    with new_file(path) as partial:
        partial.write_bytes(content.encode() if isinstance(content, str) else content)


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A comma-separated table; None is an empty field."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return text.getvalue()


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a value as an indented JSON file."""
    write_whole(path, json.dumps(value, indent=2) + "\n")


def between_markers(text: str, begin: str, end: str, content: str) -> str:
    """A page with `content` between its two markers. ValueError if they are not there once each, in their order."""
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise ValueError(f"the page must contain {begin} and {end} once each, in this order")
    before, after = text[: text.index(begin)], text[text.index(end) :]
    return f"{before}{begin}\n{content}\n{after}"
