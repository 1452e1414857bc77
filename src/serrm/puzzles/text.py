"""Grids as text: the characters of a task's cells, and the checks of a puzzle that was read.

An invalid text is a ValueError of one line that names the part that is wrong.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np

from serrm.puzzles.notation import Notation
from serrm.puzzles.raw import Cells, Puzzle


@dataclass(frozen=True, kw_only=True)
class GridText:
    """The square grids of a task as text, a character per cell."""

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


def as_text(value: Any) -> str:
    """A value as the text it may have come from."""
    return value if isinstance(value, str) else json.dumps(value, default=repr)


def shorten(text: str, width: int = 40) -> str:
    """The text quoted on one line, cut to about `width` characters, for error messages."""
    return repr(text if len(text) <= width else text[: width - 1] + "…")
