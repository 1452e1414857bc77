"""One Sudoku grid as text and back, a character a cell.

The notation all text formats share: `.` or `0` for a blank, 1…9 and then A…Z for the digits from 10 on. Used
by the file formats and by whatever shows or takes a single grid. (The notation of the paper's data sources,
continued beyond 9.)
"""

import math

import numpy as np
from jaxtyping import UInt8

from serrm.puzzles.sudoku.grid import box_for_side
from serrm.puzzles.tables import shorten

SYMBOLS = ".123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""How the values 0…35 are written."""

# 255, no digit of any grid, for every character that is none.
_VALUE_OF_BYTE = bytes(0 if c == "0" else SYMBOLS.find(c) % 256 for c in map(chr, range(256)))


def parse_grid(text: str) -> UInt8[np.ndarray, " I"]:
    """The values 0…n of a grid of I = n² characters.

    ValueError with the offending part: a character that is no digit, a digit above n, or a number of
    characters that makes no grid.
    """
    values = np.frombuffer(
        bytearray(text.encode("latin-1", "replace").translate(_VALUE_OF_BYTE)), dtype=np.uint8
    )
    side = math.isqrt(len(values))
    if side**2 != len(values):
        raise ValueError(f"{len(values)} characters make no square grid: {shorten(text)}")
    box_for_side(side)
    too_large = np.flatnonzero(values > side)
    if len(too_large):
        position = int(too_large[0])
        raise ValueError(f"{text[position]!r} at position {position + 1} is no digit of a {side}x{side} grid")
    return values


def format_grid(grid: UInt8[np.ndarray, " I"]) -> str:
    """The I characters of a grid, `.` for a blank. ValueError for values that have no character."""
    if grid.size and grid.max() >= len(SYMBOLS):
        raise ValueError(f"no character for the digit {grid.max()}; the largest is {len(SYMBOLS) - 1}")
    return "".join(SYMBOLS[value] for value in grid.tolist())
