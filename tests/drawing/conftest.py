"""Small puzzles of each task with an answer, as tokens."""

from typing import Any

import numpy as np
import pytest

from serrm.drawing.panels import Puzzle
from serrm.puzzles.arc.canvas import encode
from serrm.puzzles.maze.grid import parse_maze
from serrm.puzzles.sudoku.text import parse_grid

SUDOKU, SUDOKU_ANSWER = "1.3.341.2..3.321", "1234341221434321"
MAZE, MAZE_ANSWER = "S #   # #  #   G", "So#  o# #oo#  oG"
ARC_QUESTION = [[0, 1], [2, 3]]
ARC_ANSWER = [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [9, 0, 9, 0, 9]]
ARC_SIDE = 7


def arc_tokens(rows: list[list[int]]) -> Any:
    return encode(np.array(rows, dtype=np.uint8), ARC_SIDE)


@pytest.fixture
def sudoku() -> Puzzle:
    return Puzzle("sudoku", 4, parse_grid(SUDOKU) + np.uint8(1), parse_grid(SUDOKU_ANSWER) + np.uint8(1))


@pytest.fixture
def maze() -> Puzzle:
    return Puzzle("maze", 4, parse_maze(MAZE), parse_maze(MAZE_ANSWER))


@pytest.fixture
def arc() -> Puzzle:
    return Puzzle("arc_agi_1", ARC_SIDE, arc_tokens(ARC_QUESTION), arc_tokens(ARC_ANSWER))


@pytest.fixture
def puzzles(sudoku: Puzzle, maze: Puzzle, arc: Puzzle) -> list[Puzzle]:
    return [sudoku, maze, arc]
