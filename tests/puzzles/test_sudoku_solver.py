"""Exact solving: our own search against CP-SAT, and both against known numbers."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serrm.puzzles import sudoku_solver
from serrm.puzzles.sudoku import Box, is_consistent, is_solution, parse_grid
from serrm.puzzles.sudoku_data import random_solution
from serrm.puzzles.sudoku_solver import solve
from tests.references import count_solutions


@settings(max_examples=50)
@given(
    box=st.sampled_from([Box(2, 2), Box(2, 3), Box(3, 2), Box(3, 3)]),
    share=st.floats(0.3, 0.7),
    num_changes=st.integers(0, 2),
    seed=st.integers(0, 2**32),
)
def test_own_search_finds_what_the_referee_finds(box: Box, share: float, num_changes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    grid = random_solution(box, rng)
    grid[rng.random(box.num_cells) > share] = 0
    grid[rng.permutation(box.num_cells)[:num_changes]] = rng.integers(1, box.side + 1)
    num, board = count_solutions(grid, box, limit=3), sudoku_solver.tables(box)
    found = islice(sudoku_solver.search(sudoku_solver.places_from_values(grid.tolist(), board), board), 3)
    assert sum(1 for _ in found) == num
    solution = solve(grid, box)
    assert (solution is not None) == (num > 0)
    if solution is not None:
        assert is_solution(solution, box) and ((grid == 0) | (grid == solution)).all()


def test_grids_without_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = parse_grid("123........4....")
    assert is_consistent(grid, Box(2, 2)) and solve(grid, Box(2, 2)) is None
    clash = np.zeros(81, dtype=np.uint8)
    clash[[0, 10]] = 7
    # A repeated clue is seen without a solver.
    monkeypatch.setattr(sudoku_solver, "unit_indices", None)
    assert solve(clash, Box(3, 3)) is None


def test_grids_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="81 cells, not 16"):
        solve(np.zeros(16, dtype=np.uint8), Box(3, 3))
    assert solve(np.full(16, 5, dtype=np.uint8), Box(2, 2)) is None
