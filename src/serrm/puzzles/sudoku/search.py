"""Exact solutions of Sudokus.

The search works on bit sets, Python integers: a position is one integer a digit, of which bit i is set where the
digit may still stand in cell i. Propagation follows naked singles (a cell with one digit left) and hidden singles (a
digit with one cell left in a unit), and search branches where the fewest digits are left. Uniqueness checks and the
generator run tens of thousands of these; an ordinary 9×9 takes a fraction of a millisecond. CP-SAT is the independent
referee: it decides which of the published 25×25 puzzles have a solution (the paper's 42). One worker and a fixed seed
make it deterministic.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from itertools import product
from operator import or_

import numpy as np
from jaxtyping import UInt8

from serrm.puzzles import raw
from serrm.puzzles.boxes import Box, box_for_side
from serrm.puzzles.sudoku.rules import is_consistent, unit_indices

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
    """The position with the clues: I values, 0 for a blank. Other digits leave the clues' cells, no more."""
    clues = [0] * board.side
    for cell, value in enumerate(values):
        if value:
            clues[value - 1] |= 1 << cell
    return [board.all_cells & ~sum(clues) | own for own in clues]


def values_from_places(places: Places, num_cells: int) -> UInt8[np.ndarray, " I"]:
    """The grid of a position in which every cell has one digit left."""
    grid = np.zeros(num_cells, dtype=np.uint8)
    for digit, cells in enumerate(places, start=1):
        while cells:
            low = cells & -cells
            grid[low.bit_length() - 1] = digit
            cells ^= low
    return grid


def propagate(places: Places, board: Tables) -> bool:
    """Follow naked and hidden singles in place, to the end; False where they lead to a contradiction."""
    settled, seen = 0, [-1] * board.side
    while True:
        once = twice = 0
        for cells in places:
            twice |= once & cells
            once |= cells
        if once != board.all_cells:
            return False
        single = once & ~twice
        if fresh := single & ~settled:
            _clear_peers(places, fresh, board.peers)
            settled |= fresh
        elif settled == board.all_cells:
            return True
        elif not (claimed := _claim_hidden_singles(places, seen, settled, board)):
            return claimed is not None


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
    stack = [places]
    num_positions = 0
    while stack:
        if num_positions == max_positions:
            raise SearchBudgetError(f"no answer after {num_positions} positions")
        num_positions += 1
        position = stack.pop()
        if not propagate(position, board):
            continue
        cell = _branch_cell(position, board)
        if not cell:
            num_positions = 0
            yield position
            continue
        children = [_place(position, digit, cell) for digit in range(board.side) if position[digit] & cell]
        order = range(len(children)) if rng is None else rng.permutation(len(children)).tolist()
        stack.extend(children[index] for index in reversed(order))


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


# CP-SAT.


def iterate_solutions(
    grid: UInt8[np.ndarray, " I"], box: Box, hints: Mapping[int, int] | None = None
) -> Iterator[UInt8[np.ndarray, " I"]]:
    """Find the solutions of a grid one after the other, each with the former ones forbidden.

    The search tries `hints`, digits by cell, first; wrong ones cost time, no solution. ValueError where the grid does
    not fit the box.
    """
    # OR-tools takes half a second to import, and most of the project never calls it.
    from ortools.sat.python import cp_model

    if not is_consistent(grid, box):
        return
    model, cells, digits = cp_model.CpModel(), range(box.num_cells), range(1, box.side + 1)
    stands = {key: model.new_bool_var("") for key in product(cells, digits)}  # by cell and digit
    for cell in cells:
        model.add_exactly_one(stands[cell, digit] for digit in digits)
    for unit, digit in product(unit_indices(box).tolist(), digits):
        model.add_exactly_one(stands[cell, digit] for cell in unit)
    for cell in np.flatnonzero(grid).tolist():
        model.add(stands[cell, int(grid[cell])] == 1)
    for hint in stands.keys() & (hints or {}).items():
        model.add_hint(stands[hint], True)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    # Otherwise an interrupt, from then on, ends the process at once and without KeyboardInterrupt.
    solver.parameters.catch_sigint_signal = False
    while (status := solver.solve(model)) == cp_model.OPTIMAL:
        chosen = [key for key, is_here in stands.items() if solver.boolean_value(is_here)]
        yield np.array([digit for _, digit in chosen], dtype=np.uint8)
        model.add_bool_or([~stands[key] for key in chosen])
    assert status == cp_model.INFEASIBLE, solver.status_name(status)


def solutions(
    question: UInt8[np.ndarray, " I"], hints: Mapping[int, int]
) -> Iterator[UInt8[np.ndarray, " I"]]:
    """The solutions of a Sudoku; `hints` are digits by cell that are tried first."""
    return iterate_solutions(question, box_for_side(math.isqrt(len(question))), hints)


def flaw(question: UInt8[np.ndarray, " I"]) -> str | None:
    """Why a Sudoku has no solution, as far as propagation alone shows it."""
    box = box_for_side(math.isqrt(len(question)))
    if not is_consistent(question, box):
        return "a digit is given twice in a row, column or box"
    board = tables(box)
    if not propagate(places_from_values(question.tolist(), board), board):
        return "the clues contradict one another"
    return None


def solve(grid: UInt8[np.ndarray, " I"], box: Box) -> UInt8[np.ndarray, " I"] | None:
    """A solution of the grid, or None where there is none. ValueError where the grid does not fit the box."""
    return next(iterate_solutions(grid, box), None)


def answered(puzzle: raw.Puzzle) -> raw.Puzzle | None:
    """The puzzle with an answer, solved if it has none; None where it has no solution."""
    if puzzle.answer is not None:
        return puzzle
    answer = solve(puzzle.question, box_for_side(puzzle.side))
    return None if answer is None else replace(puzzle, answer=answer)
