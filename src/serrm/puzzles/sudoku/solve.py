"""A solution of a Sudoku of any box shape, or that there is none, for whoever has puzzles without answers.

Sources use it to keep the published 25×25 puzzles that can be solved (the paper's 42).
"""

from dataclasses import replace

import numpy as np
from jaxtyping import UInt8

from serrm.puzzles.sudoku import cpsat
from serrm.puzzles.sudoku.grid import Box, box_for_side
from serrm.puzzles.sudoku.parse import Puzzle


def solve(grid: UInt8[np.ndarray, " I"], box: Box) -> UInt8[np.ndarray, " I"] | None:
    """A solution of the grid, or None where there is none. ValueError where the grid does not fit the box."""
    return next(cpsat.iterate_solutions(grid, box), None)


def answered(puzzle: Puzzle) -> Puzzle | None:
    """The puzzle with an answer, found if it came without; None where it has no solution."""
    if puzzle.answer is not None:
        return puzzle
    answer = solve(puzzle.question, box_for_side(puzzle.side))
    return None if answer is None else replace(puzzle, answer=answer)
