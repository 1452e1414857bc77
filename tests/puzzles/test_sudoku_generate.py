"""Exact solving against CP-SAT; generated puzzles: one solution, clue counts in range, nothing twice."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serrm.puzzles.sudoku import search as sudoku_search
from serrm.puzzles.sudoku.data import all_solutions_4x4, generate_puzzles, iterate_puzzles, random_solution
from serrm.puzzles.sudoku.rules import BLANK, are_solutions
from serrm.puzzles.tasks import grid_task
from tests.references import count_solutions, is_solution


@settings(max_examples=50)
@given(
    side=st.sampled_from([4, 6, 9]),
    share=st.floats(0.3, 0.7),
    num_changes=st.integers(0, 2),
    seed=st.integers(0, 2**32),
)
def test_the_search_agrees_with_cp_sat(side: int, share: float, num_changes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    grid = random_solution(side, rng)
    grid[rng.random(side**2) > share] = BLANK
    grid[rng.permutation(side**2)[:num_changes]] = rng.integers(2, side + 2)
    num, masks = count_solutions(grid, limit=3), sudoku_search.masks_of(side)
    solutions = sudoku_search.search(sudoku_search.place_clues(grid.tolist(), masks), masks)
    assert sum(1 for _ in islice(solutions, 3)) == num
    solution = grid_task("sudoku").solution(grid)
    assert (solution is not None) == (num > 0)
    if solution is not None:
        assert is_solution(solution) and ((grid == BLANK) | (grid == solution)).all()


def test_each_of_the_288_grids_of_4x4_gets_a_puzzle() -> None:
    solutions = all_solutions_4x4()
    assert are_solutions(solutions).all()
    puzzles = generate_puzzles(4, 288, np.random.default_rng(0), clues=(4, 8))
    answers = {puzzle.answer.tobytes() for puzzle in puzzles if puzzle.answer is not None}
    assert answers == {solution.tobytes() for solution in solutions}
    assert len(answers) == 288


@settings(max_examples=20)
@given(
    shape=st.sampled_from([(4, 4, 9), (6, 9, 20), (9, 25, 50), (16, 150, 200)]), seed=st.integers(0, 2**32)
)
def test_a_puzzle_has_one_solution_and_clues_in_range(shape: tuple[int, int, int], seed: int) -> None:
    side, *clues = shape
    puzzle = next(iterate_puzzles(side, np.random.default_rng(seed), (clues[0], clues[1])))
    assert clues[0] <= np.count_nonzero(puzzle.question != BLANK) <= clues[1]
    assert puzzle.answer is not None and is_solution(puzzle.answer)
    assert count_solutions(puzzle.question) == 1


@pytest.mark.parametrize(
    ("num", "clues", "error"),
    [
        (289, (16, 16), "only 288 different puzzles with 16 to 16 clues"),
        (1, (1, 3), "no 4x4 puzzle with 3 clues"),
    ],
)
def test_too_many_attempts_are_an_error(num: int, clues: tuple[int, int], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        generate_puzzles(4, num, np.random.default_rng(0), clues)


@pytest.mark.slow
def test_16x16_with_as_few_clues_as_one_solution_allows() -> None:
    """As the profiles of published puzzles ask for."""
    (puzzle,) = generate_puzzles(16, 1, np.random.default_rng(0), clues=(89, 95))
    assert 89 <= np.count_nonzero(puzzle.question != BLANK) <= 95
    assert count_solutions(puzzle.question) == 1
