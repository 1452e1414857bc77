"""The generated source: the publishers' formats, one solution each, and everything decided by the seed."""

from pathlib import Path

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from serrm.datasets.parquet import read_puzzle_set, set_file
from serrm.datasets.sudoku import write_puzzle_sets
from serrm.manifest import data_hash, hash_file
from serrm.puzzles.sudoku.grid import box_for_side
from serrm.sources.fetch import fetch
from serrm.sources.sudoku_layout import FILE_4X4, files_25x25
from serrm.sources.sudoku_settings import GeneratedSource, Source
from tests.references import count_solutions

SOURCE = GeneratedSource(
    kind="generated",
    num_train=6,
    num_test=4,
    clues=(34, 40),
    num_16x16=2,
    clues_16x16=(170, 190),
    num_25x25=1,
    clues_25x25=(520, 560),
)
CLUES = {"train": (34, 40), "9x9": (34, 40), "4x4": (7, 7), "16x16": (170, 190), "25x25": (520, 560)}
NUMS = {"train": 6, "9x9": 4, "4x4": 288, "16x16": 2, "25x25": 1}


@pytest.fixture(scope="module")
def shared_raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Generated raw files that no test changes."""
    raw = tmp_path_factory.mktemp("generated") / "raw"
    fetch("sudoku", SOURCE, raw, seed=5)
    return raw


@pytest.fixture(scope="module")
def shared_sets(shared_raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The puzzle sets of the generated raw files, each whole."""
    sets = tmp_path_factory.mktemp("generated") / "sets"
    sizes = {"4x4": None, "16x16": None, "25x25": None}
    write_puzzle_sets(shared_raw, sets, num_train=None, num_test=None, num_test_sizes=sizes, seed=0)
    return sets


@pytest.mark.parametrize("name", list(NUMS))
def test_generated_puzzles_are_as_many_and_as_full_as_asked_for_and_have_one_solution(
    shared_sets: Path, name: str
) -> None:
    questions, _ = read_puzzle_set(shared_sets / set_file(name))
    num_clues = np.count_nonzero(questions, axis=1)
    assert len(questions) == NUMS[name]
    assert CLUES[name][0] <= num_clues.min() <= num_clues.max() <= CLUES[name][1]
    box = box_for_side(round(questions.shape[1] ** 0.5))
    assert all(count_solutions(question, box) == 1 for question in questions)


def test_generated_puzzles_differ(shared_sets: Path) -> None:
    train, train_answers = read_puzzle_set(shared_sets / set_file("train"))
    test, test_answers = read_puzzle_set(shared_sets / set_file("9x9"))
    for grids in (np.concatenate([train, test]), np.concatenate([train_answers, test_answers])):
        assert len(np.unique(grids, axis=0)) == len(grids)
    _, answers = read_puzzle_set(shared_sets / set_file("4x4"))
    assert len(np.unique(answers, axis=0)) == 288


def test_the_seed_decides_everything_and_the_sizes_do_not_meet(shared_raw: Path, tmp_path: Path) -> None:
    fetch("sudoku", SOURCE, tmp_path / "same", seed=5)
    assert data_hash(tmp_path / "same") == data_hash(shared_raw)
    fewer = SOURCE.model_copy(update={"num_16x16": 0, "num_25x25": 0, "num_train": 2})
    fetch("sudoku", fewer, tmp_path / "fewer", seed=5)
    assert hash_file(tmp_path / "fewer" / FILE_4X4) == hash_file(shared_raw / FILE_4X4)
    assert not (tmp_path / "fewer/sudoku-16x16").exists()
    assert files_25x25(tmp_path / "fewer") == []
    fetch("sudoku", fewer, tmp_path / "other", seed=6)
    assert hash_file(tmp_path / "other" / FILE_4X4) != hash_file(shared_raw / FILE_4X4)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"clues": [40, 34]}, "clues"),
        ({"clues_16x16": [150, 257]}, "clues_16x16"),
        ({"num_train": 0}, "num_train"),
        ({"num_tests": 3}, "num_tests"),
        ({"kind": "made"}, "kind"),
    ],
)
def test_impossible_settings_are_refused_by_key(change: dict[str, object], key: str) -> None:
    settings = SOURCE.model_dump(mode="json") | change
    with pytest.raises(ValidationError, match=key):
        TypeAdapter(Source).validate_python(settings)
