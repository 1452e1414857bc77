"""ARC-AGI's coloured grids: pairs, permutations of colours, and the canvas of tokens.

A token is 0 padding, 1 end of grid, 2…11 the colours 0…9. End-of-grid tokens border a grid below and to the right where
there is room; the corner between the two stays padding, as in the published code. In training a pair is placed at a
random offset (translation), in evaluation at the corner.

Symmetries are the eight dihedral transforms, of any rectangular grid, and the permutations of colours. A permutation is
UInt8 "10": colour c becomes permutation[c]. The published augmentation of HRM and TRM keeps colour 0, the background.
SE-RRM is equivariant and needs no permutations. Paper: section "ARC-AGI", data.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import numpy as np
from jaxtyping import Int, UInt8

from serrm.puzzles.raw import Grids, Tokens
from serrm.puzzles.transforms import NUM_TRANSFORMS, transformed

NUM_COLOURS: Final = 10
MAX_SIDE: Final = 30
"""Cells of the longest row or column of any published grid."""

# R × C colours 0…9; only a predicted grid may be empty. The axes have no names, because a named axis has one size for
# all arguments of a function, and a question and its answer may differ in size.
Grid = UInt8[np.ndarray, "_ _"]

Collection = Literal["training", "evaluation", "concept", "held_out"]
COLLECTIONS: tuple[Collection, ...] = ("training", "evaluation", "concept")
"""Published collections. Held-out puzzles are training puzzles that are scored instead of evaluation puzzles."""
SCORED: tuple[Collection, ...] = ("evaluation", "held_out")
"""The collections whose test pairs are scored; a data set has puzzles of only one of them."""


@dataclass(frozen=True, eq=False)
class Pair:
    """A grid and its answer by the puzzle's rule."""

    question: Grid
    answer: Grid


class PairName(NamedTuple):
    """Address of a pair; `number` counts from 0 within the role.

    Demonstrations show a puzzle's rule, and tests ask to apply it. `collection` is where the puzzle was published: the
    training or evaluation set of an ARC-AGI, or ConceptARC; or `held_out` for a held-out training puzzle.
    """

    puzzle: str
    collection: Collection
    role: str  # demonstration or test
    number: int

    @property
    def is_scored(self) -> bool:
        """True for a test pair of a scored collection, which is never trained on; all other pairs may be."""
        return self.collection in SCORED and self.role == "test"


class RuleFacts(NamedTuple):
    """The rule of a generated puzzle: the family in whose share the puzzle is, an id, and the number of its parts."""

    family: str
    rule: str
    num_parts: int


NamedPairs = dict[PairName, Pair]
NamedPuzzle = tuple[Collection, str, NamedPairs]


# Symmetries.

IDENTITY: Final = np.arange(NUM_COLOURS, dtype=np.uint8)
IDENTITY.setflags(write=False)


def recoloured(grid: Grid, permutation: UInt8[np.ndarray, "10"]) -> Grid:
    """Return the grid with every colour c replaced by permutation[c]."""
    return np.asarray(permutation[grid])


def inverse_colours(permutation: UInt8[np.ndarray, "10"]) -> UInt8[np.ndarray, "10"]:
    """Return the permutation that undoes this one."""
    return np.argsort(permutation).astype(np.uint8)


def canonical_form(grids: Sequence[Grid]) -> bytes:
    """Compute a form that grids share with exactly their transforms and recolourings.

    In each of the 8 transforms the colours are numbered in order of first appearance over all grids, row by row, so all
    10! recolourings give the same form. The canonical form is the least of the 8.
    """
    return min(_relabelled([transformed(grid, k) for grid in grids]) for k in range(NUM_TRANSFORMS))


def _relabelled(grids: Sequence[Grid]) -> bytes:
    """Encode the sizes and cells of the grids with colours numbered as they appear."""
    cells = b"".join(grid.tobytes() for grid in grids)
    table = bytearray(256)
    for label, colour in enumerate(sorted(set(cells), key=cells.find)):
        table[colour] = label
    return bytes(side for grid in grids for side in grid.shape) + cells.translate(table)


# The canvas.

NUM_SYMBOLS: Final = 12
PADDING: Final = 0
END_OF_GRID: Final = 1
FIRST_COLOUR: Final = 2


def encode(grid: Grid, side: int, offset: tuple[int, int] = (0, 0)) -> Tokens:
    """Encode the I = side² tokens, row by row, of a canvas with the grid's top-left cell at (row, column) `offset`.

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


def decode(tokens: Tokens, side: int) -> Grid:
    """Decode the grid at the corner: the largest rectangle at the top left that has colours only.

    Any tokens are valid input.

    Among equally large rectangles it is the one with the fewest rows; without a colour at the corner it is 0 × 0.
    """
    num_rows, num_columns = decoded_sizes(tokens[None], side)[0]
    grid: Grid = tokens.reshape(side, side)[:num_rows, :num_columns] - np.uint8(FIRST_COLOUR)
    return grid


def decoded_sizes(tokens: Grids, side: int) -> Int[np.ndarray, "N 2"]:
    """Count the rows and columns of the grids that `decode` returns for N canvases."""
    canvases = tokens.reshape(len(tokens), side, side)
    is_colour = (canvases >= FIRST_COLOUR) & (canvases < FIRST_COLOUR + NUM_COLOURS)
    # For every row, the width of the coloured rectangle from the top left down to it.
    widths = np.minimum.accumulate(is_colour.cumprod(axis=2).sum(axis=2), axis=1)
    areas = widths * np.arange(1, widths.shape[1] + 1)
    last_rows = areas.argmax(axis=1)
    columns = np.take_along_axis(widths, last_rows[:, None], axis=1)[:, 0]
    return np.stack([np.where(columns > 0, last_rows + 1, 0), columns], axis=1)
