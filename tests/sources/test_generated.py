"""Generated sources: as many puzzles as asked for, one solution each, and everything decided by the seed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from serrm.datasets.sets import read_puzzle_set, set_file, write_sets
from serrm.manifest import data_hash, hash_file
from serrm.puzzles.maze import GeneratedMaze, canonical, num_steps, read_csv
from serrm.puzzles.raw import SubsetSettings
from serrm.puzzles.sudoku import box_for_side
from serrm.puzzles.sudoku_data import FILE_4X4, GeneratedSudoku, SudokuSubsetSettings
from serrm.sources.download import fetch
from tests.references import count_solutions

CLUES = {"train": (34, 40), "9x9": (34, 40), "4x4": (7, 7), "16x16": (170, 190), "25x25": (520, 560)}
NUMS = {"train": 6, "9x9": 4, "4x4": 288, "16x16": 2, "25x25": 1}
SUDOKU = GeneratedSudoku(
    kind="generated",
    num_train=6,
    num_test=4,
    clues=(34, 40),
    num_16x16=2,
    clues_16x16=(170, 190),
    num_25x25=1,
    clues_25x25=(520, 560),
)
FEWER = SUDOKU.model_copy(update={"num_16x16": 0, "num_25x25": 0, "num_train": 2})
MAZE = GeneratedMaze(kind="generated", num_train=9, num_test=5, side=8, min_path=10)


@pytest.fixture(scope="module")
def shared_raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Generated raw files that no test changes."""
    raw = tmp_path_factory.mktemp("generated") / "raw"
    fetch("sudoku", SUDOKU, raw, seed=5)
    return raw


def test_generated_puzzles_are_as_asked_for_different_and_have_one_solution(
    shared_raw: Path, tmp_path: Path
) -> None:
    sizes = {"4x4": None, "16x16": None, "25x25": None}
    settings = SudokuSubsetSettings(num_train=None, num_test=None, num_test_sizes=sizes, seed=0)
    write_sets(shared_raw, tmp_path / "sets", "sudoku", settings)
    sets = {name: read_puzzle_set(tmp_path / "sets" / set_file(name)) for name in NUMS}
    for name, (questions, _) in sets.items():
        num_clues = np.count_nonzero(questions, axis=1)
        assert len(questions) == NUMS[name]
        assert CLUES[name][0] <= num_clues.min() <= num_clues.max() <= CLUES[name][1]
        box = box_for_side(round(questions.shape[1] ** 0.5))
        assert all(count_solutions(question, box) == 1 for question in questions)
    for part in (0, 1):
        grids = np.concatenate([sets["train"][part], sets["9x9"][part]])
        assert len(np.unique(grids, axis=0)) == len(grids)
    assert len(np.unique(sets["4x4"][1], axis=0)) == 288


def test_generated_mazes_are_as_asked_for_and_no_transforms_of_each_other(tmp_path: Path) -> None:
    fetch("maze", MAZE, tmp_path / "raw", seed=0)
    # Every answer is checked to be a shortest path.
    settings = SubsetSettings(num_train=None, num_test=None, seed=0)
    write_sets(tmp_path / "raw", tmp_path / "sets", "maze", settings)
    train, test = (list(read_csv(tmp_path / f"raw/maze-generated/{name}.csv")) for name in ("train", "test"))
    assert (len(train), len(test)) == (9, 5)
    assert all(maze.side == 8 and num_steps(maze.answer) + 1 >= 10 for maze in train + test)
    assert len({canonical(maze.question, 8) for maze in train + test}) == 14


@pytest.mark.parametrize(
    ("task", "source", "golden"),
    [
        ("sudoku", SUDOKU, "e009e0476fef5546"),
        ("maze", MAZE, "63ac5f26e5ef30a5"),
    ],
    ids=["sudoku", "maze"],
)
def test_the_seed_decides_everything_and_always_alike(
    tmp_path: Path, task: str, source: Any, golden: str
) -> None:
    fetch(task, source, tmp_path / "one", 3)
    # A change would make every committed result irreproducible.
    assert data_hash(tmp_path / "one")[:16] == golden
    fetch(task, FEWER if task == "sudoku" else source, tmp_path / "other", 4)
    one, other = ({hash_file(path) for path in (tmp_path / name).rglob("*.csv")} for name in ("one", "other"))
    assert not one & other


def test_the_sizes_do_not_depend_on_one_another(shared_raw: Path, tmp_path: Path) -> None:
    fetch("sudoku", FEWER, tmp_path / "fewer", seed=5)
    assert hash_file(tmp_path / "fewer" / FILE_4X4) == hash_file(shared_raw / FILE_4X4)
    names = {path.name for path in (tmp_path / "fewer").iterdir()}
    assert names == {"manifest.json", "sudoku-4x4", "sudoku-9x9"}
