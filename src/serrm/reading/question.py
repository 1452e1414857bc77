"""A puzzle of the user: its task, its cells, its place in the input, and the signs in which it is written.

A grid is a text with a sign per cell, row by row.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from serrm.puzzles.arc.grids import Pair
from serrm.puzzles.raw import Cells, Puzzle
from serrm.puzzles.tasks import ARC, grid_task, task_of
from serrm.puzzles.text import WrongSignError, shorten

FORMS: Final = (
    "five forms are read: one puzzle per line, grids in rows, tables with named columns, JSON, arrays"
)
MAX_SIDE: Final = 35  # of a grid


@dataclass(frozen=True, eq=False)
class Question:
    """A question: R × C cells, as tokens, or as the colours of an ARC input.

    `task` is arc for both ARC-AGIs. `place` is its place in the input, such as puzzles.csv:3, and `text` the question
    as written there, on one line. `signs` are those of the tokens 1, 2, …, in which its answer is written; an ARC
    puzzle has none, but a `name` and demonstrations.
    """

    task: str
    cells: Cells
    place: str
    text: str
    answer: Cells | None = None
    name: str = ""
    demonstrations: tuple[Pair, ...] = ()
    signs: str = ""

    @property
    def side(self) -> int:
        """The length of the longer edge, in cells."""
        return int(max(self.cells.shape))


def question_of(grid: str, place: str, answer: str | None = None, rows: Sequence[str] = ()) -> Question:
    """Read the puzzle of a grid, with its answer if there is one. ValueError with its place for any other grid.

    Where the rows of the grid stand on lines of their own, `rows` has their places.
    """
    name = task_of(grid)
    record, side = grid_task(name), math.isqrt(len(grid))
    try:
        signs = record.text.signs_of(grid + (answer or ""))
        cells = record.text.read(grid, signs)
        record.text.blank_in(grid)
        if not record.is_open(cells[None]).any():
            raise ValueError(f"a grid without a blank, where a puzzle should be: {shorten(grid)}")
        label = None if answer is None else record.text.read(answer, signs)
        record.text.checked(Puzzle(cells, label), record.is_open(cells[None])[0])
    except ValueError as error:
        if rows and isinstance(error, WrongSignError):
            place = rows[error.index // side]
        layout = record.layout(side) if side**2 == len(grid) else ""
        raise ValueError(": ".join(filter(None, [place, str(error), layout]))) from None
    answer_cells = None if label is None else label.reshape(side, side)
    return Question(name, cells.reshape(side, side), place, grid, answer_cells, signs=signs)


def has_blank(text: str) -> bool | None:
    """Return True for a puzzle, False for another grid, such as an answer, None for a text that is no grid."""
    if len(text) < 9:
        return None
    record = grid_task(task_of(text))
    try:
        cells = record.text.read(text, record.text.signs_of(text))
    except ValueError:
        return None
    return record.text.is_question(cells) and bool(record.is_open(cells[None]).any())


def is_grid(text: str) -> bool:
    """Return True for a puzzle or an answer, also with white space around it."""
    return not {has_blank(text), has_blank(text.strip())} <= {None}


def with_one_blank(questions: Iterable[Question]) -> Iterator[Question]:
    """Yield the puzzles of a file. ValueError for one whose blanks have another sign than those before it."""
    first: dict[str, str] = {}
    for question in questions:
        blank = "" if question.task == ARC else grid_task(question.task).text.blank_in(question.text)
        if blank and blank != first.setdefault(question.task, blank):
            raise ValueError(f"{question.place}: {blank!r}, and {first[question.task]!r} above, for blanks")
        yield question
