"""Making mazes of any side whose shortest path has a wanted length, with the labels and the look of Maze-Hard.

The default source of mazes: no download, everything decided by a seed. A maze is kept if two of its cells are far
enough apart, and one such pair becomes start and goal. Walls leave a tree of passages (`serrm.puzzles.maze.tree`) or
are scattered: every cell is a wall with the same probability, itself drawn from 0.3 to 0.5 for each maze. As many
cells are walls then as in Maze-Hard: 0.372 ± 0.029 (mean and standard
deviation of 1,000 mazes of 30×30 with 110 cells and more on the path) against 0.371 ± 0.027 of its training mazes.
Their paths are shorter, 110.5 steps on average and 136 at most against 114.1 and 146, because a maze with many pairs
that far apart counts no more than one with few. Shortest paths are not unique there either; of 1,000 mazes of 10×10
with 12 cells, 157 have only one. Paper: section "Maze", data.
"""

from collections.abc import Callable, Iterator
from itertools import count, islice
from typing import Literal

import numpy as np
from jaxtyping import Bool, UInt8

from serrm.puzzles.dihedral import NUM_TRANSFORMS, cell_order
from serrm.puzzles.distinct import distinct
from serrm.puzzles.maze.flood import flooded, pack, unpack, waves
from serrm.puzzles.maze.grid import GOAL, SPACE, START, WALL
from serrm.puzzles.maze.parse import MazePuzzle
from serrm.puzzles.maze.paths import num_steps, shortest_path
from serrm.puzzles.maze.tree import tree_cells

WALL_SHARES = (0.3, 0.5)
"""The probability of a wall is uniform between these."""
MAX_ATTEMPTS = 100_000
"""Grids of walls to try for one maze, and mazes met again in a row, before giving up."""
Walls = Literal["scattered", "tree"]


def scattered_cells(side: int, rng: np.random.Generator) -> Bool[np.ndarray, " I"]:
    """Which cells of a maze are free, each with the same probability."""
    is_free: Bool[np.ndarray, " I"] = rng.random(side**2) >= rng.uniform(*WALL_SHARES)
    return is_free


FREE_CELLS: dict[str, Callable[[int, np.random.Generator], Bool[np.ndarray, " I"]]] = {
    "scattered": scattered_cells,
    "tree": tree_cells,
}


def iterate_mazes(
    side: int, rng: np.random.Generator, min_path: int, walls: Walls = "scattered"
) -> Iterator[MazePuzzle]:
    """Mazes of side × side cells without end, none the same as another or a dihedral image of it.

    Their label is `shortest_path`'s, their rating its steps.

    Args:
        min_path: least number of cells on the path, start and goal included.
        walls: scattered as in Maze-Hard, or a tree of passages, in which every path is the only one.

    Raises:
        ValueError: no maze with so long a path is found, or no new one.
    """
    puzzles = (_generate(side, rng, min_path, walls) for _ in count())
    kind = f"mazes of {side}x{side}, path {min_path}"
    return distinct(puzzles, lambda maze: canonical(maze.question, side), MAX_ATTEMPTS, kind)


def canonical(maze: UInt8[np.ndarray, " I"], side: int) -> bytes:
    """What a maze and its dihedral images have in common: the first of the eight in the order of their tokens."""
    images: list[bytes] = [maze[cell_order(side, side, k)].tobytes() for k in range(NUM_TRANSFORMS)]
    return min(images)


def _generate(side: int, rng: np.random.Generator, min_path: int, walls: Walls) -> MazePuzzle:
    for _ in range(MAX_ATTEMPTS):
        is_free = FREE_CELLS[walls](side, rng)
        ends = _draw_ends(pack(is_free, side), side, rng, min_path - 1)
        if ends is not None:
            question = np.where(is_free, SPACE, WALL).astype(np.uint8)
            question[list(ends)] = START, GOAL
            answer = shortest_path(question)
            assert answer is not None
            return MazePuzzle(question, answer, side, "generated", num_steps(answer))
    raise ValueError(f"no {side}x{side} maze with {min_path} cells on its path in {MAX_ATTEMPTS} attempts")


def _draw_ends(free: int, side: int, rng: np.random.Generator, min_steps: int) -> tuple[int, int] | None:
    """Start and goal at least that far apart, uniform among such pairs of free cells; None where none is found."""
    goals_of: dict[int, int] = {}
    for region in _regions(free, side, min_steps + 1):
        for start in _outer_cells(region, side, min_steps):
            goals_of[start] = sum(islice(waves(start, region, side), min_steps, None))
    num_goals = np.array([goals.bit_count() for goals in goals_of.values()])
    if not num_goals.any():
        return None
    start = list(goals_of)[rng.choice(len(num_goals), p=num_goals / num_goals.sum())]
    goal = rng.choice(np.flatnonzero(unpack(goals_of[start], side)))
    return int(np.argmax(unpack(start, side))), int(goal)


def _regions(free: int, side: int, min_cells: int) -> Iterator[int]:
    """The sets of free cells that hang together, of that size and more."""
    while free:
        region = flooded(free & -free, free, side)
        free ^= region
        if region.bit_count() >= min_cells:
            yield region


def _outer_cells(region: int, side: int, min_steps: int) -> Iterator[int]:
    """The cells of a region that may have another that far away; none if no such pair is found in two sweeps.

    From any cell, the farthest is an end; between it and the farthest from there lies a middle m. As
    d(a, b) <= d(a, m) + d(m, b), cells near the middle are near to all.
    """
    *_, ends = waves(region & -region, region, side)
    forth = list(waves(ends & -ends, region, side))
    if len(forth) <= min_steps:
        return
    back = list(waves(forth[-1] & -forth[-1], region, side))
    half = len(forth) // 2
    middles = forth[half] & back[len(forth) - 1 - half]
    around = list(waves(middles & -middles, region, side))
    outer = sum(around[max(0, min_steps - len(around) + 1) :])
    while outer:
        yield outer & -outer
        outer &= outer - 1
