"""The rules of mazes: tokens, paths, which answers mark one.

A grid is a flat uint8 array of I = side² tokens, row by row: 1 wall, 2 space, 3 start, 4 goal, and in an answer 5
for the cells of the path between start and goal; 0 is padding and never occurs in a maze.

All 2,000 mazes of Maze-Hard have more than one shortest path, but their labels follow one rule: among the steps that
lead nearer to the goal, take the first of down, left, right, up. `shortest_path` follows it, too. Paths are searched
breadth first on bit boards: a set of cells is one integer, and a whole wave moves at once. A row takes side + 1 bits;
the last one is always 0, so a shift by 1 never leads from one row to the next. A search of a 30×30 maze takes a tenth
of a millisecond.
"""

import math
from collections.abc import Iterator
from typing import Final

import numpy as np
from jaxtyping import Bool, UInt8

from serrm.puzzles.raw import Grids, Tokens

WALL: Final = 1
SPACE: Final = 2
START: Final = 3
GOAL: Final = 4
PATH: Final = 5


def side_of(mazes: UInt8[np.ndarray, "*N I"]) -> int:
    """Return the side of a maze, or of the mazes of a batch. ValueError if the cells form no square."""
    num_cells = mazes.shape[-1]
    side = math.isqrt(num_cells)
    if num_cells == 0 or side**2 != num_cells:
        raise ValueError(f"{num_cells} cells are not a square maze")
    return side


def check_questions(questions: Grids) -> None:
    """Raise ValueError for the first question that is not a square of walls and spaces with one start and one goal."""
    side_of(questions)
    num_starts, num_goals = (questions == START).sum(axis=1), (questions == GOAL).sum(axis=1)
    is_known = ((questions >= WALL) & (questions <= GOAL)).all(axis=1)
    wrong = np.flatnonzero((num_starts != 1) | (num_goals != 1) | ~is_known)
    if wrong.size:
        first = int(wrong[0])
        tokens = f"{num_starts[first]} starts, {num_goals[first]} goals, tokens {np.unique(questions[first])}"
        raise ValueError(f"maze {first} needs one start and one goal among walls and spaces, has {tokens}")


# Paths.


def pack(cells: Bool[np.ndarray, " I"], side: int) -> int:
    """Return the bit board of the True cells."""
    rows = np.zeros((side, side + 1), dtype=bool)
    rows[:, :side] = cells.reshape(side, side)
    return int.from_bytes(np.packbits(rows, bitorder="little").tobytes(), "little")


def unpack(board: int, side: int) -> Bool[np.ndarray, " I"]:
    """Return the cells of a bit board, the inverse of `pack`."""
    num_bits = side * (side + 1)
    packed = np.frombuffer(board.to_bytes(-(-num_bits // 8), "little"), dtype=np.uint8)
    rows = np.unpackbits(packed, count=num_bits, bitorder="little").reshape(side, side + 1)
    return rows[:, :side].reshape(-1).astype(bool)


def waves(start: int, free: int, side: int) -> Iterator[int]:
    """Yield the bit boards of the free cells at 0, 1, 2, … steps from the nearest cell of `start`."""
    row = side + 1
    wave, rest = start, free & ~start
    while wave:
        yield wave
        wave = (wave << 1 | wave >> 1 | wave << row | wave >> row) & rest
        rest ^= wave


def shortest_path(question: Tokens) -> Tokens | None:
    """Return the question with a shortest path marked, chosen as in Maze-Hard's labels; None if there is no path."""
    levels = _waves_from_goal(question)
    if levels is None:
        return None
    row = side_of(question) + 1
    path, cell = 0, levels[-1]
    for level in reversed(levels[1:-1]):
        # Down, left, right, up, the order of the labels.
        cell = next(step for step in (cell << row, cell >> 1, cell << 1, cell >> row) if step & level)
        path |= cell
    answer = question.copy()
    answer[unpack(path, row - 1)] = PATH
    return answer


def has_unique_shortest_path(maze: Tokens) -> bool:
    """Return True for exactly one shortest path; False if there is no path."""
    levels = _waves_from_goal(maze)
    if levels is None:
        return False
    from_start = waves(levels[-1], pack(maze != WALL, side_of(maze)), side_of(maze))
    # The candidates for a step are the cells at the right distance from both ends.
    candidates = (one & other for one, other in zip(from_start, reversed(levels), strict=False))
    return all(cells.bit_count() == 1 for cells in candidates)


def are_valid_paths(questions: Grids, answers: Grids) -> Bool[np.ndarray, " N"]:
    """Return True for answers that mark exactly one simple path from the start to the goal, and change nothing else.

    A path that touches itself is invalid, because its cells do not determine the order of its steps.
    """
    check_questions(questions)
    side = side_of(questions)
    is_kept = (answers == questions) | ((questions == SPACE) & (answers == PATH))
    is_valid: Bool[np.ndarray, " N"] = is_kept.all(axis=1)
    for index in np.flatnonzero(is_valid):
        start, goal, marked = (
            pack(cells, side)
            for cells in (answers[index] == START, answers[index] == GOAL, answers[index] >= START)
        )
        steps = list(waves(start, marked, side))
        # One cell at every distance from the start, the goal last, nothing left over.
        is_line = all(wave.bit_count() == 1 for wave in steps)
        is_valid[index] = is_line and steps[-1] == goal and sum(steps) == marked
    return is_valid


def are_shortest_paths(questions: Grids, answers: Grids) -> Bool[np.ndarray, " N"]:
    """Return True for answers that are valid paths of the least length."""
    is_shortest = are_valid_paths(questions, answers)
    for index in np.flatnonzero(is_shortest):
        levels = _waves_from_goal(questions[index])
        is_shortest[index] = levels is not None and num_steps(answers[index]) == len(levels) - 1
    return is_shortest


def num_steps(answer: Tokens) -> int:
    """Count the steps of a valid path."""
    return int(np.count_nonzero(answer == PATH)) + 1


def _waves_from_goal(maze: Tokens) -> list[int] | None:
    """List the bit boards of the cells at 0, 1, 2, … steps from the goal; the last has only the start.

    The result is None without a path.
    """
    check_questions(maze[None])
    side = side_of(maze)
    start, goal, free = (pack(cells, side) for cells in (maze == START, maze == GOAL, maze != WALL))
    levels: list[int] = []
    for wave in waves(goal, free, side):
        if wave & start:
            return [*levels, start]
        levels.append(wave)
    return None
