"""The eight dihedral transforms of a grid, which are also augmentations of square grids, with the same numbers.

Transform k transposes if k ≥ 4, then rotates by k mod 4 quarter turns counter-clockwise: 0 is the identity, and every
reflection is its own inverse. Reflections are 4 in the main diagonal, 5 of top and bottom, 6 in the antidiagonal, 7 of
left and right.
"""

from functools import lru_cache
from typing import Final

import numpy as np
from jaxtyping import Int, Shaped, UInt8

from serrm.puzzles.raw import Grids

NUM_TRANSFORMS: Final = 8


def transformed(grid: Shaped[np.ndarray, "R C"], transform: int) -> Shaped[np.ndarray, "R2 C2"]:
    """Return the grid after one of the eight dihedral transforms."""
    turned = grid.T if transform >= 4 else grid
    return np.rot90(turned, transform % 4)


def inverse_transform(transform: int) -> int:
    """Return the transform that undoes this one."""
    return transform if transform >= 4 else -transform % 4


@lru_cache(maxsize=64)
def cell_order(side: int, transform: int) -> Int[np.ndarray, " I"]:
    """List for each cell of a transformed square grid the cell of the original from which it comes. Read-only."""
    order = np.ascontiguousarray(transformed(np.arange(side**2).reshape(side, side), transform)).reshape(-1)
    order.setflags(write=False)
    return order


def draw_transform(seed: int, puzzle: int, augmentation: int, side: int) -> UInt8[np.ndarray, " 1"]:
    """Return the parameters of an augmentation: augmentation a is transform a. Nothing is random."""
    return np.array([augmentation], np.uint8)


def apply_transforms(tokens: Grids, rows: UInt8[np.ndarray, "N 1"], side: int) -> Grids:
    """Turn and mirror N square grids, each by the dihedral transform in its row."""
    orders = np.stack([cell_order(side, transform) for transform in rows[:, 0].tolist()])
    return np.take_along_axis(tokens, orders, axis=1)
