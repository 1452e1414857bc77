"""Permutations of the ten colours: the symbol symmetries of ARC puzzles.

A permutation is UInt8 "10": colour c becomes permutation[c]. The published augmentation of HRM and TRM keeps
colour 0, the background, where it is; SE-RRM needs none, for it is equivariant. Paper: section "ARC-AGI", data.
"""

from typing import Final

import numpy as np
from jaxtyping import UInt8

from serrm.puzzles.arc.grid import NUM_COLOURS, Grid

IDENTITY: Final = np.arange(NUM_COLOURS, dtype=np.uint8)
IDENTITY.setflags(write=False)


def recoloured(grid: Grid, permutation: UInt8[np.ndarray, "10"]) -> Grid:
    """The grid with every colour c replaced by permutation[c]."""
    image: Grid = permutation[grid]
    return image


def inverse(permutation: UInt8[np.ndarray, "10"]) -> UInt8[np.ndarray, "10"]:
    """The permutation that undoes this one."""
    return np.argsort(permutation).astype(np.uint8)
