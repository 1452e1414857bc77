"""Small puzzles of each task with an answer, as tokens."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from serrm.puzzles.arc.canvas import encode
from serrm.puzzles.maze.grid import parse_maze

SUDOKU = "1.3.", "341.", "2..3", ".321"
SUDOKU_ANSWER = "1234", "3412", "2143", "4321"
MAZE = "S # ", "  # ", "#  #", "   G"
MAZE_ANSWER = "So# ", " o# ", "#oo#", "  oG"
ARC_QUESTION = [[0, 1], [2, 3]]
ARC_ANSWER = [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [9, 0, 9, 0, 9]]
ARC_SIDE = 7


@dataclass(frozen=True, eq=False)
class Puzzle:
    """A task, the side of its grid of tokens, a question and its answer."""

    task: str
    side: int
    question: Any
    answer: Any

    @property
    def basis(self) -> tuple[Any, ...]:
        return self.task, self.side, self.question


def sudoku_tokens(rows: tuple[str, ...]) -> Any:
    return np.array([0 if c == "." else int(c) for c in "".join(rows)], dtype=np.uint8) + np.uint8(1)


def arc_tokens(rows: list[list[int]], side: int = ARC_SIDE) -> Any:
    return encode(np.array(rows, dtype=np.uint8), side)


@pytest.fixture
def puzzles() -> dict[str, Puzzle]:
    return {
        "sudoku": Puzzle("sudoku", 4, sudoku_tokens(SUDOKU), sudoku_tokens(SUDOKU_ANSWER)),
        "maze": Puzzle("maze", 4, parse_maze("".join(MAZE)), parse_maze("".join(MAZE_ANSWER))),
        "arc_agi_1": Puzzle("arc_agi_1", ARC_SIDE, arc_tokens(ARC_QUESTION), arc_tokens(ARC_ANSWER)),
    }


@pytest.fixture
def sudoku(puzzles: dict[str, Puzzle]) -> Puzzle:
    return puzzles["sudoku"]


@pytest.fixture
def maze(puzzles: dict[str, Puzzle]) -> Puzzle:
    return puzzles["maze"]


@pytest.fixture
def arc(puzzles: dict[str, Puzzle]) -> Puzzle:
    return puzzles["arc_agi_1"]
