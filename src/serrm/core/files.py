"""Read files with errors of one line, write files and folders whole or not at all, hash files, form CSV and JSON."""

import csv
import hashlib
import io
import json
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError

T = TypeVar("T")


def existing(path: Path) -> Path:
    """Return the path. ValueError if there is no file."""
    if not path.is_file():
        raise ValueError(f"{path}: no such file")
    return path


def parse_file(path: Path, parser: Callable[[bytes], T]) -> T:
    """Parse a file with a pydantic parser. ValueError naming the file and the first key that is missing or wrong."""
    return parse_content(existing(path).read_bytes(), str(path), parser)


def parse_content(content: bytes, name: str, parser: Callable[[bytes], T]) -> T:
    """Parse content with a pydantic parser. ValueError with `name` and the first key that is missing or wrong."""
    try:
        return parser(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = "/".join(map(str, first["loc"]))
        raise ValueError(f"{name}: {where or 'file'}: {first['msg']}") from error


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yield a temporary sibling of `path` to write; it replaces `path` at the end and is removed on a failure.

    A link at `path`, for example into a cache, is replaced and not followed. Folders above it are made. Threads and
    processes that write the same file at once have a sibling each.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{threading.get_native_id()}.partial")
    try:
        yield partial
        partial.replace(path)
    except OSError as error:
        error.filename = error.filename or str(path)  # a full disk has none
        raise
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def new_output(path: Path) -> Iterator[Path]:
    """`new_file` for a path that a user names: a link is followed, and a pipe or a device is itself the file to write.

    Open what is yielded for appending: a device such as /dev/stdout may lead to a file that has content already.
    """
    if is_written_through(path):
        yield path
        return
    with new_file(path.resolve() if path.is_symlink() else path) as partial:
        partial.unlink(missing_ok=True)  # of a killed process with the same number
        yield partial


def is_written_through(path: Path) -> bool:
    """Test for a pipe or a device, which must not be replaced by a regular file."""
    is_special = path.exists() and not path.is_file() and not path.is_dir()
    return is_special or path.absolute().is_relative_to("/dev") or path.absolute().is_relative_to("/proc")


def write_output(path: Path, content: str | bytes) -> None:
    """Write a file that a user names, whole (`new_output`)."""
    with new_output(path) as partial, partial.open("ab") as file:
        file.write(content.encode() if isinstance(content, str) else content)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file under a temporary name, then rename it."""
    with new_file(path) as partial:
        partial.write_bytes(content.encode() if isinstance(content, str) else content)


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a comma-separated table; None becomes an empty field."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return text.getvalue()


def json_text(value: Any) -> str:
    """Format JSON for files in git: an object or a list that contains no other one takes one line.

    Scores below data/ have this form too, as they are committed later.
    """

    def lines(value: Any, indent: str) -> str:
        items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        if not any(isinstance(item, dict | list) for item in items):
            return json.dumps(value, ensure_ascii=False)
        inner, (start, end) = indent + " ", "{}" if isinstance(value, dict) else "[]"
        keys = [f"{json.dumps(key)}: " for key in value] if isinstance(value, dict) else [""] * len(value)
        body = ",\n".join(inner + key + lines(item, inner) for key, item in zip(keys, items, strict=True))
        return f"{start}\n{body}\n{indent}{end}"

    return lines(value, "") + "\n"


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a value as an indented JSON file, for files that are not in git."""
    write_whole(path, json.dumps(value, indent=2) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """Read the object in a JSON file; empty without the file."""
    values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return values


def write_array(path: Path, array: Any) -> None:
    """Write a .npy file from memory, because `np.save` to a file does not notice that the disk is full."""
    import numpy as np

    content = io.BytesIO()
    np.save(content, array)
    path.write_bytes(content.getbuffer())


def between_markers(text: str, begin: str, end: str, content: str) -> str:
    """Put `content` between the two markers of a page. ValueError unless each occurs once, in this order."""
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise ValueError(f"the page must contain {begin} and {end} once each, in this order")
    before, after = text[: text.index(begin)], text[text.index(end) :]
    return f"{before}{begin}\n{content}\n{after}"


class Origin(NamedTuple):
    """Origin of a raw file: an address or a name, and the publisher's revision if there is one."""

    where: str
    revision: str | None = None


@contextmanager
def new_directory(target: Path) -> Iterator[Path]:
    """Yield a temporary sibling of `target` to fill; it replaces `target` at the end and is removed on a failure.

    A killed process leaves `target` whole or gone. The siblings' names are fixed, so the next process clears the rest.
    """
    temporary = target.with_name(f".{target.name}.tmp")
    for leftover in (temporary, _removed(target)):
        shutil.rmtree(leftover, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        yield temporary
        if target.is_dir():
            remove_directory(target)
        temporary.replace(target)
    except OSError as error:
        error.filename = error.filename or str(target)  # a full disk has none
        raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def remove_directory(path: Path) -> None:
    """Remove a directory; if the process is killed, it is whole or gone, and the next removal clears the rest."""
    removed = _removed(path)
    shutil.rmtree(removed, ignore_errors=True)
    path.rename(removed)
    shutil.rmtree(removed)


def _removed(path: Path) -> Path:
    """Find the name that a directory gets before its files are removed one by one."""
    return path.with_name(f".{path.name}.removed")


def only_folder(directory: Path, names: Iterable[str]) -> Path:
    """Find the only one of these folders in a directory. ValueError unless there is exactly one."""
    folders = [name for name in names if (directory / name).is_dir()]
    if len(folders) != 1:
        raise ValueError(f"{directory}: exactly one of {', '.join(names)} expected, found {folders}")
    return directory / folders[0]


def hash_file(path: Path) -> str:
    """Compute the sha256 of a file's content, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def file_names(directory: Path) -> list[str]:
    """List the names of all files below a directory, relative to it, with forward slashes, sorted."""
    return sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file())
