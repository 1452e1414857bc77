"""The Sudoku grid: box shapes, units, and the rules as two predicates.

A grid is a flat uint8 array of I = n² values in row-major order, 0 for a blank and 1…n for the digits.
Everything about Sudoku builds on this module: parsing, symmetries, solving, generating, scoring of answers.
The paper's task section has the rules for n = 9; boxes of any r×c cells generalise them.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Bool, Int, Int64, UInt8


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


@lru_cache
def unit_indices(box: Box) -> Int[np.ndarray, "U n"]:
    """The cells of the U = 3n units: rows, then columns, then boxes, each ascending. Read-only."""
    n = box.side
    cells = np.arange(box.num_cells).reshape(n, n)
    # axes: band, row in band, stack, column in stack
    boxes = cells.reshape(box.cols, box.rows, box.rows, box.cols).transpose(0, 2, 1, 3)
    units = np.concatenate([cells, cells.T, boxes.reshape(n, n)])
    units.flags.writeable = False
    return units


def are_consistent(grids: UInt8[np.ndarray, "N I"], box: Box) -> Bool[np.ndarray, " N"]:
    """Whether no digit stands twice in a unit. Values above n are no digits and make a grid inconsistent."""
    if grids.shape[1] != box.num_cells:
        raise ValueError(f"a grid with boxes of {box} has {box.num_cells} cells, not {grids.shape[1]}")
    bits = _digit_bits(box.side)[grids][:, unit_indices(box)]
    # A sum of powers of two equals their union exactly when no power occurs twice.
    has_distinct: Bool[np.ndarray, "N U"] = bits.sum(axis=-1) == np.bitwise_or.reduce(bits, axis=-1)
    has_digits: Bool[np.ndarray, " N"] = np.all(grids <= box.side, axis=-1)
    return np.asarray(np.all(has_distinct, axis=-1) & has_digits)


def are_solutions(grids: UInt8[np.ndarray, "N I"], box: Box) -> Bool[np.ndarray, " N"]:
    """Whether every unit holds every digit once. Memory grows with N: 30 kB a 25×25 grid."""
    return np.asarray(are_consistent(grids, box) & np.all(grids > 0, axis=-1))


def are_answers(
    questions: UInt8[np.ndarray, "N I"], answers: UInt8[np.ndarray, "N I"]
) -> Bool[np.ndarray, " N"]:
    """Which answers are solutions that keep the digits of their questions."""
    keeps_digits = np.all((questions == 0) | (questions == answers), axis=1)
    return np.asarray(keeps_digits & are_solutions(answers, box_for_side(math.isqrt(questions.shape[1]))))


def is_consistent(grid: UInt8[np.ndarray, " I"], box: Box) -> bool:
    """Whether no digit stands twice in a unit; blanks are allowed."""
    return bool(are_consistent(grid[None], box)[0])


def is_solution(grid: UInt8[np.ndarray, " I"], box: Box) -> bool:
    """Whether every unit holds every digit once."""
    return bool(are_solutions(grid[None], box)[0])


@lru_cache
def _digit_bits(n: int) -> Int64[np.ndarray, " 256"]:
    """Bit v-1 for the digit v; nothing for blanks and for values that are no digit."""
    bits = np.zeros(256, dtype=np.int64)
    bits[1 : n + 1] = 1 << np.arange(n, dtype=np.int64)
    return bits
