"""A puzzle that was read: its task, its cells, where it stood, and the signs it is written in.

The symbols of a grid are tried with each task's notation; a puzzle is of the last task of `TASKS` that recognises it.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from serrm.puzzles.arc.grids import Grid, Pair
from serrm.puzzles.notation import Notation
from serrm.puzzles.raw import Puzzle
from serrm.puzzles.task import GridTask
from serrm.puzzles.tasks import TASKS
from serrm.puzzles.text import GridText, shorten


@dataclass(frozen=True, eq=False)
class Question:
    """A question: R × C cells, as tokens, or as the colours of an ARC input.

    `text` is the question as it stood at `place`, on one line, in the signs of `notation`. `name` is the ARC task's,
    whose demonstrations come along.
    """

    task: str
    cells: Grid
    place: str
    text: str
    answer: Grid | None = None
    name: str = ""
    demonstrations: tuple[Pair, ...] = ()
    notation: Notation | None = None

    @property
    def side(self) -> int:
        """The length of its longer edge."""
        return int(max(self.cells.shape))


@dataclass(frozen=True)
class Written:
    """A grid as it is written: its I symbols row by row, its text on one line, and the symbols of its answer."""

    symbols: tuple[str, ...]
    text: str
    answer: tuple[str, ...] = ()
    # An answer to numbers is in numbers; False for those of Python and JSON, for which it is in digits and letters.
    has_numbers: bool = True


Found = tuple[list[tuple[int, Written]], int]
"""Grids of a text with the number of their first line, and the position after them."""


def is_square(num: int) -> bool:
    """True for the number of cells of a grid that is not too small."""
    return num >= 9 and math.isqrt(num) ** 2 == num


def is_drawn(record: GridTask) -> bool:
    """True for a task with a space among its cells' characters, so that white space of a line counts."""
    return " " in record.text.characters


def grid_records() -> dict[str, GridTask]:
    """The tasks on square grids, that which recognises a puzzle first ahead."""
    return {name: each for name, each in reversed(TASKS.items()) if isinstance(each, GridTask)}


def task_of(written: Written) -> str:
    """The task of a square grid. ValueError for symbols that are no square."""
    side = math.isqrt(len(written.symbols))
    if not written.symbols or side**2 != len(written.symbols):
        raise ValueError(f"{len(written.symbols)} characters are not a square grid: {shorten(written.text)}")
    asked: Any = "".join(written.symbols)
    if len(asked) != len(written.symbols) or not written.has_numbers:
        cells = [int(each) if each.isdecimal() else 0 for each in written.symbols]
        asked = np.reshape(cells, (side, side)).tolist()
    return next(name for name, record in grid_records().items() if record.recognises(asked))


def notation_of(written: Written, text: GridText) -> Notation:
    """The notation of a grid of a task with this text. ValueError for a side or a symbol that the task does not have.

    ValueError too where two notations fit.
    """
    side = math.isqrt(len(written.symbols))
    largest = text.largest(side)
    if text.notation is not None:
        found = text.notation(written.symbols, side, written.answer)
        if not found.joiner or written.has_numbers:
            return found
        signs = list(text.characters[:largest])
        if found.base == 0:
            signs = [signs[0], "0", *signs[1:-1]]
        return Notation(found.values, signs, base=found.base)
    known = text.characters[:largest]
    values = {sign: token for token, sign in enumerate(known, start=1)} | dict(text.others)
    if not written.has_numbers:
        values |= {str(text.first_number + token - 1): token for token in range(1, largest + 1)}
    return Notation(values, known)


def question_of(place: str, written: Written) -> Question:
    """The puzzle that a written grid is. ValueError with its place for what is none."""
    question = _parsed(written)
    if isinstance(question, str):
        raise ValueError(f"{place}: {question}")
    return replace(question, place=place)


def is_puzzle(written: Written) -> bool:
    """True if the written grid is a puzzle, not only a square."""
    return not isinstance(_parsed(written), str)


@lru_cache(maxsize=4096)
def _parsed(written: Written) -> Question | str:
    """The puzzle that a written grid is, without its place, or why it is none."""
    try:
        task = task_of(written)
        text = grid_records()[task].text
        notation = notation_of(written, text)
        cells = notation.read(written.symbols)
        answer = notation.read(written.answer) if written.answer else None
        puzzle = text.checked(Puzzle(cells, answer))
    except ValueError as error:
        return str(error)
    shape = puzzle.side, puzzle.side
    grid = None if answer is None else answer.reshape(shape)
    return Question(task, cells.reshape(shape), "", written.text, grid, notation=notation)
