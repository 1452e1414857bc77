"""The generated sources: the publishers' formats, one solution each, and everything decided by the seed."""

from pathlib import Path

import numpy as np
import pytest

from serrm.datasets.parquet import read_puzzle_set, set_file
from serrm.datasets.settings import SudokuSubsetSettings
from serrm.datasets.sudoku import write_puzzle_sets
from serrm.manifest import Origin, check_manifest, data_hash, file_names, hash_file
from serrm.puzzles.maze.generate import canonical
from serrm.puzzles.maze.parse import MazePuzzle, read_csv
from serrm.puzzles.maze.paths import is_shortest_path, num_steps
from serrm.puzzles.sudoku.grid import box_for_side
from serrm.sources.fetch import fetch
from serrm.sources.maze_settings import MazeGenerated
from serrm.sources.sudoku_layout import FILE_4X4, files_25x25
from serrm.sources.sudoku_settings import GeneratedSource
from tests.references import count_solutions

CLUES = {"train": (34, 40), "9x9": (34, 40), "4x4": (7, 7), "16x16": (170, 190), "25x25": (520, 560)}
NUMS = {"train": 6, "9x9": 4, "4x4": 288, "16x16": 2, "25x25": 1}
SUDOKU = GeneratedSource(
    kind="generated",
    num_train=6,
    num_test=4,
    clues=(34, 40),
    num_16x16=2,
    clues_16x16=(170, 190),
    num_25x25=1,
    clues_25x25=(520, 560),
)
MAZE = MazeGenerated(kind="generated", num_train=9, num_test=5, side=8, min_path=10)


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
    write_puzzle_sets(shared_raw, tmp_path / "sets", settings)
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


def test_the_seed_decides_everything_and_the_sizes_do_not_meet(shared_raw: Path, tmp_path: Path) -> None:
    fetch("sudoku", SUDOKU, tmp_path / "same", seed=5)
    assert data_hash(tmp_path / "same") == data_hash(shared_raw)
    fewer = SUDOKU.model_copy(update={"num_16x16": 0, "num_25x25": 0, "num_train": 2})
    fetch("sudoku", fewer, tmp_path / "fewer", seed=5)
    assert hash_file(tmp_path / "fewer" / FILE_4X4) == hash_file(shared_raw / FILE_4X4)
    assert not (tmp_path / "fewer/sudoku-16x16").exists()
    assert files_25x25(tmp_path / "fewer") == []
    fetch("sudoku", fewer, tmp_path / "other", seed=6)
    assert hash_file(tmp_path / "other" / FILE_4X4) != hash_file(shared_raw / FILE_4X4)


def read_mazes(raw: Path, name: str) -> list[MazePuzzle]:
    return list(read_csv(raw / "maze-generated" / f"{name}.csv"))


def test_generated_mazes_are_as_many_and_as_long_as_asked_for(tmp_path: Path) -> None:
    fetch("maze", MAZE, tmp_path / "raw", seed=0)
    assert file_names(tmp_path / "raw/maze-generated") == ["test.csv", "train.csv"]
    assert {record.origin for record in check_manifest(tmp_path / "raw").files} == {Origin("generated").where}
    train, test = (read_mazes(tmp_path / "raw", name) for name in ("train", "test"))
    assert (len(train), len(test)) == (9, 5)
    for maze in train + test:
        assert (maze.side, maze.source, maze.rating) == (8, "generated", num_steps(maze.answer))
        assert is_shortest_path(maze.question, maze.answer)
        assert num_steps(maze.answer) + 1 >= 10
    assert len({canonical(maze.question, 8) for maze in train + test}) == 14


def test_the_seed_decides_generated_mazes(tmp_path: Path) -> None:
    for name, seed in {"one": 3, "same": 3, "other": 4}.items():
        fetch("maze", MAZE, tmp_path / name, seed)
    hashes = [data_hash(tmp_path / name / "maze-generated") for name in ("one", "same", "other")]
    assert hashes[0] == hashes[1] != hashes[2]
    fetch("maze", MAZE.model_copy(update={"num_train": 4}), tmp_path / "fewer", 3)
    pairs = zip(read_mazes(tmp_path / "fewer", "train"), read_mazes(tmp_path / "one", "train"), strict=False)
    assert all(np.array_equal(first.question, second.question) for first, second in pairs)
