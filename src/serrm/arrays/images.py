"""The symmetric images of puzzles on a grid, by task: what a row of numbers makes of a puzzle's tokens.

Puzzles stay as they are; an image is applied when a batch is gathered. Of a Sudoku its row is the parameters of a
symmetry, a pure function of (seed, puzzle, member); of a maze it is one of the eight dihedral transforms. Paper:
sections "Sudoku" and "Maze", data.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import UInt8

from serrm.puzzles.dihedral import NUM_TRANSFORMS, cell_order
from serrm.puzzles.sudoku.grid import box_for_side
from serrm.puzzles.sudoku.symmetry import apply_parameters, num_uniforms, symmetries_from_uniforms
from serrm.randomness import Purpose, keyed_rng

Tokens = UInt8[np.ndarray, "N I"]
Row = UInt8[np.ndarray, " P"]
Rows = UInt8[np.ndarray, "N P"]


@dataclass(frozen=True)
class Images:
    """How the puzzles of a task on square grids become tokens, and what its symmetric images are."""

    # Added to a cell of a puzzle set to make it a token: Sudoku sets hold digits, maze sets tokens.
    offset: int
    most: int | None  # images a puzzle can have besides itself; None: any number
    draw: Callable[[int, int, int, int], Row]  # (seed, puzzle, member 0 1 2 …, side); 0 is the puzzle itself
    apply: Callable[[Tokens, Rows, int], Tokens]  # (tokens, a row each, side)


def draw_symmetry(seed: int, puzzle: int, member: int, side: int) -> Row:
    """The parameters of a Sudoku's image `member`."""
    if member == 0:
        lines = np.arange(side, dtype=np.uint8)
        return np.concatenate([lines, lines, [0], lines + 1]).astype(np.uint8)
    box = box_for_side(side)
    uniforms = keyed_rng(seed, Purpose.AUGMENTATION, puzzle, member).random((1, num_uniforms(box)))
    row: Row = symmetries_from_uniforms(uniforms, box)[0]
    return row


def apply_symmetries(tokens: Tokens, rows: Rows, side: int) -> Tokens:
    """Sudokus with their digits relabelled and their cells moved, each by its row of parameters."""
    return apply_parameters(tokens - 1, rows, box_for_side(side)) + 1


def apply_transforms(tokens: Tokens, rows: Rows, side: int) -> Tokens:
    """Mazes turned and mirrored, each by the dihedral transform in its row."""
    orders = np.stack([cell_order(side, side, transform) for transform in rows[:, 0].tolist()])
    return np.take_along_axis(tokens, orders, axis=1)


IMAGES = {
    "sudoku": Images(1, None, draw_symmetry, apply_symmetries),
    "maze": Images(
        0, NUM_TRANSFORMS - 1, lambda _, __, member, ___: np.array([member], np.uint8), apply_transforms
    ),
}
"""Of the tasks on square grids, which are all but ARC-AGI's. A task of one's own is one entry more."""
