"""Full grids completed by py-sudoku, a process of its own: `python -m serrm.puzzles.sudoku.pysudoku_grids`.

The paper made its 16×16 puzzles with py-sudoku. The package touches the global random state and now and then
searches without end, so the generator runs this module apart: the boxes on the diagonal are filled from the
seed, py-sudoku fills the rest, and a start on which it visits too many positions gives way to the next.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import UInt8
from sudoku.sudoku import Sudoku, _SudokuSolver

from serrm.puzzles.sudoku.grid import Box, box_for_side

MAX_STARTS = 50
"""Starts per grid before giving up."""


class _TooManyPositionsError(Exception):
    """py-sudoku's search got lost."""


def complete_grids(num: int, seed: int, side: int) -> Iterator[UInt8[np.ndarray, " I"]]:
    """`num` full grids, decided by the seed. RuntimeError where py-sudoku gets lost on nearly every start."""
    rng = np.random.default_rng(seed)
    box = box_for_side(side)
    num_left = num
    for _ in range(MAX_STARTS * num):
        grid = _complete(_fill_diagonal(box, rng), box)
        if grid is not None:
            yield grid
            num_left -= 1
        if num_left == 0:
            return
    if num_left:
        raise RuntimeError(f"py-sudoku completed {num - num_left} of {num} grids of side {side}")


def _fill_diagonal(box: Box, rng: np.random.Generator) -> UInt8[np.ndarray, "n n"]:
    """A grid with random digits in the boxes on the diagonal, which share no unit, and blanks elsewhere."""
    n = box.side
    grid = np.zeros((n, n), dtype=np.uint8)
    for k in range(min(box.rows, box.cols)):
        digits = rng.permutation(n).reshape(box.rows, box.cols) + 1
        grid[k * box.rows : (k + 1) * box.rows, k * box.cols : (k + 1) * box.cols] = digits
    return grid


def _complete(grid: UInt8[np.ndarray, "n n"], box: Box) -> UInt8[np.ndarray, " I"] | None:
    """py-sudoku's solution, or None once it has visited twice as many positions as there are blanks."""
    solver = _SudokuSolver(Sudoku(box.cols, box.rows, board=grid.tolist()))
    max_positions = 2 * np.count_nonzero(grid == 0)
    num_positions = 0
    visit = solver._SudokuSolver__get_solution

    def visit_counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal num_positions
        num_positions += 1
        if num_positions > max_positions:
            raise _TooManyPositionsError
        return visit(*args, **kwargs)

    # py-sudoku has no limit of its own, and one in seconds would make the grids depend on the machine.
    solver._SudokuSolver__get_solution = visit_counted
    try:
        solved = solver._solve()
    except _TooManyPositionsError:
        return None
    assert num_positions > 0, "py-sudoku no longer searches in __get_solution: its search is unlimited"
    return np.array(solved.board, dtype=np.uint8).reshape(-1)


def main() -> None:
    """Write one JSON list of I digits a line."""
    parser = argparse.ArgumentParser(
        description="Full Sudoku grids completed by py-sudoku, one JSON list a line."
    )
    parser.add_argument("--num", type=int, required=True, help="number of grids")
    parser.add_argument("--seed", type=int, required=True, help="decides the grids")
    parser.add_argument("--side", type=int, default=16, help="side of a grid")
    arguments = parser.parse_args()
    for grid in complete_grids(arguments.num, arguments.seed, arguments.side):
        sys.stdout.write(json.dumps(grid.tolist()) + "\n")


if __name__ == "__main__":
    main()
