"""Grades of Sudokus: the easiest techniques that solve a puzzle.

The techniques work on candidates, the digits left in a cell. A naked single is a cell with one candidate, a hidden
single a digit with one cell left in a row, column or box. The further rules are locked candidates (a digit that is left
in one line of a box, or in one box of a line) and naked and hidden pairs (two cells of a unit with the same two
candidates, two digits of a unit with the same two cells). A technique only removes candidates, so the order in which
techniques are applied does not matter. Puzzles that all of these leave unsolved need guesses here; people have further
rules for some of them. The paper has no grades.
"""

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from jaxtyping import Bool, Int, UInt32

from serrm.puzzles.boxes import Box, box_for_side
from serrm.puzzles.raw import Grids
from serrm.puzzles.sudoku.rules import BLANK, unit_indices

GUESSES: Final = "guesses"
Candidates = UInt32[np.ndarray, "N I"]  # a bit per digit
MAX_ENTRIES: Final = 1 << 24
"""Puzzles are graded in parts, so that an array has at most this number of entries."""


class Cells(NamedTuple):
    """The units of a grid's cells."""

    box: Box
    units: Int[np.ndarray, "U n"]
    of_cell: Int[np.ndarray, "I 3"]
    """The row, column and box of each cell."""
    places: Int[np.ndarray, "I 3"]
    """The cell's places in these."""


@lru_cache
def cells_of(side: int) -> Cells:
    """Return the units of the cells of a grid."""
    units = unit_indices(side)
    order = np.argsort(units.reshape(-1), kind="stable").reshape(-1, 3)
    return Cells(box_for_side(side), units, order // side, order % side)


def are_single(masks: UInt32[np.ndarray, "*_"]) -> Bool[np.ndarray, "*_"]:
    """Return True for masks of one bit."""
    return np.asarray(np.bitwise_count(masks) == 1)


def place_naked_singles(left: Candidates, cells: Cells) -> Candidates:
    """Remove the digit of every decided cell from the other cells of its units."""
    is_decided = are_single(left)
    decided = np.where(is_decided, left, np.uint32(0))
    placed = np.bitwise_or.reduce(decided[:, cells.units], axis=2)
    seen = np.bitwise_or.reduce(placed[:, cells.of_cell], axis=2)
    return np.where(is_decided, left, left & ~seen)


def place_hidden_singles(left: Candidates, cells: Cells) -> Candidates:
    """Decide cells with a digit that no other cell of a unit can have."""
    once = np.zeros((len(left), len(cells.units)), dtype=np.uint32)
    twice = once.copy()
    for index in range(cells.units.shape[1]):
        mask = left[:, cells.units[:, index]]
        twice |= once & mask
        once |= mask
    hidden = left & np.bitwise_or.reduce((once & ~twice)[:, cells.of_cell], axis=2)
    return np.where(hidden > 0, hidden, left)


def remove_locked(left: Candidates, cells: Cells) -> Candidates:
    """Remove digits that a box or a line needs in the squares that it shares with a line or a box."""
    side = cells.units.shape[1]
    grids = left.reshape(-1, side, side)
    by_rows = _remove_locked_in_rows(grids, cells.box)
    by_columns = _remove_locked_in_rows(grids.transpose(0, 2, 1), Box(cells.box.cols, cells.box.rows))
    return np.asarray(by_rows & by_columns.transpose(0, 2, 1)).reshape(left.shape)


def _remove_locked_in_rows(grids: UInt32[np.ndarray, "N n n"], box: Box) -> UInt32[np.ndarray, "N n n"]:
    parts = grids.reshape(len(grids), -1, box.rows, box.rows, box.cols)  # band, row, stack, column
    shared = np.bitwise_or.reduce(parts, axis=4)
    needed_by_box = shared & ~_of_others(shared, axis=2)
    needed_by_row = shared & ~_of_others(shared, axis=3)
    removed = _of_others(needed_by_box, axis=3) | _of_others(needed_by_row, axis=2)
    return np.asarray(parts & ~removed[..., None]).reshape(grids.shape)


def _of_others(masks: UInt32[np.ndarray, "N a b c"], axis: int) -> UInt32[np.ndarray, "N a b c"]:
    """Join the masks at all other places along an axis."""
    places = range(masks.shape[axis])
    others = [np.bitwise_or.reduce(np.delete(masks, place, axis), axis=axis) for place in places]
    return np.stack(others, axis=axis)


def remove_by_pairs(left: Candidates, cells: Cells) -> Candidates:
    """Remove digits that naked and hidden pairs of a unit exclude."""
    in_units = without_pairs(left[:, cells.units])
    by_digit = without_pairs(turned(in_units))
    in_units = turned(by_digit)
    return np.asarray(np.bitwise_and.reduce(in_units[:, cells.of_cell, cells.places], axis=2))


def without_pairs(masks: UInt32[np.ndarray, "N U n"]) -> UInt32[np.ndarray, "N U n"]:
    """Remove the bits of two equal masks of two bits from the other masks of the unit."""
    is_pair = np.bitwise_count(masks) == 2
    num_equal = (masks[..., None] == masks[..., None, :]).sum(axis=3)
    is_pair &= num_equal > 1
    bits = np.bitwise_or.reduce(np.where(is_pair, masks, np.uint32(0)), axis=2, keepdims=True)
    return np.where(is_pair, masks, masks & ~bits)


def turned(masks: UInt32[np.ndarray, "N U n"]) -> UInt32[np.ndarray, "N U n"]:
    """Turn masks of the digits per cell of a unit into masks of the cells per digit, and the other way."""
    numbers = np.arange(masks.shape[2], dtype=np.uint32)
    bits = (masks[..., None, :] >> numbers[:, None]) & np.uint32(1)
    return np.asarray(np.bitwise_or.reduce(bits << numbers, axis=3))


Technique = Callable[[Candidates, Cells], Candidates]
TECHNIQUES: Final[dict[str, tuple[Technique, ...]]] = {
    "naked singles": (place_naked_singles,),
    "hidden singles": (place_naked_singles, place_hidden_singles),
    "more rules": (place_naked_singles, place_hidden_singles, remove_locked, remove_by_pairs),
}
"""The techniques that solve puzzles of each grade except the last."""
GRADES: Final = (*TECHNIQUES, GUESSES)
"""Grades, easiest first."""


def grades(questions: Grids) -> list[str]:
    """Return the grade of every puzzle; one with several solutions, or none, needs guesses."""
    cells = cells_of(math.isqrt(questions.shape[1]))
    num_at_once = max(1, MAX_ENTRIES // (cells.units.size * cells.units.shape[1]))
    starts = range(0, len(questions), num_at_once)
    return [grade for start in starts for grade in _grades(questions[start : start + num_at_once], cells)]


def _grades(questions: Grids, cells: Cells) -> Iterator[str]:
    side = cells.units.shape[1]
    digits = np.left_shift(1, np.maximum(questions.astype(np.int64) - BLANK - 1, 0))
    left = np.where(questions > BLANK, digits, (1 << side) - 1).astype(np.uint32)
    ranks, unsolved = np.full(len(left), len(TECHNIQUES)), np.arange(len(left))
    for rank, techniques in enumerate(TECHNIQUES.values()):
        left = reduced(left, techniques, cells)
        is_solved = are_single(left).all(axis=1)
        ranks[unsolved[is_solved]] = rank
        left, unsolved = left[~is_solved], unsolved[~is_solved]
    return (GRADES[rank] for rank in ranks.tolist())


def reduced(left: Candidates, techniques: tuple[Technique, ...], cells: Cells) -> Candidates:
    """Apply techniques until none of them removes a candidate."""
    left, changing = left.copy(), np.arange(len(left))
    while len(changing):
        before = after = left[changing]
        for technique in techniques:
            after = technique(after, cells)
        left[changing] = after
        changing = changing[(before != after).any(axis=1)]
    return left
