"""Symmetries keep solutions, are undone by their inverses, and have two forms that agree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serrm.puzzles.sudoku.generate import random_solution
from serrm.puzzles.sudoku.grid import Box, are_solutions
from serrm.puzzles.sudoku.symmetry import (
    apply,
    apply_parameters,
    compose,
    draw_symmetries,
    draw_symmetry,
    identity,
    inverse,
    num_uniforms,
    random_symmetry,
    symmetries_from_uniforms,
    symmetry_from_parameters,
)

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


@given(box=boxes, seed=seeds)
def test_the_inverse_undoes_exactly(box: Box, seed: int) -> None:
    rng = np.random.default_rng(seed)
    grids, symmetry = draw_grids(box, rng), random_symmetry(box, rng)
    assert np.array_equal(apply(apply(grids, symmetry), inverse(symmetry)), grids)
    assert np.array_equal(apply(apply(grids, inverse(symmetry)), symmetry), grids)


@given(box=boxes, seed=seeds)
def test_composition_is_one_after_the_other(box: Box, seed: int) -> None:
    rng = np.random.default_rng(seed)
    grids, first, second = draw_grids(box, rng), random_symmetry(box, rng), random_symmetry(box, rng)
    both = compose(first, second)
    assert np.array_equal(apply(grids, both), apply(apply(grids, first), second))
    assert np.array_equal(apply(grids, compose(both, inverse(both))), grids)
    assert np.array_equal(apply(grids, compose(identity(box), first)), apply(grids, first))


@given(box=boxes, seed=seeds)
def test_parameters_and_maps_agree(box: Box, seed: int) -> None:
    rng = np.random.default_rng(seed)
    grids = draw_grids(box, rng, num=5)
    parameters = draw_symmetries(box, 5, rng)
    moved = apply_parameters(grids, parameters, box)
    for grid, row, expected in zip(grids, parameters, moved, strict=True):
        assert np.array_equal(apply(grid, symmetry_from_parameters(row, box)), expected)


@given(box=boxes, seed=seeds)
def test_blanks_stay_blanks_and_digits_are_permuted(box: Box, seed: int) -> None:
    symmetry = random_symmetry(box, np.random.default_rng(seed))
    assert symmetry.digits[0] == 0
    assert sorted(symmetry.digits.tolist()) == list(range(box.side + 1))
    assert sorted(symmetry.cells.tolist()) == list(range(box.num_cells))


def test_each_row_depends_on_its_own_uniforms_alone() -> None:
    box = Box(3, 3)
    uniforms = np.random.default_rng(0).random((6, num_uniforms(box)))
    together = symmetries_from_uniforms(uniforms, box)
    apart = [symmetries_from_uniforms(row[None], box)[0] for row in uniforms]
    assert np.array_equal(together, apart)


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


def test_same_seed_same_symmetry() -> None:
    first, second = (draw_symmetry(Box(3, 3), np.random.default_rng(8)) for _ in range(2))
    assert np.array_equal(first, second)


def test_parameters_of_another_size_are_refused() -> None:
    grids = np.zeros((2, 81), dtype=np.uint8)
    parameters = draw_symmetries(Box(2, 2), 2, np.random.default_rng(0))
    with pytest.raises(ValueError, match="81 and 13"):
        apply_parameters(grids, parameters, Box(3, 3))
