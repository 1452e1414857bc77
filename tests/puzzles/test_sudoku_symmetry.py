"""Symmetries keep solutions, are undone by their inverses, and have two forms that agree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serrm.puzzles.sudoku.generate import random_solution
from serrm.puzzles.sudoku.grid import Box, are_solutions
from serrm.puzzles.sudoku.symmetry import apply_parameters, draw_symmetries, random_symmetry

BOXES = [Box(2, 2), Box(2, 3), Box(3, 2), Box(3, 3), Box(4, 4), Box(5, 5)]
boxes = st.sampled_from(BOXES)
seeds = st.integers(0, 2**32)


def draw_grids(box: Box, rng: np.random.Generator, num: int = 3) -> np.ndarray:
    """Grids of independent values, which only an exact inverse brings back."""
    return rng.integers(0, box.side + 1, size=(num, box.num_cells), dtype=np.uint8)


@pytest.mark.parametrize("box", BOXES, ids=str)
def test_solutions_stay_solutions(box: Box) -> None:
    rng = np.random.default_rng(5)
    solutions = np.tile(random_solution(box, rng), (50, 1))
    moved = apply_parameters(solutions, draw_symmetries(box, 50, rng), box)
    assert are_solutions(moved, box).all()
    assert len(np.unique(moved, axis=0)) > 1


def test_every_symmetry_of_4x4_is_drawn_about_equally_often() -> None:
    box = Box(2, 2)
    parameters = draw_symmetries(box, 20_000, np.random.default_rng(0))
    rows, cols, flags, digits = np.split(parameters, [4, 8, 9], axis=1)
    for part, num in ((rows, 8), (cols, 8), (flags, 2), (digits, 24)):
        _, counts = np.unique(part, axis=0, return_counts=True)
        assert len(counts) == num
        assert np.abs(counts - 20_000 / num).max() < 5 * np.sqrt(20_000 / num)


def test_only_square_boxes_are_transposed() -> None:
    rng = np.random.default_rng(0)
    assert not draw_symmetries(Box(2, 3), 100, rng)[:, 12].any()
    assert draw_symmetries(Box(3, 3), 100, rng)[:, 18].any()


@given(box=boxes, seed=seeds)
def test_a_symmetry_is_undone_by_its_inverse_and_is_what_its_parameters_say(box: Box, seed: int) -> None:
    grids = draw_grids(box, np.random.default_rng(seed))
    cells, digits = random_symmetry(box, np.random.default_rng(seed))
    images = digits[grids[:, cells]]
    assert np.array_equal(np.argsort(digits)[images][:, np.argsort(cells)], grids)
    parameters = np.tile(draw_symmetries(box, 1, np.random.default_rng(seed)), (len(grids), 1))
    assert np.array_equal(apply_parameters(grids, parameters, box), images)
    assert digits[0] == 0, "blanks stay blanks"
