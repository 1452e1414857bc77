"""Raw puzzles: what a source is, which files are published where, tables, the sets that a task makes of them.

A raw directory has the publishers' file names and formats whatever the source, so that nothing after the `download`
stage asks where the puzzles came from. A malformed row of a table is a ValueError of one line that names file, line and
value. Paper: appendix, data sets.
"""

import csv
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, TextIO, TypeVar

from pydantic import NonNegativeInt, PositiveInt

from serrm.files import existing, new_file
from serrm.settings import Settings

T = TypeVar("T")

Scored = Literal["evaluation", "held_out"]
"""The test sets, or puzzles of no score to choose settings on."""


class Hub(Settings):
    """The publishers: Hugging Face and GitHub, at pinned commits."""

    kind: Literal["hub"]


class Mirror(Settings):
    """A local directory with the publishers' file names, for machines without network."""

    kind: Literal["mirror"]
    # The directory; a relative one is relative to the repository root, and arrives here resolved.
    root: Path


class SubsetSettings(Settings):
    """Which of the raw puzzles are used; None: all of them."""

    num_train: PositiveInt | None
    num_test: PositiveInt | None
    seed: NonNegativeInt


class Published(NamedTuple):
    """A file to download and its name in the raw directory, or an archive and the folder for some of its files."""

    url: str
    revision: str
    name: str
    sha256: str | None = None
    num_files: dict[str, int] | None = None  # of an archive: files that match each pattern
    is_flat: bool = False  # they lie right in the folder, not at their paths in the archive


def hugging_face(repository: str, revision: str, folder: str, sha256: dict[str, str]) -> list[Published]:
    """The files of a data set with their hashes, to be named below `folder`."""
    base = f"https://huggingface.co/datasets/{repository}/resolve/{revision}"
    return [
        Published(f"{base}/{name}", revision, f"{folder}/{name}", found) for name, found in sha256.items()
    ]


def github_archive(
    repository: str, revision: str, folder: str, num_files: dict[str, int], *, is_flat: bool = False
) -> Published:
    """The files of a repository that match a pattern.

    GitHub does not promise that an archive's bytes stay the same, so it is the commit that pins them.
    """
    url = f"https://codeload.github.com/{repository}/tar.gz/{revision}"
    return Published(url, revision, folder, num_files=num_files, is_flat=is_flat)


# A puzzle and its number: its row in the raw file from 0, or its file's place among the sorted file names.
Numbered = tuple[int, Any]


class RawSet(NamedTuple):
    """The raw puzzles of one side that a set is drawn from."""

    side: int
    num: int | None  # to draw; None: all of them
    stream: int  # of random numbers; every set has its own, so that no set's size moves another's draw
    puzzles: Iterator[Numbered]
    is_rest: bool = False  # those that are in the training set already are left out


class Column(NamedTuple):
    """A column of a Parquet set besides number, side, grids and source."""

    kind: str  # pyarrow's name of the type
    is_nullable: bool
    value: Callable[[Any], int | None]  # of a puzzle


# Tables.

CSV_COLUMNS = ["source", "question", "answer", "rating"]
"""The columns of Sudoku-Extreme and of Maze-Hard."""


def read_table(path: Path | str, columns: list[str], delimiter: str, build: Callable[..., T]) -> Iterator[T]:
    """What `build` makes of the cells of every row of a table whose first line has to be `columns`."""
    rows = _read_rows(path, delimiter)
    _, header = next(rows, (1, []))
    if header != columns:
        raise ValueError(
            f"{path}:1: header {shorten(delimiter.join(header))} is not {delimiter.join(columns)!r}"
        )
    for line, row in rows:
        with located(path, line):
            if len(row) != len(columns):
                values = shorten(delimiter.join(row))
                raise ValueError(f"{len(row)} columns instead of {len(columns)}: {values}")
            built = build(*row)
        yield built


def _read_rows(path: Path | str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of every row that is not blank."""
    with open_text(path) as file:
        rows = csv.reader(file, delimiter=delimiter, strict=True)
        try:
            for row in rows:
                if row:
                    yield rows.line_num, row
        except csv.Error as error:
            raise ValueError(f"{path}:{rows.line_num}: {error}") from None


def write_table(path: Path | str, columns: list[str], rows: Iterable[list[str | int | None]]) -> None:
    """Write a comma-separated table; None is an empty cell. The file appears once whole."""
    with new_file(Path(path)) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def parse_rating(text: str) -> int | None:
    """A whole number, or None for an empty cell."""
    if not text:
        return None
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"rating {shorten(text)} is no whole number")
    return int(text)


def open_text(path: Path | str) -> TextIO:
    """Open for reading; bytes that are no UTF-8 become a character that no grid may hold. ValueError for no file."""
    return existing(Path(path)).open(newline="", encoding="utf-8-sig", errors="replace")


@contextmanager
def located(path: Path | str, line: int) -> Iterator[None]:
    """Put file and line before the message of a ValueError."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path}:{line}: {error}") from None


def shorten(text: str, width: int = 40) -> str:
    """The text quoted on one line, cut to about `width` characters, for error messages."""
    return repr(text if len(text) <= width else text[: width - 1] + "…")


# Puzzles made here.


def distinct(puzzles: Iterable[T], key: Callable[[T], Hashable], most_repeats: int, kind: str) -> Iterator[T]:
    """The first puzzle of every key, in the order they come; `kind` says what they are.

    ValueError once `most_repeats` of them in a row have had a key that was there before.
    """
    seen: set[Hashable] = set()
    num_repeats = 0
    for puzzle in puzzles:
        num_repeats = num_repeats + 1 if key(puzzle) in seen else 0
        if num_repeats == most_repeats:
            raise ValueError(f"found only {len(seen)} different {kind}")
        if num_repeats == 0:
            seen.add(key(puzzle))
            yield puzzle
