"""Files that a report reads: faults are one line; and a page of which a part is written anew."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

T = TypeVar("T")


def read_parsed(path: Path, parse: Callable[[bytes], T]) -> T:
    """What a pydantic parser makes of a file. ValueError naming the file and the first key that is missing or wrong."""
    try:
        return parse(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"{path}: {where or 'file'}: {first['msg']}") from error


def between_markers(text: str, begin: str, end: str, content: str) -> str:
    """A page with `content` between its two markers. ValueError if they are not there once each, in their order."""
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise ValueError(f"no place for the table: {begin} and {end} are to be there once, in this order")
    before, after = text[: text.index(begin)], text[text.index(end) :]
    return f"{before}{begin}\n{content}\n{after}"
