"""Slow, obvious answers about puzzles, and puzzles to ask about, for tests of any room."""

from itertools import islice
from typing import NamedTuple

import numpy as np
from jaxtyping import UInt8

from serrm.arrays.arc_index import TaskTypes
from serrm.puzzles.maze.generate import Walls, iterate_mazes
from serrm.puzzles.maze.parse import MazePuzzle
from serrm.puzzles.sudoku import cpsat
from serrm.puzzles.sudoku.grid import Box


def count_solutions(grid: UInt8[np.ndarray, " I"], box: Box, limit: int = 2) -> int:
    """Solutions of a Sudoku according to CP-SAT, or `limit` if there are at least as many."""
    return sum(1 for _ in islice(cpsat.iterate_solutions(grid, box), limit))


def generate_mazes(
    side: int, num: int, rng: np.random.Generator, min_path: int, walls: Walls = "scattered"
) -> list[MazePuzzle]:
    """The first `num` mazes that are made."""
    return list(islice(iterate_mazes(side, rng, min_path, walls), num))


class TaskType(NamedTuple):
    """What a row of the task-type table stands for."""

    puzzle: str
    transform: int
    permutation: UInt8[np.ndarray, "10"]


def describe(types: TaskTypes, row: int) -> TaskType:
    """The puzzle and variant of a row."""
    puzzle, slot = divmod(row, len(types.variants))
    change = np.asarray(types.index[puzzle, types.variants[slot]])
    return TaskType(types.puzzles[puzzle], int(change[0]), change[1:])
