"""Maze-Hard, where SERRM_MIRROR names a folder with it; see conftest.py."""

import hashlib
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from serrm.puzzles.maze.generate import generate_mazes
from serrm.puzzles.maze.grid import WALL
from serrm.puzzles.maze.parse import MazePuzzle, read_csv, write_csv
from serrm.puzzles.maze.paths import (
    are_shortest_paths,
    are_valid_paths,
    has_unique_shortest_path,
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


def test_no_shortest_path_is_the_only_one(mazes: list[MazePuzzle]) -> None:
    assert not any(has_unique_shortest_path(maze.question) for maze in mazes)


def test_every_label_is_chosen_by_the_one_rule(mazes: list[MazePuzzle]) -> None:
    for maze in mazes:
        label = shortest_path(maze.question)
        assert label is not None
        assert np.array_equal(label, maze.answer)


def test_generated_mazes_have_as_many_walls(mazes: list[MazePuzzle]) -> None:
    made = generate_mazes(30, 20, np.random.default_rng(0), 110)
    shares = [np.array([(maze.question == WALL).mean() for maze in each]) for each in (mazes, made)]
    # Means of 1,000 and 20 shares, each with a standard deviation below 0.03.
    assert abs(shares[0].mean() - shares[1].mean()) < 4 * 0.03 / np.sqrt(20)


@pytest.mark.parametrize("name", NAMES)
def test_reading_and_writing_gives_the_same_file(tmp_path: Path, name: str) -> None:
    write_csv(tmp_path / name, read_csv(FOLDER / name))
    assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_the_mirror_holds_the_published_mazes(tmp_path: Path, name: str) -> None:
    # The published files name no source, and rate by the cells of the path instead of its steps.
    published = (
        replace(maze, source="", rating=num_steps(maze.answer) + 1) for maze in read_csv(FOLDER / name)
    )
    write_csv(tmp_path / name, published)
    digest = hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
    assert digest == MAZE_HARD.sha256[name]
