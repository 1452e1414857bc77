"""Solutions of Sudokus by two exact methods: a search on bits, for speed, and CP-SAT, as an independent referee.

The bit search works on one long integer. A candidate is a digit in a cell, and a bit in four fields: that of its
cell, and those of the digit in the cell's row, column and box. A solution leaves one candidate in every field. Each
field has a guard bit, so one addition finds all empty fields, and one subtraction all fields with one candidate left:
naked singles in fields of cells, hidden singles in fields of units. The search branches at the cell with the fewest
digits left. The generator runs tens of thousands of searches; the check that a 9×9 puzzle has only one solution takes
some tens of microseconds. CP-SAT decides which of the published 25×25 puzzles have a solution (the paper's 42). One
worker and a fixed seed make it deterministic.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial, reduce
from itertools import islice, product
from operator import or_
from typing import TYPE_CHECKING

import numpy as np

from serrm.puzzles.raw import Tokens
from serrm.puzzles.sudoku.rules import BLANK, are_consistent, unit_indices

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, CpSolver, IntVar

Node = tuple[int, int]
"""A node of the search, as bits laid out as in `Masks`: the candidates left, and those of them that are placed."""


CAVEAT_NODES = 2_000
"""Nodes without a solution after which the search for a second one ends (about 0.05 s on 9×9)."""


class SearchBudgetError(Exception):
    """The search visited its maximum number of nodes without an answer."""


class Masks(dict[int, Node]):
    """Bit masks for grids of a side: where each candidate lies, and what placing it removes.

    `masks[bit]` is the node with only that candidate placed, made on first use.

    The fields of the I cells come first, with a bit per digit, then those of each unit's n digits, with a bit per cell
    of the unit. Every field has n bits and a guard bit above them.
    """

    def __init__(self, n: int) -> None:
        super().__init__()
        num_cells, width = n**2, n + 1
        self.side, self.num_cells, self.width = n, num_cells, width
        # The lowest bit of every field.
        self.lowest = sum(1 << field * width for field in range(4 * num_cells))
        # A guard bit stands above each field: shifted down by `side` it is the field's lowest bit, and x & (x - lowest)
        # drops the lowest candidate of each field.
        self.guards = self.lowest << n
        self.all = self.guards - self.lowest
        self.empty: Node = (self.all, 0)
        self.cell_fields = (1 << num_cells * width) - 1
        # Bit 0 of n consecutive fields; shifted to a spot, it is one cell in all n fields of a unit.
        self.bit_in_n_fields = self.lowest & (1 << n * width) - 1
        # For each cell, its units with the bit of its first digit there; the next digit is one field higher.
        self.units: list[list[int]] = unit_indices(n).tolist()
        self.spots: list[dict[int, int]] = [{} for _ in range(num_cells)]
        for unit, cells in enumerate(self.units):
            for index, cell in enumerate(cells):
                self.spots[cell][unit] = (num_cells + unit * n) * width + index
        # For each unit the bits of its cells' first digit, in fields of cells and in fields of units.
        self.first_digits = [
            (
                sum(1 << cell * width for cell in cells),
                reduce(or_, (1 << spot for cell in cells for spot in self.spots[cell].values())),
            )
            for cells in self.units
        ]

    def bit(self, cell: int, token: int) -> int:
        """Return the number of the bit of a digit, given as its token, in a cell's field."""
        return cell * self.width + token - BLANK - 1

    def __missing__(self, bit: int) -> Node:
        field, index = divmod(bit, self.width)
        if field < self.num_cells:  # the bit of a digit in a cell's field
            cell, digit = field, index
        else:  # the bit of a cell in the field of a unit and digit
            unit, digit = divmod(field - self.num_cells, self.side)
            cell = self.units[unit][index]
        shift = digit * self.width
        # Remove the other digits in this cell, and this digit in the other cells of its units.
        bits = [cell * self.width + digit]
        removed = (1 << self.side) - 1 << cell * self.width
        for unit, spot in self.spots[cell].items():
            in_cells, in_units = self.first_digits[unit]
            removed |= self.bit_in_n_fields << spot | in_cells << digit | in_units << shift
            bits.append(spot + shift)
        placed = sum(1 << bit for bit in bits)
        node = self.all & ~removed | placed, placed
        self.update(dict.fromkeys(bits, node))
        return node


masks_of = lru_cache(Masks)  # of grids of a side


def _bits(number: int) -> Iterator[int]:
    """Yield the numbers of the bits that are set, ascending."""
    while number:
        low = number & -number
        yield low.bit_length() - 1
        number ^= low


def place_digit(node: Node, bit: int, masks: Masks) -> Node:
    """Return the node with one more candidate placed, before propagation."""
    left, placed = masks[bit]
    return node[0] & left, node[1] | placed


def place_clues(question: Sequence[int], masks: Masks) -> Node:
    """Return the node with the clues of a question of I tokens; before propagation."""
    node = masks.empty
    for cell, token in enumerate(question):
        if token > BLANK:
            node = place_digit(node, masks.bit(cell, token), masks)
    return node


def grid_of(node: Node, masks: Masks) -> Tokens:
    """Return the grid of a node in which every cell has one digit left."""
    bits = _bits(node[0] & masks.cell_fields)
    return np.array([bit % masks.width + 1 + BLANK for bit in bits], dtype=np.uint8)


def propagate(node: Node, masks: Masks) -> Node | None:
    """Place naked and hidden singles until there are none; None if they lead to a contradiction."""
    left, placed = node
    while True:
        if (left + masks.all) & masks.guards != masks.guards:
            return None  # a field is empty
        has_more = ((left & (left - masks.lowest)) + masks.all) & masks.guards
        has_one = masks.guards ^ has_more
        # All bits of fields with one candidate, of which only a candidate that is not placed yet is kept.
        fresh = left & (has_one - (has_one >> masks.side)) & ~placed
        if not fresh:
            return left, placed
        while fresh:
            kept, placed_now = masks[(fresh & -fresh).bit_length() - 1]
            left &= kept
            placed |= placed_now
            fresh &= ~placed_now


def search(
    node: Node, masks: Masks, rng: np.random.Generator | None = None, max_nodes: int | None = None
) -> Iterator[Node]:
    """Yield all solutions below a node, depth first, each as a node with one candidate left in every field.

    Digits are tried in ascending order, or in random order with `rng`. SearchBudgetError after
    `max_nodes` nodes without a solution.
    """
    stack, num_nodes = [iter([node])], 0
    while stack:
        if (current := next(stack[-1], None)) is None:
            stack.pop()
            continue
        if num_nodes == max_nodes:
            raise SearchBudgetError(f"no answer after {num_nodes} nodes")
        num_nodes += 1
        if (propagated := propagate(current, masks)) is None:
            continue
        bits = _branches(propagated[0], masks)
        if not bits:
            num_nodes = 0
            yield propagated
        elif rng is not None:
            bits = [bits[index] for index in rng.permutation(len(bits)).tolist()]
        stack.append(map(partial(place_digit, propagated, masks=masks), bits))


def _branches(left: int, masks: Masks) -> list[int]:
    """List the candidates of the first undecided cell with the fewest of them; empty if all cells are decided."""
    guards = masks.guards & masks.cell_fields
    # The candidates not yet removed, and the guard bits of the cells that have any.
    rest, filled, num_removed = left & masks.cell_fields, guards, 0
    while filled:
        # Remove one candidate of every cell. A cell that is empty after the first round is decided; those that are
        # empty first after it have the fewest candidates.
        rest &= rest - (filled >> masks.side)
        filled_before, filled = filled, (rest + (masks.all & masks.cell_fields)) & guards
        emptied = filled_before ^ filled
        num_removed += 1
        if num_removed > 1 and emptied:
            bit = (emptied & -emptied).bit_length() - masks.width
            return [bit + digit for digit in _bits(left >> bit & (1 << masks.side) - 1)]
    return []


# CP-SAT.


def cp_sat_model(
    question: Tokens, hints: Mapping[int, int]
) -> tuple["CpModel", dict[tuple[int, int], "IntVar"]]:
    """Formulate a Sudoku as a model of CP-SAT, with its variables by cell and token.

    The search tries `hints`, tokens by cell, first; wrong hints cost time only.
    """
    # OR-tools takes half a second to import, and most commands never use it.
    from ortools.sat.python import cp_model

    side = math.isqrt(len(question))
    model, cells, tokens = cp_model.CpModel(), range(side**2), range(BLANK + 1, BLANK + 1 + side)
    is_there = {key: model.new_bool_var("") for key in product(cells, tokens)}
    for cell in cells:
        model.add_exactly_one(is_there[cell, token] for token in tokens)
    for unit, token in product(unit_indices(side).tolist(), tokens):
        model.add_exactly_one(is_there[cell, token] for cell in unit)
    for cell in np.flatnonzero(question > BLANK).tolist():
        model.add(is_there[cell, int(question[cell])] == 1)
    for hint in is_there.keys() & hints.items():
        model.add_hint(is_there[hint], True)
    return model, is_there


def cp_sat_solver() -> "CpSolver":
    """CP-SAT with one worker and a fixed seed, so that it is deterministic."""
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    # Otherwise an interrupt would from then on end the process at once, without KeyboardInterrupt.
    solver.parameters.catch_sigint_signal = False
    return solver


def cp_sat_solutions(question: Tokens, hints: Mapping[int, int]) -> Iterator[Tokens]:
    """Find the solutions of a Sudoku one after the other; every solution found is excluded from the next search."""
    if not are_consistent(question[None]).all():
        return
    from ortools.sat.python import cp_model

    (model, is_there), solver = cp_sat_model(question, hints), cp_sat_solver()
    while (status := solver.solve(model)) == cp_model.OPTIMAL:
        chosen = [key for key, variable in is_there.items() if solver.boolean_value(variable)]
        yield np.array([token for _, token in chosen], dtype=np.uint8)
        model.add_bool_or([~is_there[key] for key in chosen])
    assert status == cp_model.INFEASIBLE, solver.status_name(status)


def flaw(question: Tokens) -> str | None:
    """Name the reason why a Sudoku has no solution; None if propagation alone finds no reason."""
    if not are_consistent(question[None]).all():
        return "a digit is given twice in a row, column or box"
    masks = masks_of(math.isqrt(len(question)))
    if propagate(place_clues(question.tolist(), masks), masks) is None:
        return "the clues contradict one another"
    return None


def caveat(question: Tokens) -> str:
    """Make a remark on a Sudoku with several solutions; empty for one solution, or if the search takes too long."""
    if (question == BLANK).all():
        return "a grid without clues: any solution is right"
    masks = masks_of(math.isqrt(len(question)))
    nodes = search(place_clues(question.tolist(), masks), masks, max_nodes=CAVEAT_NODES)
    try:
        return "one of several solutions" if len(list(islice(nodes, 2))) > 1 else ""
    except SearchBudgetError:
        return ""
