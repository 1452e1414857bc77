"""Raw puzzles: published files, tables, the sets that a task draws.

A raw directory has the publishers' file names and formats whatever the source, so that nothing after the `download`
stage depends on where the puzzles came from. A malformed row of a table is a ValueError of one line that names file,
line and value. Paper: appendix, data sets.
"""

import csv
import json
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TextIO, TypeVar

import numpy as np
from jaxtyping import UInt8

from serrm.files import existing, new_file

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


class Column(NamedTuple):
    """A column of a Parquet set besides number, side, grids and source."""

    kind: str  # pyarrow's name of the type
    is_nullable: bool
    value: Callable[[Any], int | None]  # of a puzzle


# Tables.

CSV_COLUMNS = ["source", "question", "answer", "rating"]
"""Columns of Sudoku-Extreme and of Maze-Hard."""
TSV_COLUMNS = ["Puzzle", "Solution"]
"""Columns of the 4×4 Sudokus."""


def read_puzzles(
    path: Path | str, parse: Callable[[str], Cells], check: Callable[[Puzzle], Puzzle]
) -> Iterator[Puzzle]:
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
                raise ValueError(
                    f"header {shorten(delimiter.join(header))} is not {delimiter.join(columns)!r}"
                )
            for row in rows:
                if len(row) != len(columns):
                    values = shorten(delimiter.join(row))
                    raise ValueError(f"{len(row)} columns instead of {len(columns)}: {values}")
                source, question, answer, rating = row if delimiter == "," else (Path(path).stem, *row, "")
                cells, answered = parse(question), parse(answer) if answer else None
                yield check(Puzzle(cells, answered, source, int(rating) if rating else None))
        except (ValueError, csv.Error) as error:
            raise ValueError(f"{path}:{max(reader.line_num, 1)}: {error}") from None


def write_puzzles(path: Path | str, puzzles: Iterable[Puzzle], format_grid: Callable[[Cells], str]) -> None:
    """Write puzzles as source,question,answer,rating; None is an empty field. The file appears once whole."""
    with new_file(Path(path)) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(CSV_COLUMNS)
        for puzzle in puzzles:
            answer = "" if puzzle.answer is None else format_grid(puzzle.answer)
            writer.writerow([puzzle.source, format_grid(puzzle.question), answer, puzzle.rating])


def read_rows(rows: Sequence[Any], side: int) -> Cells:
    """The cells of n lists of n whole numbers 0…n. ValueError for the first that is none."""
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, list | tuple) or len(row) != side:
            raise ValueError(f"row {number} is not a list of {side} numbers: {shorten(as_text(row))}")
        wrong = [value for value in row if type(value) is not int or not 0 <= value <= side]
        if wrong:
            raise ValueError(f"row {number} holds {shorten(as_text(wrong[0]))}, not a number 0 to {side}")
    return np.array(rows, dtype=np.uint8).reshape(-1)


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
