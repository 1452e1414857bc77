"""Exact answers about a Sudoku of any box shape: a solution, whether there is one, and how many.

Sources use it to keep the published 25×25 puzzles that can be solved (the paper's 42), and wherever a puzzle
comes from, to show that its solution is the only one. CP-SAT finds solutions; counting is our own bit-set
search, quicker by far where propagation does most of the work, and goes to CP-SAT where that gets lost.
"""

import itertools
import logging

import numpy as np
from jaxtyping import UInt8

from serrm.puzzles.sudoku import cpsat
from serrm.puzzles.sudoku.bitboard import SearchBudgetError, places_from_values, search, tables
from serrm.puzzles.sudoku.grid import Box, is_consistent

MAX_POSITIONS = 2_000
"""Positions our own search may visit for one more solution before CP-SAT takes over."""

logger = logging.getLogger(__name__)


def solve(grid: UInt8[np.ndarray, " I"], box: Box) -> UInt8[np.ndarray, " I"] | None:
    """A solution of the grid, or None where there is none. ValueError where the grid does not fit the box."""
    check_grid(grid, box)
    return next(cpsat.iterate_solutions(grid, box), None)


def is_satisfiable(grid: UInt8[np.ndarray, " I"], box: Box) -> bool:
    """Whether the grid has a solution."""
    return solve(grid, box) is not None


def count_solutions(grid: UInt8[np.ndarray, " I"], box: Box, limit: int = 2) -> int:
    """The number of solutions, or `limit` if there are at least as many."""
    check_grid(grid, box)
    if not is_consistent(grid, box):
        return 0
    board = tables(box)
    found = search(places_from_values(grid.tolist(), board), board, max_positions=MAX_POSITIONS)
    try:
        return sum(1 for _ in itertools.islice(found, limit))
    except SearchBudgetError as error:
        logger.debug("own search: %s; CP-SAT counts", error)
        return sum(1 for _ in itertools.islice(cpsat.iterate_solutions(grid, box), limit))


def has_unique_solution(grid: UInt8[np.ndarray, " I"], box: Box) -> bool:
    """Whether the grid has exactly one solution."""
    return count_solutions(grid, box, limit=2) == 1


def check_grid(grid: UInt8[np.ndarray, " I"], box: Box) -> None:
    """Raise ValueError for a wrong number of cells or a value above n."""
    if len(grid) != box.num_cells:
        raise ValueError(f"a grid with boxes of {box} has {box.num_cells} cells, not {len(grid)}")
    if grid.max() > box.side:
        raise ValueError(f"{grid.max()} is no digit of a grid of side {box.side}")
