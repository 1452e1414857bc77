"""Published tables of puzzles, one row a puzzle: CSV and its tab-separated kin, read lazily and written whole.

The parsers of Sudoku and of mazes build on it. A malformed row is a ValueError of one line that names file, line
and value. (The files of the paper's Sudoku and maze experiments.)
"""

import csv
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO, TypeVar

from serrm.files import existing, new_file

T = TypeVar("T")

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
