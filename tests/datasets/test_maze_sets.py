"""Raw mazes to Parquet: what goes in comes out, subsets are seeded, wrong labels and leaks are refused."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from serrm.datasets.maze import write_maze_sets
from serrm.datasets.parquet import read_puzzle_set
from serrm.datasets.settings import SubsetSettings
from serrm.manifest import file_names
from serrm.puzzles.dihedral import cell_order
from serrm.puzzles.maze.grid import PATH, parse_maze
from serrm.puzzles.maze.parse import MazePuzzle, write_csv
from serrm.puzzles.maze.paths import shortest_path
from tests.references import generate_mazes, seal

SIDE, NUM_TRAIN, NUM_TEST = 7, 20, 15
MAZES = generate_mazes(SIDE, NUM_TRAIN + NUM_TEST, np.random.default_rng(0), 8)
TRAIN, TEST = MAZES[:NUM_TRAIN], MAZES[NUM_TRAIN:]


def fill_raw(raw: Path, train: list[MazePuzzle] = TRAIN, test: list[MazePuzzle] = TEST) -> Path:
    """A raw directory of two files in the published format, with its manifest."""
    (raw / "maze-generated").mkdir(parents=True)
    # Publishers count cells or steps: the rating of the sets is not theirs.
    for name, mazes in {"train.csv": train, "test.csv": test}.items():
        write_csv(raw / "maze-generated" / name, (replace(maze, rating=1) for maze in mazes))
    return seal(raw)


def write(raw: Path, target: Path) -> Path:
    write_maze_sets(raw, target, SubsetSettings(num_train=None, num_test=None, seed=0))
    return target


def test_every_set_holds_the_raw_mazes_in_their_order(tmp_path: Path) -> None:
    sets = write(fill_raw(tmp_path / "raw"), tmp_path / "sets")
    assert file_names(sets) == ["audit.json", "test_7x7.parquet", "train.parquet"]
    for name, mazes in {"train.parquet": TRAIN, "test_7x7.parquet": TEST}.items():
        questions, answers = read_puzzle_set(sets / name)
        np.testing.assert_array_equal(questions, np.stack([maze.question for maze in mazes]))
        np.testing.assert_array_equal(answers, np.stack([maze.answer for maze in mazes]))


def image(maze: MazePuzzle, transform: int) -> MazePuzzle:
    order = cell_order(SIDE, SIDE, transform)
    return replace(maze, question=maze.question[order], answer=maze.answer[order])


def test_the_audit_counts_images_and_mazes_with_one_shortest_path(tmp_path: Path) -> None:
    test = [*TEST, image(TRAIN[2], 3), image(TRAIN[2], 6), image(TRAIN[9], 4)]
    # Without walls there are many shortest paths.
    open_maze = parse_maze("S" + " " * (SIDE**2 - 2) + "G")
    label = shortest_path(open_maze)
    assert label is not None
    train = [*TRAIN, MazePuzzle(open_maze, label, SIDE)]
    sets = write(fill_raw(tmp_path / "raw", train, test), tmp_path / "sets")
    assert json.loads((sets / "audit.json").read_text()) == {
        "num_mazes": {"train": len(train), "test": len(test)},
        "num_with_one_shortest_path": {"train": NUM_TRAIN, "test": len(test)},
        "num_dihedral_images": 3,
    }


OPEN = parse_maze("S #  " + "   G " + "     " + "     " + "     ")
LONG = parse_maze("S #  " + "o  G " + "o  o " + "oooo " + "     ")


def with_answer(maze: MazePuzzle, number: int) -> MazePuzzle:
    """The maze with its `number`-th path cell unmarked."""
    answer = maze.answer.copy()
    answer[np.flatnonzero(answer == PATH)[number]] = 2
    return replace(maze, answer=answer)


def other_side() -> MazePuzzle:
    label = shortest_path(OPEN)
    assert label is not None
    return MazePuzzle(OPEN, label, 5)


@pytest.mark.parametrize(
    ("train", "test", "message"),
    [
        (
            [*TRAIN[:3], with_answer(TRAIN[3], 1)],
            TEST,
            "train: the answer of maze 3 is no path: [# SGo]{49}$",
        ),
        (TRAIN, [with_answer(TEST[0], 0)], "test: the answer of maze 0 is no path"),
        (
            [other_side(), MazePuzzle(OPEN, LONG, 5)],
            [replace(other_side(), question=OPEN)],
            "train: the answer of maze 1 takes 8 steps, the shortest 4",
        ),
        (TRAIN, [*TEST[:4], TRAIN[7]], r"row 4 of test_7x7\.parquet is also in train\.parquet: [# SG]{49}$"),
        (TRAIN, [TEST[0], other_side()], "test: puzzle 1 is 5x5, not 7x7"),
        ([], TEST, "train: no puzzles"),
        (TRAIN, [], "test: no puzzles"),
    ],
)
def test_bad_mazes_are_refused_with_one_line_and_nothing_is_left(
    tmp_path: Path, train: list[MazePuzzle], test: list[MazePuzzle], message: str
) -> None:
    raw = fill_raw(tmp_path / "raw", train, test)
    with pytest.raises(ValueError, match=message) as error:
        write(raw, tmp_path / "sets")
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == [raw]
