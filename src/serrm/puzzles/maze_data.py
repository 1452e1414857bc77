"""Where mazes come from: Maze-Hard, or made here in the same format; and what the audit of two sets counts.

Mazes made here have any side, and a path of a wanted length. Walls leave a tree of passages, so that the way between
two cells is the only one. Rooms stand on the even rows and columns, one cell of wall or passage between neighbours; of
an even side the last row and column are walls. A maze is kept if two of its cells are far enough apart, and one such
pair becomes start and goal. (The mazes of the paper, section "Maze", have many shortest paths.)
"""

from collections.abc import Iterator, Mapping
from itertools import count, islice
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import numpy as np
from jaxtyping import Bool, UInt8
from pydantic import Field, PositiveInt, model_validator

from serrm.manifest import Origin, only_folder
from serrm.progress import watch
from serrm.puzzles.dihedral import NUM_TRANSFORMS, cell_order
from serrm.puzzles.maze import (
    GOAL,
    SPACE,
    START,
    WALL,
    MazePuzzle,
    cell_bit,
    has_unique_shortest_path,
    num_steps,
    pack,
    read_csv,
    shortest_path,
    unpack,
    waves,
    write_csv,
)
from serrm.puzzles.raw import Column, Hub, Mirror, RawSet, SubsetSettings, distinct, hugging_face
from serrm.settings import Settings

FOLDER_HARD: Final = "maze-30x30-hard-1k"
FOLDER_GENERATED: Final = "maze-generated"
PUBLISHED = hugging_face(
    "sapientinc/maze-30x30-hard-1k",
    "549754de3d67eebe57b6b22c7d226b9412d55b07",
    FOLDER_HARD,
    {
        "train.csv": "25f9e39b5aee16967da41ba63b2d1d75cf608c2360d8a1419d827f9859dbafa0",
        "test.csv": "5120d52088fb3f8036e62e90103808a79ba58847d8601f9451f40991b0903a62",
    },
)
MAX_ATTEMPTS = 10_000
"""Trees to try for one maze, and mazes met again in a row, before giving up."""


class GeneratedMaze(Settings):
    """Mazes made here, seeded, of any side, in which every path is the only one."""

    kind: Literal["generated"]
    # Mazes of train.csv and of test.csv, none the same as another or a dihedral image of it.
    num_train: PositiveInt
    num_test: PositiveInt
    side: int = Field(ge=3, le=255)
    # Least number of cells on the path, start and goal included: one more than its steps. Maze-Hard has 110.
    min_path: int = Field(ge=2)

    @model_validator(mode="after")
    def _check_path(self) -> "GeneratedMaze":
        # Rooms stand on every other row and column, a cell of passage between two of them.
        if self.min_path > 2 * ((self.side + 1) // 2) ** 2 - 1:
            raise ValueError(f"min_path: a {self.side}x{self.side} maze has no path of {self.min_path} cells")
        return self


MazeSource = Annotated[GeneratedMaze | Mirror | Hub, Field(discriminator="kind")]


def mirrored(source: Mirror) -> list[str]:
    """The published files below a mirror's root."""
    return [file.name for file in PUBLISHED]


def make(source: Any, directory: Path, seed: int) -> dict[str, Origin]:
    """Write the mazes that are made here, both files in one run: no test maze is an image of a training maze."""
    if not isinstance(source, GeneratedMaze):
        return {}
    num = source.num_train + source.num_test
    rng = np.random.default_rng([seed, source.side])
    mazes = islice(iterate_mazes(source.side, rng, source.min_path), num)
    made = watch(mazes, f"making {source.side}x{source.side} mazes", num)
    names = [f"{FOLDER_GENERATED}/train.csv", f"{FOLDER_GENERATED}/test.csv"]
    write_csv(directory / names[0], islice(made, source.num_train))
    write_csv(directory / names[1], made)
    return dict.fromkeys(names, Origin("generated"))


def raw_sets(raw: Path, settings: SubsetSettings) -> dict[str, RawSet]:
    """The training set and the test set of a raw directory."""
    folder = only_folder(raw, (FOLDER_HARD, FOLDER_GENERATED))
    train, test = (folder / name for name in ("train.csv", "test.csv"))
    side = next((maze.side for maze in read_csv(train)), 1)  # a set without mazes is refused
    return {
        "train": RawSet(side, settings.num_train, 0, enumerate(read_csv(train))),
        f"{side}x{side}": RawSet(side, settings.num_test, 1, enumerate(read_csv(test))),
    }


# Publishers count cells or steps; the rating of a set is the steps.
COLUMNS = {"rating": Column("int32", False, lambda maze: num_steps(maze.answer))}


def audit(train: UInt8[np.ndarray, "N I"], test: UInt8[np.ndarray, "M I"], side: int) -> dict[str, Any]:
    """How many mazes there are, with only one shortest path, and test mazes that are images of training mazes."""
    known = {maze.tobytes() for maze in train}
    orders = [cell_order(side, side, transform) for transform in range(1, NUM_TRANSFORMS)]
    sets = {"train": train, "test": test}
    return {
        "num_mazes": {name: len(mazes) for name, mazes in sets.items()},
        "num_with_one_shortest_path": {
            name: sum(map(has_unique_shortest_path, mazes)) for name, mazes in sets.items()
        },
        "num_dihedral_images": sum(any(maze[order].tobytes() in known for order in orders) for maze in test),
    }


def iterate_mazes(side: int, rng: np.random.Generator, min_path: int) -> Iterator[MazePuzzle]:
    """Mazes of side × side cells without end, none the same as another or a dihedral image of it.

    Their label is the path, their rating its steps.

    Args:
        min_path: least number of cells on the path, start and goal included.

    Raises:
        ValueError: no maze with so long a path is found, or no new one.
    """
    puzzles = (_generate(side, rng, min_path) for _ in count())
    kind = f"mazes of {side}x{side}, path {min_path}"
    return distinct(puzzles, lambda maze: canonical(maze.question, side), MAX_ATTEMPTS, kind)


def canonical(maze: UInt8[np.ndarray, " I"], side: int) -> bytes:
    """What a maze and its dihedral images have in common: the first of the eight in the order of their tokens."""
    images: list[bytes] = [maze[cell_order(side, side, k)].tobytes() for k in range(NUM_TRANSFORMS)]
    return min(images)


def tree_cells(side: int, rng: np.random.Generator) -> Bool[np.ndarray, " I"]:
    """Which cells are free: rooms and the passages of a random spanning tree (Kruskal's algorithm)."""
    num = (side + 1) // 2
    rooms = np.arange(num**2).reshape(num, num)
    beside, below = (rooms[:, :-1], rooms[:, 1:]), (rooms[:-1], rooms[1:])
    passages = np.concatenate([np.stack(pair, axis=-1).reshape(-1, 2) for pair in (beside, below)])
    is_free = np.zeros((side, side), dtype=bool)
    is_free[::2, ::2] = True
    tree_of = np.arange(num**2)  # the tree that each room belongs to so far
    for first, second in rng.permutation(passages).tolist():
        if tree_of[first] != tree_of[second]:
            tree_of[tree_of == tree_of[first]] = tree_of[second]
            # Twice the mean of two rooms' places: the cell between them.
            is_free[first // num + second // num, first % num + second % num] = True
    cells: Bool[np.ndarray, " I"] = is_free.reshape(-1)
    return cells


def _generate(side: int, rng: np.random.Generator, min_path: int) -> MazePuzzle:
    for _ in range(MAX_ATTEMPTS):
        is_free = tree_cells(side, rng)
        ends = _draw_ends(is_free, side, rng, min_path - 1)
        if ends is not None:
            question = np.where(is_free, SPACE, WALL).astype(np.uint8)
            question[list(ends)] = START, GOAL
            answer = shortest_path(question)
            assert answer is not None
            return MazePuzzle(question, answer, side, "generated", num_steps(answer))
    raise ValueError(f"no {side}x{side} maze with {min_path} cells on its path in {MAX_ATTEMPTS} attempts")


def _draw_ends(
    is_free: Bool[np.ndarray, " I"], side: int, rng: np.random.Generator, min_steps: int
) -> tuple[int, int] | None:
    """Start and goal at least that far apart, uniform among such pairs of free cells; None where there is none."""
    starts, free = np.flatnonzero(is_free), pack(is_free, side)
    goals_of = [
        sum(islice(waves(cell_bit(cell, side), free, side), min_steps, None)) for cell in starts.tolist()
    ]
    num_goals = np.array([goals.bit_count() for goals in goals_of])
    if not num_goals.any():
        return None
    place = rng.choice(len(starts), p=num_goals / num_goals.sum())
    return int(starts[place]), int(rng.choice(np.flatnonzero(unpack(goals_of[place], side))))


def in_words(source: Mapping[str, Any], augment: Mapping[str, Any]) -> str:
    """Where a run's puzzles come from, for the notes beneath tables, of the values in a params file."""
    if source["kind"] != "generated":
        return "Maze-Hard from a local mirror" if source["kind"] == "mirror" else "Maze-Hard"
    side, cells = source["side"], source["min_path"]
    return f"generated {side}×{side} mazes whose walls leave a tree, with at least {cells} cells on the shortest path"
