"""The referee: Sudoku as a constraint model for OR-tools' CP-SAT.

An independent, exact solver beside our own search; it decides which of the published 25×25 puzzles have a
solution (the paper's test set keeps those). One worker and a fixed seed make it deterministic.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import UInt8

from serrm.puzzles.sudoku.grid import Box, is_consistent, unit_indices

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, IntVar

    Choices = dict[tuple[int, int], IntVar]


def iterate_solutions(
    grid: UInt8[np.ndarray, " I"], box: Box, hints: Mapping[int, int] | None = None
) -> Iterator[UInt8[np.ndarray, " I"]]:
    """The solutions of a grid one after the other, each found with the former ones forbidden.

    `hints` are digits by cell that the search tries first; wrong ones cost time, no solution.
    """
    # OR-tools takes half a second to import, and most of the project never calls it.
    from ortools.sat.python import cp_model

    if not is_consistent(grid, box):
        return
    model = cp_model.CpModel()
    choices = _add_choices(model, grid, box)
    for hint in (hints or {}).items():
        if hint in choices:
            model.add_hint(choices[hint], True)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    # Otherwise an interrupt, from then on, ends the process at once and without KeyboardInterrupt.
    solver.parameters.catch_sigint_signal = False
    while (status := solver.solve(model)) == cp_model.OPTIMAL:
        chosen = [key for key, choice in choices.items() if solver.boolean_value(choice)]
        solution = grid.copy()
        for cell, digit in chosen:
            solution[cell] = digit
        yield solution
        model.add_bool_or([~choices[key] for key in chosen])
    assert status == cp_model.INFEASIBLE, solver.status_name(status)


def _add_choices(model: "CpModel", grid: UInt8[np.ndarray, " I"], box: Box) -> "Choices":
    """Add the rules, and a variable for every (cell, digit) that the clues leave open."""
    units = unit_indices(box)
    is_taken = np.zeros((box.num_cells, box.side + 1), dtype=bool)
    for unit in units:
        is_taken[np.ix_(unit, grid[unit])] = True
    blanks = np.flatnonzero(grid == 0).tolist()
    digits = range(1, box.side + 1)
    choices = {
        (cell, digit): model.new_bool_var("")
        for cell in blanks
        for digit in digits
        if not is_taken[cell, digit]
    }
    groups = [[(cell, digit) for digit in digits] for cell in blanks]
    for unit in units.tolist():
        groups += [[(cell, digit) for cell in unit] for digit in digits if digit not in grid[unit]]
    for group in groups:
        model.add_exactly_one([choices[key] for key in group if key in choices])
    return choices
