"""Box shapes of square grids: of Sudoku, and of the positions within boxes that models may be given."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Box:
    """A box of `rows` × `cols` cells; the grid has side rows·cols, `cols` bands and `rows` stacks."""

    rows: int
    cols: int

    def __post_init__(self) -> None:
        """Raise ValueError for shapes whose values would not fit uint8 bit sets of 62 digits."""
        if self.rows < 1 or self.cols < 1 or not 2 <= self.side <= 62:
            raise ValueError(f"no Sudoku has boxes of {self.rows}x{self.cols} cells")

    @property
    def side(self) -> int:
        """n, the number of digits and the length of a row."""
        return self.rows * self.cols

    @property
    def num_cells(self) -> int:
        """I, the number of cells: n²."""
        return self.side**2

    def __str__(self) -> str:
        return f"{self.rows}x{self.cols}"


def box_for_side(n: int) -> Box:
    """The box shape of an n×n grid: the squarest with no more rows than columns, so that 9 gives 3×3, 6 gives 2×3.

    ValueError where n has no such shape, as primes.
    """
    rows = max((d for d in range(2, math.isqrt(max(n, 0)) + 1) if n % d == 0), default=None)
    if rows is None:
        raise ValueError(f"no box shape for a grid of side {n}")
    return Box(rows, n // rows)
