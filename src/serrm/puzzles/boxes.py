"""Box shapes of square grids, for the rules of Sudoku and for models' position encodings within boxes."""

import math
from typing import NamedTuple


class Box(NamedTuple):
    """A box of `rows` × `cols` cells; the grid has side rows·cols, `cols` bands and `rows` stacks."""

    rows: int
    cols: int


def box_for_side(n: int) -> Box:
    """Choose the box shape of an n×n grid, the squarest with no more rows than columns.

    9 gives 3×3, 6 gives 2×3.

    ValueError if n has no such shape: primes, and numbers below 4.
    """
    rows = max((d for d in range(2, math.isqrt(max(n, 0)) + 1) if n % d == 0), default=None)
    if rows is None:
        raise ValueError(f"no box shape for a grid of side {n}")
    return Box(rows, n // rows)


def boxes_in_words(n: int) -> str:
    """Describe the boxes of an n×n grid unless they are squares, because other shapes are in use too.

    The text is empty without boxes.
    """
    try:
        box = box_for_side(n)
    except ValueError:
        return ""
    return "" if box.rows == box.cols else f"boxes of {box.rows} rows by {box.cols} columns"
