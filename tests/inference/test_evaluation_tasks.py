"""Every task that can be downloaded can be described, planned, drawn, scored and solved; right answers are known."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from serrm import describe
from serrm.drawing import panels as drawing
from serrm.inference.tasks import TASKS, solves_sudoku
from serrm.planning.forecast import PUBLISHED
from serrm.puzzles import tasks
from serrm.puzzles.sudoku import box_for_side, is_solution
from serrm.puzzles.sudoku_data import random_solution
from serrm.solving.solve import SUBJECTS


def test_every_task_has_its_records() -> None:
    assert TASKS.keys() == SUBJECTS.keys() == tasks.TASKS.keys() == describe.SOURCES.keys()
    assert TASKS.keys() == PUBLISHED.keys() == drawing.TASKS.keys()
    for name, task in TASKS.items():
        assert (task.tally is None) == (task.verify is None), name


@given(st.integers(0, 999), st.sampled_from([4, 6]), st.integers(0, 35), st.integers(0, 8))
def test_sudoku_answers_are_solutions_that_keep_the_givens(
    seed: int, side: int, cell: int, value: int
) -> None:
    rng, box = np.random.default_rng(seed), box_for_side(side)
    answer = random_solution(box, rng) + np.uint8(1)
    question = np.where(rng.random(side**2) < 0.5, answer, np.uint8(1))
    changed = answer.copy()
    changed[cell % side**2] = value
    other = random_solution(box, rng) + np.uint8(1)
    said = solves_sudoku(np.stack([question] * 3), np.stack([answer, changed, other]))
    keeps = [
        all(a in (b, 1) for a, b in zip(question, each, strict=True)) for each in (answer, changed, other)
    ]
    right = [each.min() > 1 and is_solution(each - np.uint8(1), box) for each in (answer, changed, other)]
    assert said.tolist() == [a and b for a, b in zip(keeps, right, strict=True)]
    assert said[0]


def test_padding_and_blanks_are_no_answer() -> None:
    blank = np.ones((2, 16), dtype=np.uint8)
    assert not solves_sudoku(blank, blank * np.array([[0], [1]], dtype=np.uint8)).any()
