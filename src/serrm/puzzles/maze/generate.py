"""Making mazes of any side whose path has a wanted length, in the format of Maze-Hard.

The default source of mazes: no download, everything decided by a seed. Walls leave a tree of passages, so that the way
between two cells is the only one. Rooms stand on the even rows and columns, one cell of wall or passage between
neighbours; of an even side the last row and column are walls. A maze is kept if two of its cells are far enough apart,
and one such pair becomes start and goal. (The mazes of the paper, section "Maze", have many shortest paths.)
"""

from collections.abc import Iterator
from itertools import count, islice

import numpy as np
from jaxtyping import Bool, UInt8

from serrm.puzzles.dihedral import NUM_TRANSFORMS, cell_order
from serrm.puzzles.distinct import distinct
from serrm.puzzles.maze.flood import cell_bit, pack, unpack, waves
from serrm.puzzles.maze.grid import GOAL, SPACE, START, WALL
from serrm.puzzles.maze.parse import MazePuzzle
from serrm.puzzles.maze.paths import num_steps, shortest_path

MAX_ATTEMPTS = 10_000
"""Trees to try for one maze, and mazes met again in a row, before giving up."""


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
