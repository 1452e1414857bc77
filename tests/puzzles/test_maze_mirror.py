"""Maze-Hard, where SERRM_MIRROR names a folder with it; see conftest.py."""

import hashlib
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from serrm.puzzles.maze.parse import MazePuzzle, read_csv, write_csv
from serrm.puzzles.maze.paths import (
    are_shortest_paths,
    are_valid_paths,
    num_steps,
    shortest_path,
)
from serrm.sources.maze_settings import MAZE_HARD

FOLDER = Path(os.environ["SERRM_MIRROR"]) / "maze-30x30-hard-1k"
NAMES = ["train.csv", "test.csv"]


@pytest.fixture(scope="module", params=NAMES)
def mazes(request: pytest.FixtureRequest) -> list[MazePuzzle]:
    return list(read_csv(FOLDER / request.param))


def test_every_label_is_a_valid_and_shortest_path_of_110_cells_or_more(mazes: list[MazePuzzle]) -> None:
    questions = np.stack([maze.question for maze in mazes])
    answers = np.stack([maze.answer for maze in mazes])
    assert questions.shape == (1_000, 900)
    assert are_valid_paths(questions, answers).all()
    assert are_shortest_paths(questions, answers).all()
    assert min(map(num_steps, answers)) == 109
    assert [num_steps(maze.answer) for maze in mazes] == [maze.rating for maze in mazes]


def test_every_label_is_chosen_by_the_one_rule(mazes: list[MazePuzzle]) -> None:
    for maze in mazes:
        label = shortest_path(maze.question)
        assert label is not None
        assert np.array_equal(label, maze.answer)


@pytest.mark.parametrize("name", NAMES)
def test_the_mirror_holds_the_published_mazes(tmp_path: Path, name: str) -> None:
    # The published files name no source, and rate by the cells of the path instead of its steps.
    published = (
        replace(maze, source="", rating=num_steps(maze.answer) + 1) for maze in read_csv(FOLDER / name)
    )
    write_csv(tmp_path / name, published)
    digest = hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
    assert digest == MAZE_HARD.sha256[name]
