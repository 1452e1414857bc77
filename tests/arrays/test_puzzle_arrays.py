"""Arrays hold the puzzles as tokens, and every augmentation is a symmetric image that stays a solution."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serrm.arrays.puzzles import (
    evaluation_sets,
    open_arrays,
)
from serrm.datasets.sets import read_puzzle_set
from serrm.puzzles.sudoku.generate import random_solution
from serrm.puzzles.sudoku.grid import are_solutions, box_for_side
from serrm.puzzles.sudoku.symmetry import apply_parameters, draw_symmetry

Maker = Callable[..., Path]


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32), puzzle=st.integers(0, 10**6), side=st.sampled_from([4, 6, 9]))
def test_members_are_symmetric_images(seed: int, puzzle: int, side: int) -> None:
    box = box_for_side(side)
    solution = random_solution(box, np.random.default_rng(seed))
    rows = np.stack([draw_symmetry(seed, puzzle, member, side) for member in range(6)])
    images = apply_parameters(np.tile(solution, (6, 1)), rows, box)
    assert np.array_equal(images[0], solution), "member 0 is the puzzle itself"
    assert are_solutions(images, box).all()
    # Clues go where their cells go: blanking and transforming change places.
    question = np.where(np.arange(side**2) % 3 == 0, solution, 0).astype(np.uint8)
    questions = apply_parameters(np.tile(question, (6, 1)), rows, box)
    assert np.array_equal(questions, np.where(questions > 0, images, 0))
    assert (np.count_nonzero(questions, axis=1) == np.count_nonzero(question)).all()


def test_arrays_are_the_puzzles_as_tokens(make_arrays: Maker) -> None:
    folder = make_arrays(side=4, tests=(4, 9))
    for name, file in (("train", "train.parquet"), ("4x4", "test_4x4.parquet"), ("9x9", "test_9x9.parquet")):
        arrays = open_arrays(folder, name)
        questions, answers = read_puzzle_set(folder.parent / file)
        assert isinstance(arrays.questions, np.memmap)
        assert np.array_equal(arrays.questions, questions + 1)
        assert np.array_equal(arrays.answers, answers + 1)
        assert len(arrays) == len(questions)
        assert arrays.num_symbols == arrays.side + 2
    assert evaluation_sets(folder) == ["4x4", "9x9"]


def test_missing_arrays_and_sets_are_named(make_arrays: Maker, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=rf"{tmp_path}: no arrays here"):
        open_arrays(tmp_path, "train")
    with pytest.raises(ValueError, match=r"no set '25x25', there are \['4x4', 'train'\]"):
        open_arrays(make_arrays(side=4), "25x25")
