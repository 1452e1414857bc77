"""The eight dihedral transforms of a rectangular grid: the position symmetries of ARC puzzles and mazes.

Transform k first transposes if k ≥ 4, then rotates by k mod 4 quarter turns counter-clockwise. 0 is the identity;
rotations undo each other, every reflection undoes itself.
"""

from functools import lru_cache

import numpy as np
from jaxtyping import Int, Shaped, UInt8

NUM_TRANSFORMS = 8


def transformed(grid: Shaped[np.ndarray, "R C"], transform: int) -> Shaped[np.ndarray, "R2 C2"]:
    """The image of a grid; rows and columns trade places where the transform is odd or has a transposition."""
    turned = grid.T if transform >= 4 else grid
    return np.rot90(turned, transform % 4)


def inverse(transform: int) -> int:
    """The transform that undoes this one."""
    return transform if transform >= 4 else -transform % 4


@lru_cache(maxsize=64)
def cell_order(num_rows: int, num_columns: int, transform: int) -> Int[np.ndarray, " I"]:
    """Cell i of the image takes cell order[i] of the original, both row by row; read-only."""
    places = np.arange(num_rows * num_columns).reshape(num_rows, num_columns)
    order = np.ascontiguousarray(transformed(places, transform)).reshape(-1)
    order.setflags(write=False)
    return order


def draw_transform(seed: int, puzzle: int, augmentation: int, side: int) -> UInt8[np.ndarray, " 1"]:
    """The dihedral transform of an augmentation: they are numbered alike."""
    return np.array([augmentation], np.uint8)


def apply_transforms(
    tokens: UInt8[np.ndarray, "N I"], rows: UInt8[np.ndarray, "N 1"], side: int
) -> UInt8[np.ndarray, "N I"]:
    """Square grids turned and mirrored, each by the dihedral transform in its row."""
    orders = np.stack([cell_order(side, side, transform) for transform in rows[:, 0].tolist()])
    return np.take_along_axis(tokens, orders, axis=1)
