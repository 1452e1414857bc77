"""Sudoku as bit sets: fast propagation and search on Python integers, for any box shape.

Uniqueness checks and the generator run tens of thousands of these; an ordinary 9×9 takes a fraction of a
millisecond. A position is one integer a digit: bit i is set where the digit may still stand in cell i.
Propagation knows naked singles (a cell with one digit left) and hidden singles (a digit with one cell left in
a unit), and search branches where the fewest digits are left. (The paper takes its puzzles as given.)
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import or_

import numpy as np
from jaxtyping import UInt8

from serrm.puzzles.sudoku.grid import Box, unit_indices

Places = list[int]
"""A position: for every digit the set of cells where it may stand."""


class SearchBudgetError(Exception):
    """The search visited as many positions as it was allowed to, without an answer."""


@dataclass(frozen=True)
class Tables:
    """The cell sets of a box shape: all cells, every unit, and the peers of every cell."""

    side: int
    all_cells: int
    units: tuple[int, ...]
    peers: tuple[int, ...]


@lru_cache
def tables(box: Box) -> Tables:
    """The cell sets of a box shape."""
    units = [sum(1 << cell for cell in unit) for unit in unit_indices(box).tolist()]
    cells = [1 << cell for cell in range(box.num_cells)]
    peers = tuple(reduce(or_, (unit for unit in units if unit & cell)) & ~cell for cell in cells)
    return Tables(box.side, sum(cells), tuple(units), peers)


def places_from_values(values: Sequence[int], board: Tables) -> Places:
    """The position after the clues: I values, 0 for a blank. Clues that clash leave a cell without digits."""
    reached = [0] * board.side
    clues = [0] * board.side
    for cell, value in enumerate(values):
        if value:
            reached[value - 1] |= board.peers[cell]
            clues[value - 1] |= 1 << cell
    blank = board.all_cells
    for cells in clues:
        blank &= ~cells
    return [(blank | own) & ~near for own, near in zip(clues, reached, strict=True)]


def values_from_places(places: Places, num_cells: int) -> UInt8[np.ndarray, " I"]:
    """The grid of a position in which every cell has one digit left."""
    grid = np.zeros(num_cells, dtype=np.uint8)
    for digit, cells in enumerate(places, start=1):
        while cells:
            low = cells & -cells
            grid[low.bit_length() - 1] = digit
            cells ^= low
    return grid


def propagate(places: Places, board: Tables, parent: Places | None = None) -> bool:
    """Follow naked and hidden singles in place, to the end; False where they lead to a contradiction.

    `parent` is a position propagated before that this one took digits from: only the changes are looked at.
    """
    settled = 0 if parent is None else _single_cells(parent)[1]
    seen = [-1] * board.side if parent is None else parent.copy()
    while True:
        filled, single = _single_cells(places)
        if filled != board.all_cells:
            return False
        fresh = single & ~settled
        if fresh:
            _clear_peers(places, fresh, board.peers)
            settled |= fresh
        elif settled == board.all_cells:
            return True
        else:
            claimed = _claim_hidden_singles(places, seen, settled, board)
            if not claimed:
                return claimed is not None


def _single_cells(places: Places) -> tuple[int, int]:
    """The cells with a digit left, and those with just one."""
    once = twice = 0
    for cells in places:
        twice |= once & cells
        once |= cells
    return once, once & ~twice


def _clear_peers(places: Places, cells: int, peers: tuple[int, ...]) -> None:
    """Take the one digit of each of `cells` from the peers of its cell."""
    for digit, own in enumerate(places):
        single = own & cells
        while single:
            low = single & -single
            own &= ~peers[low.bit_length() - 1]
            single ^= low
        places[digit] = own


def _claim_hidden_singles(places: Places, seen: Places, settled: int, board: Tables) -> int | None:
    """Leave a digit alone in a cell that is its last one in a unit, and return all such cells.

    None where a unit has no cell for a digit. `seen` holds each digit's cells when last looked at: without a
    change there is nothing to find.
    """
    claimed = 0
    for digit, cells in enumerate(places):
        if cells == seen[digit]:
            continue
        seen[digit] = cells
        last = 0
        for unit in board.units:
            here = cells & unit
            if not here & (here - 1):
                if not here:
                    return None
                last |= here
        last &= ~settled
        if last:
            claimed |= last
            for other in range(board.side):
                if other != digit:
                    places[other] &= ~last
    return claimed


def search(
    places: Places, board: Tables, rng: np.random.Generator | None = None, max_positions: int | None = None
) -> Iterator[Places]:
    """All solutions below a position, depth first, each as a position with one digit a cell.

    Digits are tried in ascending order, or in random order with `rng`. SearchBudgetError after
    `max_positions` positions without a solution.
    """
    stack: list[tuple[Places, Places | None]] = [(places, None)]
    num_positions = 0
    while stack:
        if num_positions == max_positions:
            raise SearchBudgetError(f"no answer after {num_positions} positions")
        num_positions += 1
        position, parent = stack.pop()
        if not propagate(position, board, parent):
            continue
        cell = _branch_cell(position, board)
        if not cell:
            num_positions = 0
            yield position
            continue
        children = [_place(position, digit, cell) for digit in range(board.side) if position[digit] & cell]
        order = range(len(children)) if rng is None else rng.permutation(len(children)).tolist()
        stack.extend((children[index], position) for index in reversed(order))


def _place(places: Places, digit: int, cell: int) -> Places:
    """A copy of the position in which `cell` (a set of one) has only `digit` left."""
    return [cells if other == digit else cells & ~cell for other, cells in enumerate(places)]


def _branch_cell(places: Places, board: Tables) -> int:
    """The first of the undecided cells with the fewest digits, as a set of one; 0 where all are decided."""
    at_least = [board.all_cells] + [0] * (board.side + 1)  # at_least[k]: cells with k digits or more
    for num_before, cells in enumerate(places):
        for k in range(num_before, -1, -1):
            at_least[k + 1] |= at_least[k] & cells
    for k in range(2, board.side + 1):
        exactly = at_least[k] & ~at_least[k + 1]
        if exactly:
            return exactly & -exactly
    return 0
