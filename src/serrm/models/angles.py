"""The angles of rotary positions: a head's features turn in pairs, each by an angle that grows along the grid.

Nothing here needs torch, so reading params.yaml does not either.
"""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float32, Integer

from serrm.puzzles.boxes import box_for_side

ROPE_THETA = 10_000.0
# RoPE2D with boxes: radians per row or column (1, 0.4, …) and per box (1.2, 0.4, …, so five boxes all differ).
CELL_RATIO, BOX_FREQUENCY, BOX_RATIO = 2.5, 1.2, 3.0

Angles = Float32[np.ndarray, "S half"]


def no_angles(num_positions: int, head_dim: int) -> Angles:
    """Make angles of 0, which rotate nothing."""
    return np.zeros((num_positions, head_dim // 2), np.float32)


def rope(num_positions: int, head_dim: int) -> Angles:
    """Compute the angles of 1-D RoPE for the positions 0…S−1."""
    return _products([np.arange(num_positions)], _frequencies(head_dim))


def rope2d(num_positions: int, head_dim: int) -> Angles:
    """Compute the angles of RoPE2D on a square grid: head_dim/4 frequencies for the row, as many for the column."""
    return _products(_rows_and_columns(num_positions), _frequencies(head_dim // 2))


def rope2d_linear(num_positions: int, head_dim: int) -> Angles:
    """Compute the angles of RoPE2D with frequencies π/n, 2π/n, …, π radians per row or column, n = head_dim/4.

    An extension. A sum of their cosines can be large at one distance and small at all others, so a head finds a cell's
    neighbours at once; with RoPE2D's frequencies, most of them far below one, it must learn to.
    """
    num = head_dim // 4
    return _products(_rows_and_columns(num_positions), math.pi * _floats(1, num + 1) / num)


def rope2d_odd(num_positions: int, head_dim: int) -> Angles:
    """Compute angles of RoPE2D with frequencies π/2n, 3π/2n, …, (2n-1)π/2n radians per row or column, n = head_dim/4.

    An extension. The cosines of a difference in rows sum to n at 0 rows, to 0 at 1 to 2n-1 rows and to -n at 2n rows,
    so attention avoids a row that is 2n rows away. `rope2d_linear` cannot tell that row from the cell's own, so
    `rope2d_linear` is for grids of at most 2n rows.
    """
    num = head_dim // 4
    return _products(_rows_and_columns(num_positions), math.pi * (_floats(1, 2 * num, 2) / (2 * num)))


def rope2d_boxes(num_positions: int, head_dim: int) -> Angles:
    """Compute the angles of RoPE2D with boxes, an extension for Sudoku.

    Row, column and their boxes have head_dim/8 frequencies each.

    Distances in rows and columns do not say whether two cells share a box; the paper's models must learn that.
    Raises ValueError if there are no boxes.
    """
    row, column = _rows_and_columns(num_positions)
    box = box_for_side(math.isqrt(num_positions))
    powers = -_floats(0, head_dim // 8)
    line_angles = _products([row, column], _power(CELL_RATIO, powers))
    box_angles = _products([row // box.rows, column // box.cols], BOX_FREQUENCY * _power(BOX_RATIO, powers))
    return np.concatenate([line_angles, box_angles], axis=-1)


def rope2d_in_boxes(num_positions: int, head_dim: int) -> Angles:
    """Compute the angles for four coordinates: the box's row and the row within the box, and the same for columns.

    An extension for Sudoku. Each coordinate has n = head_dim/8 frequencies 2π/(2n+1), 4π/(2n+1), … Their cosines sum to
    n where two cells agree and to -1/2 at any distance, so cells that share nothing are as unlike in a small grid as in
    a large one. Raises ValueError as `rope2d_boxes`, and for boxes with more than 2n+1 columns.
    """
    row, column = _rows_and_columns(num_positions)
    box, num = box_for_side(math.isqrt(num_positions)), head_dim // 8
    if box.cols > 2 * num + 1:
        raise ValueError(
            f"heads of {head_dim} features distinguish {2 * num + 1} rows or columns of a box, not {box.cols}"
        )
    coordinates = [row // box.rows, row % box.rows, column // box.cols, column % box.cols]
    return _products(coordinates, 2 * math.pi * _floats(1, num + 1) / (2 * num + 1))


def _rows_and_columns(num_positions: int) -> list[Integer[np.ndarray, " S"]]:
    """Find the row and the column of each cell of a square grid."""
    side = math.isqrt(num_positions)
    assert side * side == num_positions, "a grid with rows and columns is square"
    return [*np.divmod(np.arange(num_positions), side)]


def _products(
    coordinates: Sequence[Integer[np.ndarray, " S"]], frequencies: Float32[np.ndarray, " f"]
) -> Angles:
    """Multiply every coordinate of a cell by every frequency."""
    return np.concatenate(
        [np.outer(coordinate.astype(np.float32), frequencies) for coordinate in coordinates], axis=-1
    )


def _frequencies(dim: int) -> Float32[np.ndarray, " half"]:
    return _power(ROPE_THETA, -(_floats(0, dim, 2) / dim))


def _power(base: float, exponents: Float32[np.ndarray, " n"]) -> Float32[np.ndarray, " n"]:
    """Compute powers in float64 and round them, so that they are the same on every computer."""
    powers: Float32[np.ndarray, " n"] = np.power(base, exponents.astype(np.float64)).astype(np.float32)
    return powers


def _floats(start: int, stop: int, step: int = 1) -> Float32[np.ndarray, " n"]:
    return np.arange(start, stop, step).astype(np.float32)
