"""Full grids as py-sudoku completes them, from random boxes on the diagonal: what the 16×16 puzzles are made of.

The paper made its 16×16 puzzles with py-sudoku. Its search knows no limit and now and then has no end, so it is done
here in the same order, with the same grids: depth first, in the first of the blanks with the fewest digits left,
digits ascending. A start on which it visits too many positions gives way to the next. (Paper: data section.)
"""

from itertools import islice

import numpy as np
from jaxtyping import UInt8

from serrm.puzzles.sudoku.grid import Box, unit_indices

MAX_STARTS = 50
"""Starts a grid before giving up."""


def filled_grids(num: int, seed: int, box: Box) -> list[UInt8[np.ndarray, " I"]]:
    """`num` full grids, decided by the seed. RuntimeError where nearly every start leads nowhere."""
    rng = np.random.default_rng(seed)
    starts = (fill_diagonal(box, rng) for _ in range(MAX_STARTS * num))
    # A limit in seconds would make the grids depend on the machine.
    tried = (fill_blanks(start, box, 2 * int(np.count_nonzero(start == 0))) for start in starts)
    grids = list(islice((grid for grid in tried if grid is not None), num))
    if len(grids) < num:
        raise RuntimeError(f"completed {len(grids)} of {num} grids of side {box.side}")
    return grids


def fill_diagonal(box: Box, rng: np.random.Generator) -> UInt8[np.ndarray, " I"]:
    """A grid with random digits in the boxes on the diagonal, which share no unit, and blanks elsewhere."""
    n = box.side
    grid = np.zeros((n, n), dtype=np.uint8)
    for k in range(min(box.rows, box.cols)):
        digits = rng.permutation(n).reshape(box.rows, box.cols) + 1
        grid[k * box.rows : (k + 1) * box.rows, k * box.cols : (k + 1) * box.cols] = digits
    return grid.reshape(-1)


def fill_blanks(
    grid: UInt8[np.ndarray, " I"], box: Box, max_positions: int
) -> UInt8[np.ndarray, " I"] | None:
    """The first solution in py-sudoku's order, or None where it takes more positions than that."""
    values, units = grid.tolist(), unit_indices(box)
    peers = [set(units[(units == cell).any(axis=1)].ravel().tolist()) - {cell} for cell in range(len(values))]
    digits = {
        cell: set(range(1, box.side + 1)) - {values[peer] for peer in peers[cell]}
        for cell, value in enumerate(values)
        if not value
    }
    stack = [(digits, values)]
    for _ in range(max_positions):
        if not stack:
            return None
        digits, values = stack.pop()
        if not digits:
            return np.array(values, dtype=np.uint8)
        cell = min(digits, key=lambda blank: len(digits[blank]))
        for digit in sorted(digits[cell], reverse=True):
            left = {
                blank: found - {digit} if blank in peers[cell] else found
                for blank, found in digits.items()
                if blank != cell
            }
            stack.append((left, [*values[:cell], digit, *values[cell + 1 :]]))
    return None
