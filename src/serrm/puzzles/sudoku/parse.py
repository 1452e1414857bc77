"""Reading and writing puzzles: the three published Sudoku formats, one puzzle at a time.

Sources hand their files to this module; what comes out is the same `Puzzle` whatever the format: CSV with the
columns source, question, answer, rating (Sudoku-Extreme), tab-separated Puzzle and Solution (4×4), and JSON
(25×25). These are the files of the paper's Sudoku experiments; those of users are read by `puzzles.files`. Reading is
lazy, in constant memory. A malformed row is a ValueError of one line that names file, line and value.
"""

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from serrm.puzzles.sudoku.grid import box_for_side
from serrm.puzzles.sudoku.text import format_grid, parse_grid
from serrm.puzzles.tables import (
    CSV_COLUMNS,
    located,
    open_text,
    parse_rating,
    read_table,
    shorten,
    write_table,
)

TSV_COLUMNS = ["Puzzle", "Solution"]


@dataclass(frozen=True, eq=False)
class Puzzle:
    """One puzzle of I = side² cells with values 0…side, 0 = blank.

    The answer, where one is known, has no blanks and keeps the question's digits; `source` says where the
    puzzle is from, `rating` how hard its publisher finds it.
    """

    question: UInt8[np.ndarray, " I"]
    answer: UInt8[np.ndarray, " I"] | None
    side: int
    source: str = ""
    rating: int | None = None

    def __post_init__(self) -> None:
        """Raise ValueError unless the question fills the grid and the answer completes the question."""
        if len(self.question) != self.side**2:
            raise ValueError(f"{len(self.question)} cells are no {self.side}x{self.side} grid")
        if self.answer is None:
            return
        wrong = np.flatnonzero((self.answer == 0) | ((self.question != 0) & (self.question != self.answer)))
        if len(wrong):
            given, answered = self.question[wrong[0]], self.answer[wrong[0]]
            raise ValueError(f"cell {wrong[0] + 1} is {given} in the question but {answered} in the answer")


def read_csv(path: Path | str) -> Iterator[Puzzle]:
    """Puzzles of a CSV file source,question,answer,rating; an empty answer or rating is None."""

    def build(source: str, question: str, answer: str, rating: str) -> Puzzle:
        return _build_puzzle(question, answer or None, source, parse_rating(rating))

    return read_table(path, CSV_COLUMNS, ",", build)


def read_tsv(path: Path | str) -> Iterator[Puzzle]:
    """Puzzles of a tab-separated file with the header Puzzle, Solution; their source is the file's name."""
    return read_table(path, TSV_COLUMNS, "\t", partial(_build_puzzle, source=Path(path).stem))


def read_json(path: Path | str) -> Iterator[Puzzle]:
    """The one puzzle of a file {"size", "difficulty", "givens", "type", "grid"}; its source is "difficulty".

    "grid" is a list of rows of numbers, 0 for a blank; "difficulty" and "givens" may be missing.
    """
    with open_text(path) as file:
        text = file.read()
    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}:{error.lineno}: {error.msg}, before {shorten(text[error.pos :])}") from None
    line = text[: max(text.find('"grid"'), 0)].count("\n") + 1
    with located(path, line):
        puzzle = _build_from_record(record)
    yield puzzle


def write_csv(path: Path | str, puzzles: Iterable[Puzzle]) -> None:
    """Write puzzles of any side up to 35 as source,question,answer,rating. The file appears once whole."""
    write_table(path, CSV_COLUMNS, map(_to_row, puzzles))


def _to_row(puzzle: Puzzle) -> list[str | int | None]:
    answer = "" if puzzle.answer is None else format_grid(puzzle.answer)
    return [puzzle.source, format_grid(puzzle.question), answer, puzzle.rating]


def _build_puzzle(question: str, answer: str | None, source: str, rating: int | None = None) -> Puzzle:
    """A puzzle from the text of its grids."""
    cells = parse_grid(question)
    answer_cells = None if answer is None else parse_grid(answer)
    if answer is not None and len(answer) != len(question):
        raise ValueError(
            f"a question of {len(question)} cells with an answer of {len(answer)}: {shorten(answer)}"
        )
    return Puzzle(cells, answer_cells, math.isqrt(len(cells)), source, rating)


def _build_from_record(record: object) -> Puzzle:
    """A puzzle from the decoded JSON of one file."""
    if not isinstance(record, dict) or not isinstance(record.get("grid"), list):
        raise ValueError(f'no object with a list "grid": {shorten(repr(record))}')
    rows, side = record["grid"], record.get("size")
    if isinstance(side, bool) or not isinstance(side, int) or side != len(rows):
        raise ValueError(f"size {shorten(repr(side))} but a grid of {len(rows)} rows")
    box_for_side(side)
    question = np.array([_check_row(row, number, side) for number, row in enumerate(rows, start=1)], np.uint8)
    givens, num_clues = record.get("givens"), int(np.count_nonzero(question))
    if givens is not None and givens != num_clues:
        raise ValueError(f"givens {shorten(repr(givens))} but {num_clues} numbers in the grid")
    return Puzzle(question.reshape(-1), None, side, str(record.get("difficulty", "")))


def _check_row(row: object, number: int, side: int) -> list[int]:
    """The row itself if it is a list of `side` numbers 0…side."""
    if not isinstance(row, list) or len(row) != side:
        raise ValueError(f"row {number} of the grid is no list of {side} numbers: {shorten(repr(row))}")
    wrong = [value for value in row if type(value) is not int or not 0 <= value <= side]
    if wrong:
        raise ValueError(
            f"row {number} of the grid holds {shorten(repr(wrong[0]))}, not a number 0 to {side}"
        )
    return row
