"""Exact solving and counting: our own search against CP-SAT, and both against known numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serrm.puzzles.sudoku import bitboard, cpsat, solve
from serrm.puzzles.sudoku.generate import generate_puzzle, random_solution
from serrm.puzzles.sudoku.grid import Box, is_consistent, is_solution
from serrm.puzzles.sudoku.text import parse_grid

HARD = "..............3.85..1.2.......5.7.....4...1...9.......5......73..2.1........4...9"
"""A puzzle with 17 clues that is made to be slow for searches that try 1, 2, 3… in the first row."""


def count_by_referee(grid: np.ndarray, box: Box, limit: int) -> int:
    """Solutions according to CP-SAT."""
    return sum(1 for _, _ in zip(range(limit), cpsat.iterate_solutions(grid, box), strict=False))


@settings(max_examples=80, deadline=None)
@given(
    box=st.sampled_from([Box(2, 2), Box(2, 3), Box(3, 2), Box(3, 3)]),
    share=st.floats(0.2, 0.7),
    num_changes=st.integers(0, 2),
    seed=st.integers(0, 2**32),
)
def test_own_count_agrees_with_the_referee(box: Box, share: float, num_changes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    grid = random_solution(box, rng)
    grid[rng.random(box.num_cells) > share] = 0
    grid[rng.permutation(box.num_cells)[:num_changes]] = rng.integers(1, box.side + 1)
    assert solve.count_solutions(grid, box, limit=3) == count_by_referee(grid, box, limit=3)


@settings(max_examples=20, deadline=None)
@given(box=st.sampled_from([Box(2, 3), Box(3, 3), Box(2, 4)]), seed=st.integers(0, 2**32))
def test_solving_gives_a_solution_with_the_clues(box: Box, seed: int) -> None:
    rng = np.random.default_rng(seed)
    grid = random_solution(box, rng)
    grid[rng.random(box.num_cells) > 0.4] = 0
    solution = solve.solve(grid, box)
    assert solution is not None
    assert is_solution(solution, box)
    assert ((grid == 0) | (grid == solution)).all()


def test_there_are_288_grids_of_4x4() -> None:
    empty = np.zeros(16, dtype=np.uint8)
    assert solve.count_solutions(empty, Box(2, 2), limit=1000) == 288
    assert solve.count_solutions(empty, Box(2, 2), limit=5) == 5


def test_a_hard_puzzle_has_one_solution() -> None:
    grid = parse_grid(HARD)
    assert np.count_nonzero(grid) == 17
    assert solve.has_unique_solution(grid, Box(3, 3))
    grid[np.flatnonzero(grid)[0]] = 0
    assert not solve.has_unique_solution(grid, Box(3, 3))


def test_a_repeated_clue_is_found_without_a_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = np.zeros(81, dtype=np.uint8)
    grid[[0, 10]] = 7

    def fail(*_: object) -> None:
        raise AssertionError("the model was built")

    monkeypatch.setattr(cpsat, "_add_choices", fail)
    assert solve.solve(grid, Box(3, 3)) is None
    assert not solve.is_satisfiable(grid, Box(3, 3))
    assert solve.count_solutions(grid, Box(3, 3)) == 0


def test_a_consistent_grid_without_solution() -> None:
    grid = parse_grid("123........4....")
    assert is_consistent(grid, Box(2, 2))
    assert not solve.is_satisfiable(grid, Box(2, 2))
    assert solve.count_solutions(grid, Box(2, 2)) == 0


def test_cpsat_counts_where_own_search_gets_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solve, "MAX_POSITIONS", 3)
    grid = parse_grid(HARD)
    assert solve.has_unique_solution(grid, Box(3, 3))
    empty = np.zeros(36, dtype=np.uint8)
    assert solve.count_solutions(empty, Box(2, 3), limit=4) == 4


@pytest.mark.parametrize("box", [Box(4, 4), Box(5, 5)], ids=str)
def test_large_grids(box: Box) -> None:
    puzzle = generate_puzzle(box, np.random.default_rng(1), box.num_cells // 2, box.num_cells // 2)
    assert solve.has_unique_solution(puzzle.question, box)
    solution = solve.solve(puzzle.question, box)
    assert solution is not None
    assert puzzle.answer is not None
    assert np.array_equal(solution, puzzle.answer)
    assert count_by_referee(puzzle.question, box, limit=2) == 1


def test_full_grids_are_their_own_only_solution() -> None:
    box = Box(3, 3)
    grid = random_solution(box, np.random.default_rng(0))
    solution = solve.solve(grid, box)
    assert solution is not None
    assert np.array_equal(solution, grid)
    assert solve.has_unique_solution(grid, box)
    assert count_by_referee(grid, box, limit=2) == 1


def test_propagation_alone_solves_an_easy_puzzle_and_sees_contradictions() -> None:
    box = Box(2, 2)
    board = bitboard.tables(box)
    solution = parse_grid("1234341221434321")
    easy = parse_grid("12.4.4.2.1434.2.")
    places = bitboard.places_from_values(easy.tolist(), board)
    assert bitboard.propagate(places, board)
    assert np.array_equal(bitboard.values_from_places(places, 16), solution)
    clash = bitboard.places_from_values([1, 1] + [0] * 14, board)
    assert not bitboard.propagate(clash, board)


def test_grids_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="81 cells, not 16"):
        solve.solve(np.zeros(16, dtype=np.uint8), Box(3, 3))
    with pytest.raises(ValueError, match="5 is no digit of a grid of side 4"):
        solve.count_solutions(np.full(16, 5, dtype=np.uint8), Box(2, 2))
