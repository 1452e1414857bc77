"""Reading and writing mazes in the publisher's format: CSV with the columns source, question, answer, rating.

Sources hand their files to this module. Reading is lazy, in constant memory; a malformed row is a ValueError of one
line that names file, line and value. The published ratings of Maze-Hard count the cells of the shortest path with
start and goal (110 and more), those written here its steps. Paper: section "Maze", data.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from serrm.puzzles.maze.grid import PATH, SPACE, check_questions, format_maze, parse_maze, side_of
from serrm.puzzles.tables import CSV_COLUMNS, parse_rating, read_table, write_table


@dataclass(frozen=True, eq=False)
class MazePuzzle:
    """One maze of I = side² tokens and its answer: the question with some spaces marked as path.

    Whether they are a path is asked of `paths`. `source` says where the maze is from, `rating` how long its
    publisher finds the path.
    """

    question: UInt8[np.ndarray, " I"]
    answer: UInt8[np.ndarray, " I"]
    side: int
    source: str = ""
    rating: int | None = None

    def __post_init__(self) -> None:
        """Raise ValueError unless the question is a maze of that side and the answer keeps it."""
        check_questions(self.question[None])
        if side_of(self.question) != self.side:
            raise ValueError(f"{len(self.question)} cells are no {self.side}x{self.side} maze")
        is_marked = (self.question == SPACE) & (self.answer == PATH)
        wrong = np.flatnonzero((self.question != self.answer) & ~is_marked)
        if wrong.size:
            pair = format_maze(self.question[wrong[:1]]), format_maze(self.answer[wrong[:1]])
            raise ValueError(
                f"cell {wrong[0] + 1} is {pair[0]!r} in the question but {pair[1]!r} in the answer"
            )


def read_csv(path: Path | str) -> Iterator[MazePuzzle]:
    """Mazes of a CSV file source,question,answer,rating; an empty rating is None."""
    return read_table(path, CSV_COLUMNS, ",", _build_maze)


def _build_maze(source: str, question: str, answer: str, rating: str) -> MazePuzzle:
    cells, marked = parse_maze(question), parse_maze(answer)
    if len(cells) != len(marked):
        raise ValueError(f"a maze of {len(cells)} cells with an answer of {len(marked)}")
    return MazePuzzle(cells, marked, side_of(cells), source, parse_rating(rating))


def write_csv(path: Path | str, puzzles: Iterable[MazePuzzle]) -> None:
    """Write mazes as source,question,answer,rating. The file appears once whole."""
    write_table(path, CSV_COLUMNS, map(_to_row, puzzles))


def _to_row(puzzle: MazePuzzle) -> list[str | int | None]:
    return [puzzle.source, format_maze(puzzle.question), format_maze(puzzle.answer), puzzle.rating]
