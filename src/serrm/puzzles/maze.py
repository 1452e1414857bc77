"""Mazes on a square grid: tokens and text, paths and their validity, the publisher's table.

A grid is a flat uint8 array of I = side² tokens, row by row: 1 wall, 2 space, 3 start, 4 goal, and in an answer 5
for the cells of the path between start and goal; 0 is padding and never stands in a maze. Files are CSV with the
columns source, question, answer, rating. The published ratings of Maze-Hard count the cells of the shortest path with
start and goal (110 and more), those written here its steps.

All 2,000 mazes of Maze-Hard have more than one shortest path, but their labels follow one rule: from the start on, of
the steps that lead nearer to the goal, take the first of down, left, right, up. `shortest_path` follows it too. Paths
are searched breadth first on bit boards: a set of cells is one integer, and all of a wave moves at once. A row takes
side + 1 bits, the last always 0, so that a shift by 1 never leads from one row to the next; a search of a 30×30 maze
takes a tenth of a millisecond. Paper: section "Maze".
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from jaxtyping import Bool, UInt8

from serrm.puzzles.raw import CSV_COLUMNS, parse_rating, read_table, shorten, write_table

WALL: Final = 1
SPACE: Final = 2
START: Final = 3
GOAL: Final = 4
PATH: Final = 5

CHARACTERS = "# SGo"
"""How the tokens 1…5 are written."""

# 0, no token of a maze, for every character that is none.
_TOKEN_OF_BYTE = bytes(CHARACTERS.find(character) + 1 for character in map(chr, range(256)))


def parse_maze(text: str) -> UInt8[np.ndarray, " I"]:
    """The tokens of a maze of I = side² characters, question or answer.

    ValueError with the offending part: a character that is none of `# SGo`, or a number of them that makes no grid.
    """
    tokens = np.frombuffer(
        bytearray(text.encode("latin-1", "replace").translate(_TOKEN_OF_BYTE)), dtype=np.uint8
    )
    if (wrong := np.flatnonzero(tokens == 0)).size:
        position = int(wrong[0])
        raise ValueError(f"{text[position]!r} at position {position + 1} is none of {CHARACTERS!r}")
    if not text or math.isqrt(len(tokens)) ** 2 != len(tokens):
        raise ValueError(f"{len(tokens)} characters make no square maze: {shorten(text)}")
    return tokens


def format_maze(tokens: UInt8[np.ndarray, " I"]) -> str:
    """The I characters of a maze. ValueError for a token that has none."""
    if (wrong := tokens[(tokens < WALL) | (tokens > PATH)]).size:
        raise ValueError(f"no character for the token {wrong[0]} in a maze")
    return "".join(CHARACTERS[token - 1] for token in tokens.tolist())


def side_of(mazes: UInt8[np.ndarray, "*N I"]) -> int:
    """The side of a maze, or of the mazes of a batch. ValueError if the cells make no square."""
    num_cells = mazes.shape[-1]
    side = math.isqrt(num_cells)
    if num_cells == 0 or side**2 != num_cells:
        raise ValueError(f"{num_cells} cells make no square maze")
    return side


def check_questions(questions: UInt8[np.ndarray, "N I"]) -> None:
    """ValueError for the first that is no square of walls and spaces with one start and one goal."""
    side_of(questions)
    num_starts, num_goals = (questions == START).sum(axis=1), (questions == GOAL).sum(axis=1)
    is_known = ((questions >= WALL) & (questions <= GOAL)).all(axis=1)
    wrong = np.flatnonzero((num_starts != 1) | (num_goals != 1) | ~is_known)
    if wrong.size:
        first = int(wrong[0])
        found = f"{num_starts[first]} starts, {num_goals[first]} goals, tokens {np.unique(questions[first])}"
        raise ValueError(f"maze {first} needs one start and one goal among walls and spaces, has {found}")


@dataclass(frozen=True, eq=False)
class MazePuzzle:
    """One maze of I = side² tokens and its answer: the question with some spaces marked as path.

    Whether they are a path is asked of `paths`. `source` says where the maze is from, `rating` how long its
    publisher finds the path.
    """

    question: UInt8[np.ndarray, " I"]
    answer: UInt8[np.ndarray, " I"]
    side: int
    source: str = ""
    rating: int | None = None

    def __post_init__(self) -> None:
        """Raise ValueError unless the question is a maze of that side and the answer keeps it."""
        check_questions(self.question[None])
        if side_of(self.question) != self.side:
            raise ValueError(f"{len(self.question)} cells are no {self.side}x{self.side} maze")
        is_marked = (self.question == SPACE) & (self.answer == PATH)
        wrong = np.flatnonzero((self.question != self.answer) & ~is_marked)
        if wrong.size:
            pair = format_maze(self.question[wrong[:1]]), format_maze(self.answer[wrong[:1]])
            raise ValueError(
                f"cell {wrong[0] + 1} is {pair[0]!r} in the question but {pair[1]!r} in the answer"
            )


def read_csv(path: Path | str) -> Iterator[MazePuzzle]:
    """Mazes of a CSV file source,question,answer,rating; an empty rating is None."""
    return read_table(path, CSV_COLUMNS, ",", _build_maze)


def _build_maze(source: str, question: str, answer: str, rating: str) -> MazePuzzle:
    cells, marked = parse_maze(question), parse_maze(answer)
    if len(cells) != len(marked):
        raise ValueError(f"a maze of {len(cells)} cells with an answer of {len(marked)}")
    return MazePuzzle(cells, marked, side_of(cells), source, parse_rating(rating))


def write_csv(path: Path | str, puzzles: Iterable[MazePuzzle]) -> None:
    """Write mazes as source,question,answer,rating. The file appears once whole."""
    write_table(path, CSV_COLUMNS, map(_to_row, puzzles))


def _to_row(puzzle: MazePuzzle) -> list[str | int | None]:
    return [puzzle.source, format_maze(puzzle.question), format_maze(puzzle.answer), puzzle.rating]


# Paths.


def pack(cells: Bool[np.ndarray, " I"], side: int) -> int:
    """The set of the True cells."""
    rows = np.zeros((side, side + 1), dtype=bool)
    rows[:, :side] = cells.reshape(side, side)
    return int.from_bytes(np.packbits(rows, bitorder="little").tobytes(), "little")


def unpack(board: int, side: int) -> Bool[np.ndarray, " I"]:
    """The inverse of `pack`."""
    num_bits = side * (side + 1)
    packed = np.frombuffer(board.to_bytes(-(-num_bits // 8), "little"), dtype=np.uint8)
    rows = np.unpackbits(packed, count=num_bits, bitorder="little").reshape(side, side + 1)
    return rows[:, :side].reshape(-1).astype(bool)


def cell_bit(cell: int, side: int) -> int:
    """The set of one cell, given by its place row by row."""
    row, column = divmod(cell, side)
    return 1 << (row * (side + 1) + column)


def waves(start: int, free: int, side: int) -> Iterator[int]:
    """The free cells at 0, 1, 2, … steps from the nearest cell of `start`, until there are no more."""
    row = side + 1
    wave, rest = start, free & ~start
    while wave:
        yield wave
        wave = (wave << 1 | wave >> 1 | wave << row | wave >> row) & rest
        rest ^= wave


def flooded(start: int, free: int, side: int) -> int:
    """All the free cells that can be reached from `start`, with `start` itself."""
    reached = 0
    for wave in waves(start, free, side):
        reached |= wave
    return reached


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


def judge(
    side: int,
    prediction: UInt8[np.ndarray, " I"],
    question: UInt8[np.ndarray, " I"],
    answer: UInt8[np.ndarray, " I"] | None,
) -> str:
    """How good a prediction is; a shortest path may be another than the answer's."""
    if answer is not None and np.array_equal(prediction, answer):
        return "exactly the answer"
    if is_shortest_path(question, prediction):
        return "a shortest path" if answer is None else "another shortest path"
    return "a path, not a shortest one" if is_valid_path(question, prediction) else "no path"
