"""The generator: one solution, clue counts in range, nothing twice, decided by the seed alone."""

import hashlib
import os
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serrm.puzzles.sudoku import cpsat
from serrm.puzzles.sudoku.generate import (
    all_solutions_4x4,
    generate_16x16,
    generate_puzzle,
    generate_puzzles,
    iterate_puzzles,
    random_solution,
    remove_clues,
)
from serrm.puzzles.sudoku.grid import Box, are_solutions, is_solution
from serrm.puzzles.sudoku.parse import Puzzle
from serrm.puzzles.sudoku.pysudoku_grids import complete_grids


def assert_only_solution(puzzle: Puzzle, box: Box) -> None:
    """CP-SAT finds the answer and nothing else."""
    assert puzzle.answer is not None
    first, *others = [
        s for s, _ in zip(cpsat.iterate_solutions(puzzle.question, box), range(2), strict=False)
    ]
    assert np.array_equal(first, puzzle.answer)
    assert not others


def count_clues(puzzles: list[Puzzle]) -> list[int]:
    """Clues of each puzzle."""
    return [int(np.count_nonzero(puzzle.question)) for puzzle in puzzles]


@settings(max_examples=25, deadline=None)
@given(
    shape=st.sampled_from([(Box(2, 2), 4, 9), (Box(2, 3), 9, 20), (Box(3, 2), 9, 20), (Box(3, 3), 25, 50)]),
    seed=st.integers(0, 2**32),
)
def test_a_puzzle_has_one_solution_and_clues_in_range(shape: tuple[Box, int, int], seed: int) -> None:
    box, min_clues, max_clues = shape
    puzzle = generate_puzzle(box, np.random.default_rng(seed), min_clues, max_clues)
    assert min_clues <= np.count_nonzero(puzzle.question) <= max_clues
    assert puzzle.answer is not None
    assert is_solution(puzzle.answer, box)
    assert_only_solution(puzzle, box)


def test_clue_counts_cover_the_range() -> None:
    counts = count_clues(generate_puzzles(Box(3, 3), 100, np.random.default_rng(0), clues=(40, 44)))
    assert set(counts) == {40, 41, 42, 43, 44}


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


def test_4x4_goes_on_with_other_questions() -> None:
    puzzles = generate_puzzles(Box(2, 2), 600, np.random.default_rng(0), clues=(5, 8))
    assert len({puzzle.question.tobytes() for puzzle in puzzles}) == 600


def test_running_out_of_puzzles_is_an_error() -> None:
    with pytest.raises(ValueError, match="only 288 different puzzles with 16 to 16 clues"):
        generate_puzzles(Box(2, 2), 289, np.random.default_rng(0), clues=(16, 16))


@pytest.mark.parametrize("clues", [(0, 5), (9, 8), (30, 82)])
def test_impossible_ranges_are_refused(clues: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=f"{clues[0]} to {clues[1]}"):
        generate_puzzle(Box(3, 3), rng, *clues)
    with pytest.raises(ValueError, match=f"{clues[0]} to {clues[1]}"):
        next(iterate_puzzles(Box(3, 3), rng, clues))


def test_a_range_without_puzzles_is_reported() -> None:
    with pytest.raises(ValueError, match="no 4x4 puzzle with 3 clues or fewer"):
        generate_puzzle(Box(2, 2), np.random.default_rng(0), 1, 3)


def test_no_clue_can_go_from_a_puzzle_taken_to_the_end() -> None:
    rng = np.random.default_rng(4)
    box = Box(3, 3)
    solution = random_solution(box, rng)
    question = remove_clues(solution, box, rng, num_clues=1)
    assert_only_solution(Puzzle(question, solution, 9), box)
    for cell in np.flatnonzero(question):
        fewer = question.copy()
        fewer[cell] = 0
        assert sum(1 for _, _ in zip(range(2), cpsat.iterate_solutions(fewer, box), strict=False)) == 2


def test_16x16_on_grids_of_pysudoku() -> None:
    box = Box(4, 4)
    puzzles = generate_16x16(5, seed=0, clues=(120, 200))
    assert sorted(count_clues(puzzles)) == [120, 140, 160, 180, 200]
    for puzzle in puzzles:
        assert_only_solution(puzzle, box)
    again = generate_16x16(5, seed=0, clues=(120, 200))
    other = generate_16x16(5, seed=1, clues=(120, 200))
    assert [p.question.tobytes() for p in again] == [p.question.tobytes() for p in puzzles]
    assert {p.question.tobytes() for p in other}.isdisjoint(p.question.tobytes() for p in puzzles)


@pytest.mark.parametrize("side", [6, 9, 16])
def test_pysudoku_completes_different_grids(side: int) -> None:
    grids = np.stack(list(complete_grids(3, seed=0, side=side)))
    assert are_solutions(grids, {6: Box(2, 3), 9: Box(3, 3), 16: Box(4, 4)}[side]).all()
    assert len(np.unique(grids, axis=0)) == 3


def test_a_failure_of_pysudoku_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with pytest.raises(RuntimeError, match="pysudoku_grids failed"):
        generate_16x16(1, seed=0)


def test_25x25() -> None:
    box = Box(5, 5)
    puzzles = generate_puzzles(box, 2, np.random.default_rng(0), clues=(380, 500))
    assert all(380 <= count <= 500 for count in count_clues(puzzles))
    for puzzle in puzzles:
        assert_only_solution(puzzle, box)


DIGEST = """
import hashlib, sys
import numpy as np
from serrm.puzzles.sudoku import Box, generate_puzzles
digest = hashlib.sha256()
for box, clues in ((Box(2, 2), (4, 8)), (Box(2, 3), (10, 20)), (Box(3, 3), (30, 45))):
    for puzzle in generate_puzzles(box, 10, np.random.default_rng(7), clues):
        digest.update(puzzle.question.tobytes() + puzzle.answer.tobytes())
sys.stdout.write(digest.hexdigest())
"""


def test_the_seed_decides_whatever_the_hash_seed() -> None:
    digests = set()
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-c", DIGEST]
        digests.add(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)
    assert len(digests) == 1
    assert len(digests.pop()) == 2 * hashlib.sha256().digest_size


@pytest.mark.slow
def test_1500_puzzles_of_9x9_in_under_a_minute() -> None:
    start = time.perf_counter()
    puzzles = generate_puzzles(Box(3, 3), 1500, np.random.default_rng(0))
    assert time.perf_counter() - start < 60
    assert len({puzzle.answer.tobytes() for puzzle in puzzles if puzzle.answer is not None}) == 1500
    counts = np.bincount(count_clues(puzzles))
    assert counts[:30].sum() == 0
    assert counts[30:].tolist() == counts[30:46].tolist()
    assert counts[30:].min() > 50
