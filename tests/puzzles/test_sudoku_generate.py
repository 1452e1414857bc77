"""Exact solving against CP-SAT; generated puzzles: one solution, clue counts in range, nothing twice."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serrm.puzzles.boxes import Box
from serrm.puzzles.sudoku import search as sudoku_search
from serrm.puzzles.sudoku.data import all_solutions_4x4, generate_puzzles, iterate_puzzles, random_solution
from serrm.puzzles.sudoku.rules import are_solutions, is_solution
from serrm.puzzles.sudoku.search import solve
from tests.references import count_solutions


@settings(max_examples=50)
@given(
    box=st.sampled_from([Box(2, 2), Box(2, 3), Box(3, 2), Box(3, 3)]),
    share=st.floats(0.3, 0.7),
    num_changes=st.integers(0, 2),
    seed=st.integers(0, 2**32),
)
def test_the_search_agrees_with_cp_sat(box: Box, share: float, num_changes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    grid = random_solution(box, rng)
    grid[rng.random(box.num_cells) > share] = 0
    grid[rng.permutation(box.num_cells)[:num_changes]] = rng.integers(1, box.side + 1)
    num, board = count_solutions(grid, box, limit=3), sudoku_search.board_of(box)
    solutions = sudoku_search.search(sudoku_search.place_clues(grid.tolist(), board), board)
    assert sum(1 for _ in islice(solutions, 3)) == num
    solution = solve(grid, box)
    assert (solution is not None) == (num > 0)
    if solution is not None:
        assert is_solution(solution, box) and ((grid == 0) | (grid == solution)).all()


def test_each_of_the_288_grids_of_4x4_gets_a_puzzle() -> None:
    solutions = all_solutions_4x4()
    assert are_solutions(solutions, Box(2, 2)).all()
    puzzles = generate_puzzles(Box(2, 2), 288, np.random.default_rng(0), clues=(4, 8))
    answers = {puzzle.answer.tobytes() for puzzle in puzzles if puzzle.answer is not None}
    assert answers == {solution.tobytes() for solution in solutions}
    assert len(answers) == 288


@settings(max_examples=20)
@given(
    shape=st.sampled_from(
        [
            (Box(2, 2), 4, 9),
            (Box(2, 3), 9, 20),
            (Box(3, 2), 9, 20),
            (Box(3, 3), 25, 50),
            (Box(4, 4), 150, 200),
        ]
    ),
    seed=st.integers(0, 2**32),
)
def test_a_puzzle_has_one_solution_and_clues_in_range(shape: tuple[Box, int, int], seed: int) -> None:
    box, *clues = shape
    puzzle = next(iterate_puzzles(box, np.random.default_rng(seed), (clues[0], clues[1])))
    assert clues[0] <= np.count_nonzero(puzzle.question) <= clues[1]
    assert puzzle.answer is not None and is_solution(puzzle.answer, box)
    assert count_solutions(puzzle.question, box) == 1


@pytest.mark.parametrize(
    ("num", "clues", "error"),
    [
        (289, (16, 16), "only 288 different puzzles with 16 to 16 clues"),
        (1, (1, 3), "no 4x4 puzzle with 3 clues"),
    ],
)
def test_giving_up_is_an_error_and_not_an_endless_search(
    num: int, clues: tuple[int, int], error: str
) -> None:
    with pytest.raises(ValueError, match=error):
        generate_puzzles(Box(2, 2), num, np.random.default_rng(0), clues)


@pytest.mark.slow
def test_16x16_with_as_few_clues_as_one_solution_allows() -> None:
    """As the profiles of published puzzles ask for."""
    (puzzle,) = generate_puzzles(Box(4, 4), 1, np.random.default_rng(0), clues=(89, 95))
    assert 89 <= np.count_nonzero(puzzle.question) <= 95
    assert count_solutions(puzzle.question, Box(4, 4)) == 1
