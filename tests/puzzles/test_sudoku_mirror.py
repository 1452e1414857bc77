"""The published files, where SERRM_MIRROR names a folder with them; see conftest.py."""

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from serrm.puzzles.sudoku.grid import Box, are_solutions, box_for_side, is_solution
from serrm.puzzles.sudoku.parse import Puzzle, read_puzzles
from serrm.puzzles.sudoku.solve import solve
from tests.references import count_solutions

MIRROR = Path(os.environ["SERRM_MIRROR"])


@pytest.mark.parametrize(
    ("path", "num"),
    [
        ("sudoku-extreme-1k/train.csv", 1_000),
        ("sudoku-extreme-1k/test.csv", 10_000),
        ("sudoku-4x4/4x4_sudoku_unique_solution.csv", 288),
    ],
)
def test_published_answers_are_solutions(path: str, num: int) -> None:
    puzzles = list(read_puzzles(MIRROR / path))
    assert len(puzzles) == num
    answers = np.stack([puzzle.answer for puzzle in puzzles if puzzle.answer is not None])
    assert len(answers) == num
    assert are_solutions(answers, box_for_side(puzzles[0].side)).all()


@pytest.mark.parametrize("path", ["sudoku-extreme-1k/train.csv", "sudoku-4x4/4x4_sudoku_unique_solution.csv"])
def test_published_answers_are_the_only_ones(path: str) -> None:
    for puzzle in list(read_puzzles(MIRROR / path))[:50]:
        box = box_for_side(puzzle.side)
        assert count_solutions(puzzle.question, box) == 1
        solution = solve(puzzle.question, box)
        assert solution is not None
        assert puzzle.answer is not None
        assert np.array_equal(solution, puzzle.answer)


@pytest.mark.slow
def test_42_of_the_100_puzzles_of_25x25_have_a_solution() -> None:
    box = Box(5, 5)
    puzzles = list(read_puzzles(MIRROR / "sudoku-25x25"))
    assert len(puzzles) == 100
    solved: list[Puzzle] = []
    for puzzle in puzzles:
        solution = solve(puzzle.question, box)
        if solution is not None:
            assert is_solution(solution, box)
            solved.append(Puzzle(puzzle.question, solution, 25, puzzle.source))
    by_difficulty = Counter(puzzle.source for puzzle in solved)
    assert by_difficulty == {"Extremely Easy": 16, "Easy": 5, "Medium": 10, "Difficult": 6, "Evil": 5}
    assert all(count_solutions(puzzle.question, box) == 1 for puzzle in solved)
