"""Exact solutions of Sudokus.

The exact search works on one long integer. A candidate is a digit in a cell, and a bit in four fields: that of its
cell, and those of the digit in the cell's row, column and box. A solution leaves one candidate in every field. Each
field has a guard bit, so one addition finds all empty fields, and one subtraction all fields with one candidate left:
naked singles in fields of cells, hidden singles in fields of units. The search branches at the cell with the fewest
digits left. Uniqueness checks and the generator run tens of thousands of searches; one takes about ten microseconds for
a 9×9. CP-SAT is the independent referee: it decides which of the published 25×25 puzzles have a solution (the paper's
42). One worker and a fixed seed make it deterministic.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial, reduce
from itertools import islice, product
from operator import or_
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import UInt8

from serrm.puzzles.sudoku.rules import BLANK, are_consistent, unit_indices

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, CpSolver, IntVar

Position = tuple[int, int]
"""A position of the search, as bits of a `Board`: the candidates that are left, and those of them that are placed."""


MAX_POSITIONS = 2_000
"""Positions without a solution after which the search for a second one ends (about 0.05 s on 9×9)."""


class SearchBudgetError(Exception):
    """The search visited its maximum number of positions without an answer."""


class Board(dict[int, Position]):
    """The fields of grids of a side. `board[bit]` is the position with only that candidate placed, made on first use.

    The fields of the I cells come first, with a bit per digit, then those of each unit's n digits, with a bit per cell
    of the unit. Every field has n bits and a guard bit above them.
    """

    def __init__(self, n: int) -> None:
        super().__init__()
        num_cells, width = n**2, n + 1
        self.side, self.num_cells, self.width = n, num_cells, width
        self.lowest = sum(1 << field * width for field in range(4 * num_cells))  # candidates of all fields
        self.guards = self.lowest << n
        self.all = self.guards - self.lowest
        self.empty: Position = (self.all, 0)
        self.cell_fields = (1 << num_cells * width) - 1
        self.unit_of_fields = self.lowest & (1 << n * width) - 1  # the lowest candidates of n fields in a row
        # For each cell, its units with the bit of its first digit there; the next digit is one field higher.
        self.units: list[list[int]] = unit_indices(n).tolist()
        self.spots: list[dict[int, int]] = [{} for _ in range(num_cells)]
        for unit, cells in enumerate(self.units):
            for index, cell in enumerate(cells):
                self.spots[cell][unit] = (num_cells + unit * n) * width + index
        # For each unit the bits of its cells' first digit, in fields of cells and in fields of units.
        self.of_unit = [
            (
                sum(1 << cell * width for cell in cells),
                reduce(or_, (1 << spot for cell in cells for spot in self.spots[cell].values())),
            )
            for cells in self.units
        ]

    def bit(self, cell: int, token: int) -> int:
        """The number of the bit of a digit, given as its token, in a cell's field."""
        return cell * self.width + token - BLANK - 1

    def __missing__(self, bit: int) -> Position:
        field, index = divmod(bit, self.width)
        unit, digit = divmod(field - self.num_cells, self.side)
        cell, digit = (self.units[unit][index], digit) if unit >= 0 else (field, index)
        shift = digit * self.width
        # Remove the other digits in this cell, and this digit in the other cells of its units.
        bits = [cell * self.width + digit]
        removed = (1 << self.side) - 1 << cell * self.width
        for unit, spot in self.spots[cell].items():
            in_cells, in_units = self.of_unit[unit]
            removed |= self.unit_of_fields << spot | in_cells << digit | in_units << shift
            bits.append(spot + shift)
        placed = sum(1 << bit for bit in bits)
        position = self.all & ~removed | placed, placed
        self.update(dict.fromkeys(bits, position))
        return position


@lru_cache
def board_of(side: int) -> Board:
    """The board of grids of a side."""
    return Board(side)


def _bits(number: int) -> Iterator[int]:
    """The numbers of the bits that are set, ascending."""
    while number:
        low = number & -number
        yield low.bit_length() - 1
        number ^= low


def place_digit(position: Position, bit: int, board: Board) -> Position:
    """The position with one more candidate placed, before propagation."""
    left, placed = board[bit]
    return position[0] & left, position[1] | placed


def place_clues(question: Sequence[int], board: Board) -> Position:
    """The position with the clues of a question of I tokens; before propagation."""
    position = board.empty
    for cell, token in enumerate(question):
        if token > BLANK:
            position = place_digit(position, board.bit(cell, token), board)
    return position


def grid_of(position: Position, board: Board) -> UInt8[np.ndarray, " I"]:
    """The grid of a position in which every cell has one digit left."""
    bits = _bits(position[0] & board.cell_fields)
    return np.array([bit % board.width + 1 + BLANK for bit in bits], dtype=np.uint8)


def propagate(position: Position, board: Board) -> Position | None:
    """Place naked and hidden singles until there are none; None if they lead to a contradiction."""
    left, placed = position
    while True:
        if (left + board.all) & board.guards != board.guards:
            return None  # a field is empty
        has_more = ((left & left - board.lowest) + board.all) & board.guards
        has_one = board.guards ^ has_more
        fresh = left & has_one - (has_one >> board.side) & ~placed
        if not fresh:
            return left, placed
        while fresh:
            kept, placed_now = board[(fresh & -fresh).bit_length() - 1]
            left &= kept
            placed |= placed_now
            fresh &= ~placed_now


def search(
    position: Position, board: Board, rng: np.random.Generator | None = None, max_positions: int | None = None
) -> Iterator[Position]:
    """All solutions below a position, depth first, each as a position with one candidate left in every field.

    Digits are tried in ascending order, or in random order with `rng`. SearchBudgetError after
    `max_positions` positions without a solution.
    """
    stack, num_positions = [iter([position])], 0
    while stack:
        if (current := next(stack[-1], None)) is None:
            stack.pop()
            continue
        if num_positions == max_positions:
            raise SearchBudgetError(f"no answer after {num_positions} positions")
        num_positions += 1
        if (propagated := propagate(current, board)) is None:
            continue
        bits = _branches(propagated[0], board)
        if not bits:
            num_positions = 0
            yield propagated
        elif rng is not None:
            bits = [bits[index] for index in rng.permutation(len(bits)).tolist()]
        stack.append(map(partial(place_digit, propagated, board=board), bits))


def _branches(left: int, board: Board) -> list[int]:
    """The candidates of the first undecided cell with the fewest of them; empty if all cells are decided."""
    cells = board.cell_fields
    rest, has_more, num_taken = left & cells, board.guards & cells, 0
    while has_more:
        # Remove the lowest candidate of every cell; stop at cells that had several candidates and now have none.
        rest &= rest - (has_more >> board.side)
        had_more, has_more = has_more, (rest + (board.all & cells)) & board.guards & cells
        exhausted = had_more ^ has_more
        num_taken += 1
        if num_taken > 1 and exhausted:
            bit = (exhausted & -exhausted).bit_length() - board.width
            return [bit + digit for digit in _bits(left >> bit & (1 << board.side) - 1)]
    return []


# CP-SAT.


def exact_model(
    question: UInt8[np.ndarray, " I"], hints: Mapping[int, int]
) -> tuple["CpModel", dict[tuple[int, int], "IntVar"]]:
    """A Sudoku as a model of CP-SAT, with its variables by cell and digit.

    The search tries `hints`, tokens by cell, first; wrong hints cost time only.
    """
    # OR-tools takes half a second to import, and most commands never use it.
    from ortools.sat.python import cp_model

    side = math.isqrt(len(question))
    model, cells, digits = cp_model.CpModel(), range(side**2), range(BLANK + 1, BLANK + 1 + side)
    stands = {key: model.new_bool_var("") for key in product(cells, digits)}
    for cell in cells:
        model.add_exactly_one(stands[cell, digit] for digit in digits)
    for unit, digit in product(unit_indices(side).tolist(), digits):
        model.add_exactly_one(stands[cell, digit] for cell in unit)
    for cell in np.flatnonzero(question > BLANK).tolist():
        model.add(stands[cell, int(question[cell])] == 1)
    for hint in stands.keys() & hints.items():
        model.add_hint(stands[hint], True)
    return model, stands


def exact_solver() -> "CpSolver":
    """CP-SAT with one worker and a fixed seed, so that it is deterministic."""
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    # Otherwise an interrupt would from then on end the process at once, without KeyboardInterrupt.
    solver.parameters.catch_sigint_signal = False
    return solver


def solutions(
    question: UInt8[np.ndarray, " I"], hints: Mapping[int, int]
) -> Iterator[UInt8[np.ndarray, " I"]]:
    """Find the solutions of a Sudoku one after the other; every solution found is excluded from the next search."""
    if not are_consistent(question[None]).all():
        return
    from ortools.sat.python import cp_model

    (model, stands), solver = exact_model(question, hints), exact_solver()
    while (status := solver.solve(model)) == cp_model.OPTIMAL:
        chosen = [key for key, is_here in stands.items() if solver.boolean_value(is_here)]
        yield np.array([digit for _, digit in chosen], dtype=np.uint8)
        model.add_bool_or([~stands[key] for key in chosen])
    assert status == cp_model.INFEASIBLE, solver.status_name(status)


def flaw(question: UInt8[np.ndarray, " I"]) -> str | None:
    """The reason why a Sudoku has no solution; None if propagation alone finds no reason."""
    if not are_consistent(question[None]).all():
        return "a digit is given twice in a row, column or box"
    board = board_of(math.isqrt(len(question)))
    if propagate(place_clues(question.tolist(), board), board) is None:
        return "the clues contradict one another"
    return None


def caveat(question: UInt8[np.ndarray, " I"]) -> str:
    """A remark on a Sudoku with several solutions; empty for one solution, or if the search takes too long."""
    if (question == BLANK).all():
        return "a grid without clues: any solution is right"
    board = board_of(math.isqrt(len(question)))
    positions = search(place_clues(question.tolist(), board), board, max_positions=MAX_POSITIONS)
    try:
        return "one of several solutions" if len(list(islice(positions, 2))) > 1 else ""
    except SearchBudgetError:
        return ""
