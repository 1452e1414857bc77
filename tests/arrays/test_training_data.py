"""What a training reads of its arrays: the test sets beside it, and what follows from the rest, are not part of it."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from serrm.arrays.puzzles import TRAIN
from serrm.arrays.training_data import training_hash
from serrm.manifest import data_hash

MakeArrays = Callable[..., Path]


def test_test_sets_are_not_part_of_it(make_arrays: MakeArrays) -> None:
    plain = make_arrays(tests=(4,))
    same = make_arrays(tests=(9,))
    assert data_hash(same) != data_hash(plain)
    assert training_hash(same) == training_hash(plain)
    other = [make_arrays(seed=1), make_arrays(num_train=7)]
    assert len({training_hash(arrays) for arrays in (plain, *other)}) == 3


def test_a_changed_puzzle_changes_the_hash(make_arrays: MakeArrays, tmp_path: Path) -> None:
    arrays = shutil.copytree(make_arrays(), tmp_path / "arrays")
    questions = np.load(arrays / TRAIN / "questions.npy")
    questions[0, 0] += 1
    np.save(arrays / TRAIN / "questions.npy", questions)
    assert training_hash(arrays) != training_hash(make_arrays())


def test_a_folder_without_arrays_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no arrays here \(metadata\.json is missing\)"):
        training_hash(tmp_path)
