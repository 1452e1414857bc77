"""The generator: one solution, clue counts in range, nothing twice, decided by the seed alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serrm.puzzles import sudoku_solver
from serrm.puzzles.sudoku import Box, Puzzle, are_solutions, is_solution
from serrm.puzzles.sudoku_data import (
    all_solutions_4x4,
    generate_puzzles,
    iterate_puzzles,
    random_solution,
    remove_clues,
)
from tests.references import count_solutions


@pytest.mark.parametrize("box", [Box(2, 2), Box(2, 3), Box(3, 3), Box(3, 4), Box(4, 4), Box(5, 5)], ids=str)
def test_random_solutions_are_solutions_and_differ(box: Box) -> None:
    rng = np.random.default_rng(3)
    solutions = np.stack([random_solution(box, rng) for _ in range(3)])
    assert are_solutions(solutions, box).all()
    assert len(np.unique(solutions, axis=0)) == 3


def test_each_of_the_288_grids_of_4x4_gets_a_puzzle() -> None:
    solutions = all_solutions_4x4()
    assert are_solutions(solutions, Box(2, 2)).all()
    puzzles = generate_puzzles(Box(2, 2), 288, np.random.default_rng(0), clues=(4, 8))
    answers = {puzzle.answer.tobytes() for puzzle in puzzles if puzzle.answer is not None}
    assert answers == {solution.tobytes() for solution in solutions}
    assert len(answers) == 288


def test_running_out_of_puzzles_is_an_error() -> None:
    with pytest.raises(ValueError, match="only 288 different puzzles with 16 to 16 clues"):
        generate_puzzles(Box(2, 2), 289, np.random.default_rng(0), clues=(16, 16))


def assert_only_solution(puzzle: Puzzle, box: Box) -> None:
    """CP-SAT finds the answer and nothing else."""
    assert puzzle.answer is not None
    first = next(sudoku_solver.iterate_solutions(puzzle.question, box))
    assert np.array_equal(first, puzzle.answer)
    assert count_solutions(puzzle.question, box) == 1


@settings(max_examples=20)
@given(
    shape=st.sampled_from([(Box(2, 2), 4, 9), (Box(2, 3), 9, 20), (Box(3, 2), 9, 20), (Box(3, 3), 25, 50)]),
    seed=st.integers(0, 2**32),
)
def test_a_puzzle_has_one_solution_and_clues_in_range(shape: tuple[Box, int, int], seed: int) -> None:
    box, *clues = shape
    puzzle = next(iterate_puzzles(box, np.random.default_rng(seed), (clues[0], clues[1])))
    assert clues[0] <= np.count_nonzero(puzzle.question) <= clues[1]
    assert puzzle.answer is not None and is_solution(puzzle.answer, box)
    assert_only_solution(puzzle, box)


def test_too_few_clues_are_refused() -> None:
    with pytest.raises(ValueError, match="no 4x4 puzzle with 3 clues"):
        next(iterate_puzzles(Box(2, 2), np.random.default_rng(0), (1, 3)))


def test_no_clue_can_go_from_a_puzzle_taken_to_the_end() -> None:
    rng, box = np.random.default_rng(4), Box(3, 3)
    solution = random_solution(box, rng)
    question = remove_clues(solution, box, rng, num_clues=1)
    assert_only_solution(Puzzle(question, solution, 9), box)
    for cell in np.flatnonzero(question):
        fewer = question.copy()
        fewer[cell] = 0
        assert count_solutions(fewer, box) == 2


@pytest.mark.slow
def test_16x16_with_as_few_clues_as_one_solution_allows() -> None:
    """Of those that the profiles of published puzzles ask for."""
    (puzzle,) = generate_puzzles(Box(4, 4), 1, np.random.default_rng(0), clues=(89, 95))
    assert 89 <= np.count_nonzero(puzzle.question) <= 95
    assert_only_solution(puzzle, Box(4, 4))
