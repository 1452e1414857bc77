"""Images of ARC grids on a canvas: transformed, recoloured, moved and bordered for a whole batch at once.

What `transformed`, `recoloured` and `encode` do to one grid, in one look-up: the row of an image's cell depends on its
source's row alone (or column, where the transform transposes), and the line after a grid's last is its border.
"""

import numpy as np
from jaxtyping import Bool, Int, UInt8

from serrm.puzzles.arc.canvas import END_OF_GRID, FIRST_COLOUR, NUM_SYMBOLS, PADDING
from serrm.puzzles.dihedral import NUM_TRANSFORMS, transformed

# The images of [[0, 1], [2, 3]]: a step down an image is ±1 where the transform transposes, else ±2.
_SQUARES = np.stack([transformed(np.arange(4).reshape(2, 2), k) for k in range(NUM_TRANSFORMS)])
_STEPS = np.stack([_SQUARES[:, 1, 0] - _SQUARES[:, 0, 0], _SQUARES[:, 0, 1] - _SQUARES[:, 0, 0]], axis=1)
DOES_TRANSPOSE: Bool[np.ndarray, "8"] = abs(_STEPS[:, 0]) == 1
DOES_FLIP: Bool[np.ndarray, "8 2"] = _STEPS < 0  # an image's row and column axis


def image_sizes(
    sizes: UInt8[np.ndarray, "B 2"], transforms: UInt8[np.ndarray, " B"]
) -> Int[np.ndarray, "B 2"]:
    """Rows and columns of the images of grids with these rows and columns."""
    return np.where(DOES_TRANSPOSE[transforms, None], sizes[:, ::-1], sizes).astype(np.int64)


def draw_images(
    canvases: UInt8[np.ndarray, "P I"],
    chosen: Int[np.ndarray, " B"],
    sizes: Int[np.ndarray, "B 2"],
    changes: UInt8[np.ndarray, "B 11"],
    offsets: Int[np.ndarray, "B 2"],
) -> UInt8[np.ndarray, "B I"]:
    """The images of the grids at the corners of the chosen canvases, as tokens.

    Args:
        canvases: tokens of square canvases with a grid at the corner.
        chosen: the canvas that each image is of.
        sizes: rows and columns of each image.
        changes: transform and permutation of colours of each image.
        offsets: row and column of each image's top-left cell, where it must fit.
    """
    side, (num, transforms) = round(canvases.shape[1] ** 0.5), (len(chosen), changes[:, 0])
    transposes = DOES_TRANSPOSE[transforms]
    rows, in_rows = _lines(side, sizes[:, 0], offsets[:, 0], DOES_FLIP[transforms, 0])
    columns, in_columns = _lines(side, sizes[:, 1], offsets[:, 1], DOES_FLIP[transforms, 1])
    first = chosen * canvases.shape[1]
    down = first[:, None] + rows * np.where(transposes, 1, side)[:, None]
    across = columns * np.where(transposes, side, 1)[:, None]
    tokens = np.asarray(canvases).reshape(-1).take(down[:, :, None] + across[:, None, :])
    recoloured = _recolouring(changes[:, 1:])
    places = np.arange(num) * NUM_SYMBOLS
    images = recoloured.reshape(-1).take(tokens + places[:, None, None])
    images *= in_rows[:, :, None]
    images *= in_columns[:, None, :]
    return np.asarray(images.reshape(num, -1))


def _lines(
    side: int,
    lengths: Int[np.ndarray, " B"],
    offsets: Int[np.ndarray, " B"],
    is_flipped: Bool[np.ndarray, " B"],
) -> tuple[Int[np.ndarray, "B S"], Bool[np.ndarray, "B S"]]:
    """The source of each line (row or column) of an image's canvas, and whether it has one; border included."""
    places, lengths = np.arange(side) - offsets[:, None], lengths[:, None]
    flipped = np.where(is_flipped[:, None] & (places < lengths), lengths - 1 - places, places)
    has_source = (places >= 0) & (places <= lengths)
    return np.where(has_source, flipped, 0), has_source


def _recolouring(permutations: UInt8[np.ndarray, "B 10"]) -> UInt8[np.ndarray, "B K"]:
    """What becomes of each token."""
    special = np.array([PADDING, END_OF_GRID], dtype=np.uint8)
    tiled = np.tile(special, (len(permutations), 1))
    return np.concatenate([tiled, permutations + np.uint8(FIRST_COLOUR)], axis=1)
