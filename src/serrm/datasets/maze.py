"""Raw maze files become puzzle sets: one typed Parquet file a set, one row a maze, and an audit of both.

This is the work of the `augment` stage for mazes: a seeded subset of each raw file, every label checked to be a
shortest path, no test maze among the training mazes. (Dihedral images are made when a batch is gathered.)
Paper: section "Maze", data: 1,000 + 1,000 mazes of 30×30.
"""

import logging
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np

from serrm.datasets.parquet import TRAIN, draw, refuse_leaks, set_file, write_set
from serrm.datasets.settings import SubsetSettings
from serrm.files import write_json
from serrm.manifest import check_manifest, new_directory, only_folder
from serrm.progress import watch
from serrm.puzzles.dihedral import NUM_TRANSFORMS, cell_order
from serrm.puzzles.maze.grid import format_maze
from serrm.puzzles.maze.parse import MazePuzzle, read_csv
from serrm.puzzles.maze.paths import (
    are_valid_paths,
    has_unique_shortest_path,
    num_steps,
    shortest_length,
)
from serrm.randomness import Purpose, keyed_rng
from serrm.sources.maze_layout import FOLDERS, TEST_MAZES, TRAIN_MAZES

logger = logging.getLogger(__name__)

TEST = "test"
AUDIT = "audit.json"
# A maze and its number: its row in the raw file from 0.
Numbered = tuple[int, MazePuzzle]


def write_maze_sets(raw: Path, target: Path, settings: SubsetSettings) -> None:
    """Write train.parquet, test_<side>x<side>.parquet and audit.json of a raw directory to `target`.

    The audit counts mazes, those with only one shortest path, and test mazes that are a dihedral image of a training
    maze. A subset depends on the seed and on its raw file alone.

    Raises:
        ValueError: the raw files are not those of the manifest, a row is malformed or has another side, a label is
            no shortest path, a test maze also is a training maze, or there are fewer mazes than asked for. Nothing
            is left behind.
    """
    check_manifest(raw)
    folder = only_folder(raw, FOLDERS)
    wanted = {TRAIN: (TRAIN_MAZES, settings.num_train), TEST: (TEST_MAZES, settings.num_test)}
    drawn: dict[str, list[Numbered]] = {}
    with new_directory(target) as directory:
        for stream, (name, (file, num)) in enumerate(wanted.items()):
            mazes = enumerate(watch(read_csv(folder / file), f"{name} mazes"))
            drawn[name] = list(draw(mazes, num, keyed_rng(settings.seed, Purpose.SUBSET, stream), name))
        side = next((maze.side for _, maze in drawn[TRAIN]), 1)  # a set without mazes is refused
        paths = {TRAIN: directory / set_file(TRAIN), TEST: directory / set_file(f"{side}x{side}")}
        for name, path in paths.items():
            write_maze_set(path, drawn[name], side, name)
        refuse_leaks(paths[TRAIN], paths[TEST], format_maze)
        audit = audit_sets(drawn, side)
        write_json(directory / AUDIT, audit)
    logger.info("%s: %s", target, audit)


def write_maze_set(path: Path, mazes: list[Numbered], side: int, name: str) -> None:
    """Check mazes of one side and write them as Parquet; the rating is the steps, where publishers count otherwise."""
    import pyarrow as pa

    def facts(maze: MazePuzzle) -> dict[str, int | None]:
        return {"rating": num_steps(maze.answer)}

    columns = [pa.field("rating", pa.int32(), nullable=False)]
    write_set(path, mazes, side, name, partial(check_labels, name), columns, facts)


def check_labels(name: str, rows: list[Numbered]) -> None:
    """`ValueError` for the first maze whose label is no valid path, or longer than necessary."""
    questions = np.stack([maze.question for _, maze in rows])
    answers = np.stack([maze.answer for _, maze in rows])
    for (number, maze), is_valid in zip(rows, are_valid_paths(questions, answers), strict=True):
        if not is_valid:
            raise ValueError(f"{name}: the answer of maze {number} is no path: {format_maze(maze.answer)}")
        if (least := shortest_length(maze.question)) != (num := num_steps(maze.answer)):
            raise ValueError(f"{name}: the answer of maze {number} takes {num} steps, the shortest {least}")


def audit_sets(drawn: Mapping[str, list[Numbered]], side: int) -> dict[str, int | dict[str, int]]:
    """What the audit says of the mazes of both sets."""
    questions = {name: [maze.question for _, maze in mazes] for name, mazes in drawn.items()}
    known = {question.tobytes() for question in questions[TRAIN]}
    orders = [cell_order(side, side, transform) for transform in range(1, NUM_TRANSFORMS)]
    are_images = [any(maze[order].tobytes() in known for order in orders) for maze in questions[TEST]]
    return {
        "num_mazes": {name: len(mazes) for name, mazes in questions.items()},
        "num_with_one_shortest_path": {
            name: sum(map(has_unique_shortest_path, mazes)) for name, mazes in questions.items()
        },
        "num_dihedral_images": sum(are_images),
    }
