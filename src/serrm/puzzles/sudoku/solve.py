"""A solution of a Sudoku of any box shape, or that there is none, for whoever has puzzles without answers.

Sources use it to keep the published 25×25 puzzles that can be solved (the paper's 42).
"""

import numpy as np
from jaxtyping import UInt8

from serrm.puzzles.sudoku import cpsat
from serrm.puzzles.sudoku.grid import Box


def solve(grid: UInt8[np.ndarray, " I"], box: Box) -> UInt8[np.ndarray, " I"] | None:
    """A solution of the grid, or None where there is none. ValueError where the grid does not fit the box."""
    if len(grid) != box.num_cells:
        raise ValueError(f"a grid with boxes of {box} has {box.num_cells} cells, not {len(grid)}")
    if grid.max() > box.side:
        raise ValueError(f"{grid.max()} is no digit of a grid of side {box.side}")
    return next(cpsat.iterate_solutions(grid, box), None)
