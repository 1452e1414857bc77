"""A puzzle of the user: its task, its cells, its place in the input, and the signs in which it is written.

The task of a grid is the last one of `TASKS` that recognises its symbols.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from serrm.puzzles.arc.grids import Pair
from serrm.puzzles.notation import Notation
from serrm.puzzles.raw import Cells, Puzzle
from serrm.puzzles.task import GridTask
from serrm.puzzles.tasks import TASKS
from serrm.puzzles.text import GridText, shorten


@dataclass(frozen=True, eq=False)
class Question:
    """A question: R × C cells, as tokens, or as the colours of an ARC input.

    `task` is arc for both ARC-AGIs. `place` is its place in the input, such as puzzles.csv:3, and `text` the question
    as written there, on one line. `notation` has the signs in which its answer is written; an ARC puzzle has none,
    but a `name` and demonstrations.
    """

    task: str
    cells: Cells
    place: str
    text: str
    answer: Cells | None = None
    name: str = ""
    demonstrations: tuple[Pair, ...] = ()
    notation: Notation | None = None

    @property
    def side(self) -> int:
        """The length of the longer edge, in cells."""
        return int(max(self.cells.shape))


@dataclass(frozen=True)
class WrittenGrid:
    """A grid in the user's signs: its I symbols row by row, its text on one line, and the symbols of its answer."""

    symbols: tuple[str, ...]
    text: str
    answer: tuple[str, ...] = ()
    # False for numbers of Python or JSON, whose answer is written in digits and letters. Numbers in a text are answered
    # in numbers.
    is_text: bool = True


class Match(NamedTuple):
    """Grids in some lines, each with the number of its first line from 1, and the index of the line after them."""

    grids: list[tuple[int, WrittenGrid]]
    end: int


def is_grid_size(num: int) -> bool:
    """True for the number of cells of a square grid of at least 3×3."""
    return num >= 9 and math.isqrt(num) ** 2 == num


def is_drawn(record: GridTask) -> bool:
    """True for a task with a space among the characters of its cells, so that white space counts."""
    return " " in record.text.characters


def grid_records() -> dict[str, GridTask]:
    """The tasks on square grids, in the order in which they are tried."""
    return {name: record for name, record in reversed([*TASKS.items()]) if isinstance(record, GridTask)}


def task_of(written: WrittenGrid) -> str:
    """The task of a square grid. ValueError for symbols that do not form a square."""
    side = math.isqrt(len(written.symbols))
    if not written.symbols or side**2 != len(written.symbols):
        raise ValueError(f"{len(written.symbols)} characters are not a square grid: {shorten(written.text)}")
    grid: Any = "".join(written.symbols)
    if len(grid) != len(written.symbols) or not written.is_text:
        cells = [int(symbol) if symbol.isdecimal() else 0 for symbol in written.symbols]
        grid = np.reshape(cells, (side, side)).tolist()
    return next(name for name, record in grid_records().items() if record.recognises(grid))


def notation_of(written: WrittenGrid, text: GridText) -> Notation:
    """The notation of a grid of a task with this text.

    ValueError for a side or a symbol that the task does not have, and for symbols that fit two notations.
    """
    side = math.isqrt(len(written.symbols))
    largest = text.largest(side)
    if text.notation is not None:
        notation = text.notation(written.symbols, side, written.answer)
        if not notation.joiner or written.is_text:
            return notation
        signs = list(text.characters[:largest])
        if notation.base == 0:
            signs = [signs[0], "0", *signs[1:-1]]
        return Notation(notation.values, signs, base=notation.base)
    characters = text.characters[:largest]
    values = {sign: token for token, sign in enumerate(characters, start=1)} | dict(text.others)
    if not written.is_text:
        values |= {str(text.first_number + token - 1): token for token in range(1, largest + 1)}
    return Notation(values, characters)


def question_of(place: str, written: WrittenGrid) -> Question:
    """The puzzle of a written grid. ValueError with its place for a grid that is not a puzzle."""
    question = _parsed(written)
    if isinstance(question, str):
        raise ValueError(f"{place}: {question}")
    return replace(question, place=place)


def is_puzzle(written: WrittenGrid) -> bool:
    """True if the written grid is a puzzle, not only a square."""
    return not isinstance(_parsed(written), str)


@lru_cache(maxsize=4096)
def _parsed(written: WrittenGrid) -> Question | str:
    """The puzzle of a written grid, without its place, or the message about a grid that is not a puzzle."""
    try:
        task = task_of(written)
        record = grid_records()[task]
        text = record.text
        notation = notation_of(written, text)
        cells = notation.read(written.symbols)
        answer = notation.read(written.answer) if written.answer else None
        is_open = None if record.open_cells is None else record.is_open(cells[None])[0]
        puzzle = text.checked(Puzzle(cells, answer), is_open)
    except ValueError as error:
        return str(error)
    shape = puzzle.side, puzzle.side
    grid = None if answer is None else answer.reshape(shape)
    return Question(task, cells.reshape(shape), "", written.text, grid, notation=notation)
