"""Raw puzzles: published files, text and tables, the sets that a task draws.

A raw directory has the publishers' file names whatever the source, so that hardly anything after the `download` stage
depends on where the puzzles came from. What is generated is a table with answers. A malformed row of a table is a
ValueError of one line that names file, line and value. Paper: appendix, data sets.
"""

import csv
import json
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TextIO, TypeVar

import numpy as np
from jaxtyping import UInt8

from serrm.core.files import existing, new_file
from serrm.puzzles.notation import Notation

T = TypeVar("T")
Cells = UInt8[np.ndarray, "_"]  # row by row


class Published(NamedTuple):
    """A file to download and its name in the raw directory, or an archive and the folder for some of its files."""

    url: str
    revision: str
    name: str
    sha256: str | None = None
    num_files: dict[str, int] | None = None  # of an archive: files that match each pattern
    is_flat: bool = False  # the archive's files go right into the folder, without their paths in the archive


def hugging_face(repository: str, revision: str, folder: str, sha256: dict[str, str]) -> list[Published]:
    """Files of a data set with their hashes, to be named below `folder`."""
    base = f"https://huggingface.co/datasets/{repository}/resolve/{revision}"
    return [Published(f"{base}/{name}", revision, f"{folder}/{name}", sha) for name, sha in sha256.items()]


def github_archive(
    repository: str, revision: str, folder: str, num_files: dict[str, int], *, is_flat: bool = False
) -> Published:
    """Files of a repository that match a pattern.

    GitHub does not promise that an archive's bytes stay the same, so it is the commit that pins them.
    """
    url = f"https://codeload.github.com/{repository}/tar.gz/{revision}"
    return Published(url, revision, folder, num_files=num_files, is_flat=is_flat)


@dataclass(frozen=True, eq=False)
class Puzzle:
    """A puzzle on a square grid of I = side² cells: of a Sudoku values, 0 = blank, of a maze tokens.

    `answer` is None where none is known, `source` the data set, `rating` the publisher's difficulty.
    """

    question: Cells
    answer: Cells | None
    source: str = ""
    rating: int | None = None

    def __post_init__(self) -> None:
        """Raise ValueError if the question and the answer are not of one size."""
        num = len(self.question)
        if self.answer is not None and num != len(self.answer):
            raise ValueError(f"a question of {num} cells with an answer of {len(self.answer)}")

    @property
    def side(self) -> int:
        """Cells of a row."""
        return math.isqrt(len(self.question))


# A puzzle and its number: its row in the raw file from 0, or the rank of its file's name.
Numbered = tuple[int, Puzzle]


class RawSet(NamedTuple):
    """The raw puzzles of one side that a set is drawn from."""

    side: int
    num: int | None  # to draw; None: all of them
    stream: int  # of random numbers; every set has its own, so that no set's size moves another's draw
    puzzles: Iterator[Numbered]
    is_rest: bool = False  # puzzles of the training set are left out


class Counts(NamedTuple):
    """The side of the grids trained on, examples an epoch, and by side the puzzles, or ARC's test inputs, to score."""

    side: int
    num_train: int
    tests: Mapping[int, int]


# Text and tables.

CSV_COLUMNS = ["source", "question", "answer", "rating"]
"""Columns of Sudoku-Extreme and of Maze-Hard."""
TSV_COLUMNS = ["Puzzle", "Solution"]
"""Columns of the 4×4 Sudokus."""


@dataclass(frozen=True, kw_only=True)
class GridText:
    """The square grids of a task as text, a character per cell, and tables of its puzzles."""

    characters: str  # of the cells `first`, `first` + 1, …
    first: int = 0
    others: Mapping[str, int] = field(
        default_factory=dict
    )  # cells of further characters, which are read only
    largest: Callable[
        [int], int
    ]  # (side) → the largest cell there; ValueError for a side that the task does not have
    # The cell that a question leaves open, and the smallest that an answer may have in its place.
    blank: int = 0
    filling: int = 1
    check_question: Callable[[Cells], object] = lambda question: (
        None
    )  # ValueError for cells that are no question
    # Of puzzles of users: (question's symbols, side, answer's symbols) → their notation; None where it is only this.
    notation: Callable[[Sequence[str], int, Sequence[str]], Notation] | None = None

    def parse(self, value: Any) -> Cells:
        """The cells of a text, in which other white space does not count, or of n lists of n whole numbers."""
        if isinstance(value, str):
            return self.read("".join(each for each in value if each in self.characters or not each.isspace()))
        if not isinstance(value, list | tuple):
            raise ValueError(f"not a grid: {shorten(as_text(value))}")
        widths = {len(row) if isinstance(row, list | tuple) else 0 for row in value}
        if len(widths) == 1 and (width := widths.pop()) not in (0, len(value)):
            raise ValueError(f"{len(value)} rows of {width} cells are not a square grid")
        side, largest = len(value), self.largest(len(value))
        for number, row in enumerate(value, start=1):
            if not isinstance(row, list | tuple) or len(row) != side:
                raise ValueError(f"row {number} is not a list of {side} numbers: {shorten(as_text(row))}")
            for cell in row:
                if type(cell) is not int or not self.first <= cell <= largest:
                    words = f"not a number {self.first} to {largest}"
                    raise ValueError(f"row {number} holds {shorten(as_text(cell))}, {words}")
        return np.array(value, dtype=np.uint8).reshape(-1)

    def read(self, text: str) -> Cells:
        """The I cells of a grid of I = side² characters. ValueError with the part that is wrong."""
        values = text.encode("latin-1", "replace").translate(self._cell_of_byte)
        cells = np.frombuffer(bytearray(values), dtype=np.uint8)
        side = math.isqrt(len(cells))
        if not text or side**2 != len(cells):
            raise ValueError(f"{len(cells)} characters are not a square grid: {shorten(text)}")
        largest = self.largest(side)
        if (wrong := np.flatnonzero(cells > largest)).size:
            place, known = int(wrong[0]), self.characters[: largest - self.first + 1]
            raise ValueError(f"{text[place]!r} at position {place + 1} is not one of {known!r}")
        return cells

    @cached_property
    def _cell_of_byte(self) -> bytes:
        """The cell of every character of Latin-1; 255, which is larger than any, for one that has none."""
        cells = {**dict(zip(self.characters, count(self.first), strict=False)), **self.others}
        return bytes(cells.get(chr(byte), 255) for byte in range(256))

    def format(self, cells: Cells) -> str:
        """The characters of a grid. ValueError for a cell that has none."""
        places = cells - np.uint8(self.first)
        if (wrong := cells[places >= len(self.characters)]).size:
            raise ValueError(f"no character for the cell {wrong[0]}")
        return "".join(self.characters[place] for place in places.tolist())

    def checked(self, puzzle: Puzzle) -> Puzzle:
        """The puzzle. ValueError unless it is one, whose answer, if there is any, only fills what it leaves open.

        The answer may still break the task's rules.
        """
        self.check_question(puzzle.question)
        if puzzle.answer is not None:
            is_open, is_kept = puzzle.question == self.blank, puzzle.question == puzzle.answer
            wrong = np.flatnonzero(np.where(is_open, puzzle.answer < self.filling, ~is_kept))
            if wrong.size:
                one, other = (self.format(cells[wrong[:1]]) for cells in (puzzle.question, puzzle.answer))
                raise ValueError(
                    f"cell {wrong[0] + 1} is {one!r} in the question but {other!r} in the answer"
                )
        return puzzle

    def read_table(self, path: Path | str) -> Iterator[Puzzle]:
        """The puzzles of a table with CSV_COLUMNS, or tab-separated with TSV_COLUMNS; blank lines are skipped.

        An empty answer or rating is None; without a column of the source it is the file's name.
        """
        with open_text(path) as file:
            delimiter = "\t" if "\t" in file.readline() else ","
            file.seek(0)
            columns = CSV_COLUMNS if delimiter == "," else TSV_COLUMNS
            reader = csv.reader(file, delimiter=delimiter, strict=True)
            rows = filter(None, reader)
            try:
                if (header := next(rows, [])) != columns:
                    words = f"is not {delimiter.join(columns)!r}"
                    raise ValueError(f"header {shorten(delimiter.join(header))} {words}")
                for row in rows:
                    if len(row) != len(columns):
                        values = shorten(delimiter.join(row))
                        raise ValueError(f"{len(row)} columns instead of {len(columns)}: {values}")
                    source, question, answer, rating = (
                        row if delimiter == "," else (Path(path).stem, *row, "")
                    )
                    cells, answered = self.read(question), self.read(answer) if answer else None
                    yield self.checked(Puzzle(cells, answered, source, int(rating) if rating else None))
            except (ValueError, csv.Error) as error:
                raise ValueError(f"{path}:{max(reader.line_num, 1)}: {error}") from None

    def write_table(self, path: Path | str, puzzles: Iterable[Puzzle]) -> None:
        """Write puzzles as source,question,answer,rating; None is an empty field. The file appears once whole."""
        with new_file(Path(path)) as partial, partial.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(CSV_COLUMNS)
            for puzzle in puzzles:
                answer = "" if puzzle.answer is None else self.format(puzzle.answer)
                writer.writerow([puzzle.source, self.format(puzzle.question), answer, puzzle.rating])


def as_text(value: Any) -> str:
    """A value as the text it may have come from."""
    return value if isinstance(value, str) else json.dumps(value, default=repr)


def open_text(path: Path | str) -> TextIO:
    """Open for reading; bytes that are no UTF-8 become a character that no grid has. ValueError for no file."""
    return existing(Path(path)).open(newline="", encoding="utf-8-sig", errors="replace")


def shorten(text: str, width: int = 40) -> str:
    """The text quoted on one line, cut to about `width` characters, for error messages."""
    return repr(text if len(text) <= width else text[: width - 1] + "…")


# Generation.


def distinct(puzzles: Iterable[T], key: Callable[[T], Hashable], most_repeats: int, kind: str) -> Iterator[T]:
    """The first puzzle of every key, in their order; `kind` describes them in the error.

    ValueError once `most_repeats` of them in a row have had a key that was there before.
    """
    seen: set[Hashable] = set()
    num_repeats = 0
    for puzzle in puzzles:
        num_repeats = num_repeats + 1 if key(puzzle) in seen else 0
        if num_repeats == most_repeats:
            raise ValueError(f"only {len(seen)} different {kind} in {most_repeats} attempts")
        if num_repeats == 0:
            seen.add(key(puzzle))
            yield puzzle
