"""Grids as tokens on a square canvas, and back.

A token is 0 padding, 1 end of grid, 2…11 the colours 0…9. End-of-grid tokens
border a grid below and to the right where there is room; the corner between the two stays padding, as in the
published code. In training a pair is placed at a random offset (translation), in evaluation at the corner.
Paper: section "ARC-AGI", data.
"""

from typing import Final

import numpy as np
from jaxtyping import Int, UInt8

from serrm.puzzles.arc.grid import NUM_COLOURS, Grid

NUM_SYMBOLS: Final = 12
PADDING: Final = 0
END_OF_GRID: Final = 1
FIRST_COLOUR: Final = 2


def encode(grid: Grid, side: int, offset: tuple[int, int] = (0, 0)) -> UInt8[np.ndarray, " I"]:
    """The I = side² tokens, row by row, of a canvas with the grid's top-left cell at (row, column) `offset`.

    ValueError if the grid does not fit there.
    """
    (num_rows, num_columns), (top, left) = grid.shape, offset
    bottom, right = top + num_rows, left + num_columns
    if min(offset) < 0 or max(bottom, right) > side:
        raise ValueError(f"a grid of {num_rows} x {num_columns} at {offset} is not within a canvas of {side}")
    canvas = np.full((side, side), PADDING, dtype=np.uint8)
    canvas[top:bottom, left:right] = grid + FIRST_COLOUR
    # An empty slice where the border has no room.
    canvas[bottom : bottom + 1, left:right] = END_OF_GRID
    canvas[top:bottom, right : right + 1] = END_OF_GRID
    return canvas.reshape(-1)


def decode(tokens: UInt8[np.ndarray, " I"], side: int) -> Grid:
    """The grid at the corner: the largest rectangle from there that holds colours only, of any tokens at all.

    Of equally large ones it is that with the fewest rows; without a colour at the corner it is empty, 0 × 0.
    """
    num_rows, num_columns = decoded_sizes(tokens[None], side)[0]
    grid: Grid = tokens.reshape(side, side)[:num_rows, :num_columns] - np.uint8(FIRST_COLOUR)
    return grid


def decoded_sizes(tokens: UInt8[np.ndarray, "N I"], side: int) -> Int[np.ndarray, "N 2"]:
    """Rows and columns of the grids that `decode` reads off N canvases."""
    canvases = tokens.reshape(len(tokens), side, side)
    is_colour = (canvases >= FIRST_COLOUR) & (canvases < FIRST_COLOUR + NUM_COLOURS)
    # How far colours reach from the left in each row, and in every row down to it.
    widths = np.minimum.accumulate(is_colour.cumprod(axis=2).sum(axis=2), axis=1)
    areas = widths * np.arange(1, widths.shape[1] + 1)
    last_rows = areas.argmax(axis=1)
    columns = np.take_along_axis(widths, last_rows[:, None], axis=1)[:, 0]
    return np.stack([np.where(columns > 0, last_rows + 1, 0), columns], axis=1)
