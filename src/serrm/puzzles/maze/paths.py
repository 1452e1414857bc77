"""Paths through a maze: how long the shortest is, which one is the label, and whether an answer is one.

The generator takes its labels from here, the scores their verdicts. All 2,000 mazes of Maze-Hard have more than one
shortest path, but their labels follow one rule: from the start on, of the steps that lead nearer to the goal, take
the first of down, left, right, up. `shortest_path` follows it too. Paper: section "Maze".
"""

import numpy as np
from jaxtyping import Bool, UInt8

from serrm.puzzles.maze.flood import cell_bit, flooded, pack, unpack, waves
from serrm.puzzles.maze.grid import GOAL, PATH, SPACE, START, WALL, check_questions, side_of


def shortest_length(maze: UInt8[np.ndarray, " I"]) -> int | None:
    """Steps from the start to the goal, one fewer than cells on the way with both; None if there is no way.

    Path cells of an answer are free like spaces. ValueError unless there is one start and one goal.
    """
    levels = _waves_from_goal(maze)
    return None if levels is None else len(levels) - 1


def shortest_path(question: UInt8[np.ndarray, " I"]) -> UInt8[np.ndarray, " I"] | None:
    """The question with a shortest path marked, chosen as in Maze-Hard's labels; None if there is no way."""
    levels = _waves_from_goal(question)
    if levels is None:
        return None
    side = side_of(question)
    way, cell = 0, levels[-1]
    for level in reversed(levels[1:-1]):
        cell = next(step for step in _steps(cell, side) if step & level)
        way |= cell
    answer = question.copy()
    answer[unpack(way, side)] = PATH
    return answer


def has_unique_shortest_path(maze: UInt8[np.ndarray, " I"]) -> bool:
    """Whether there is exactly one shortest path; False if there is no way at all."""
    levels = _waves_from_goal(maze)
    if levels is None:
        return False
    forth = waves(levels[-1], pack(maze != WALL, side_of(maze)), side_of(maze))
    # A step of the way has as many candidates as there are cells right from both ends.
    return all((here & there).bit_count() == 1 for here, there in zip(forth, reversed(levels), strict=False))


def are_valid_paths(
    questions: UInt8[np.ndarray, "N I"], answers: UInt8[np.ndarray, "N I"]
) -> Bool[np.ndarray, " N"]:
    """Which answers mark exactly a simple path from the start to the goal, and change nothing else.

    Walls, start and goal are kept; every path cell has two neighbours among path cells, start and goal, those two
    have one; all hang together. A path that touches itself is none: its cells do not say which way it goes.
    """
    check_questions(questions)
    side = side_of(questions)
    is_kept = (answers == questions) | ((questions == SPACE) & (answers == PATH))
    on_path = (answers >= START).reshape(-1, side, side)
    num_wanted = np.where(answers == PATH, 2, 1).reshape(on_path.shape)
    is_linked = ~on_path | (_num_beside(on_path) == num_wanted)
    is_valid: Bool[np.ndarray, " N"] = is_kept.all(axis=1) & is_linked.all(axis=(1, 2))
    # What is left may still have closed loops apart from the path.
    for index in np.flatnonzero(is_valid):
        is_valid[index] = _hangs_together(answers[index], side)
    return is_valid


def are_shortest_paths(
    questions: UInt8[np.ndarray, "N I"], answers: UInt8[np.ndarray, "N I"]
) -> Bool[np.ndarray, " N"]:
    """Which answers are valid paths, and no path is shorter."""
    is_shortest = are_valid_paths(questions, answers)
    for index in np.flatnonzero(is_shortest):
        is_shortest[index] = num_steps(answers[index]) == shortest_length(questions[index])
    return is_shortest


def is_valid_path(question: UInt8[np.ndarray, " I"], answer: UInt8[np.ndarray, " I"]) -> bool:
    """Whether an answer is a valid path, as in `are_valid_paths`."""
    return bool(are_valid_paths(question[None], answer[None])[0])


def is_shortest_path(question: UInt8[np.ndarray, " I"], answer: UInt8[np.ndarray, " I"]) -> bool:
    """Whether an answer is a valid path, and no path is shorter."""
    return bool(are_shortest_paths(question[None], answer[None])[0])


def num_steps(answer: UInt8[np.ndarray, " I"]) -> int:
    """Steps of a valid path."""
    return int(np.count_nonzero(answer == PATH)) + 1


def _waves_from_goal(maze: UInt8[np.ndarray, " I"]) -> list[int] | None:
    """The cells at 0, 1, 2, … steps from the goal, the last cut down to the start; None if there is no way."""
    check_questions(np.where(maze == PATH, SPACE, maze).astype(np.uint8)[None])
    side = side_of(maze)
    start, goal = (cell_bit(int(np.argmax(maze == token)), side) for token in (START, GOAL))
    levels: list[int] = []
    for wave in waves(goal, pack(maze != WALL, side), side):
        if wave & start:
            return [*levels, start]
        levels.append(wave)
    return None


def _steps(cell: int, side: int) -> tuple[int, int, int, int]:
    """The cells down, left, right and up of a cell, the order of the labels; also bits outside the grid."""
    return cell << (side + 1), cell >> 1, cell << 1, cell >> (side + 1)


def _num_beside(on_path: Bool[np.ndarray, "N R C"]) -> UInt8[np.ndarray, "N R C"]:
    """How many of a cell's neighbours are on the path."""
    padded = np.pad(on_path, ((0, 0), (1, 1), (1, 1))).astype(np.uint8)
    return padded[:, :-2, 1:-1] + padded[:, 2:, 1:-1] + padded[:, 1:-1, :-2] + padded[:, 1:-1, 2:]


def _hangs_together(answer: UInt8[np.ndarray, " I"], side: int) -> bool:
    """Whether all path cells and the goal can be reached from the start on them."""
    marked = pack(answer >= START, side)
    return flooded(cell_bit(int(np.argmax(answer == START)), side), marked, side) == marked
