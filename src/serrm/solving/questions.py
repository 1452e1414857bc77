"""What a user may ask, as text or as decoded JSON: Sudoku of any size, mazes, and test inputs of ARC tasks.

`puzzle_stream` finds the texts, this module says what each is, and `solve` answers. Nothing here fails: what is no
puzzle becomes an entry that says why. (The paper's tasks, in their published notations.)
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import UInt8

from serrm.puzzles.arc.grid import MAX_SIDE, NUM_COLOURS
from serrm.puzzles.maze.grid import CHARACTERS, GOAL, PATH, START, parse_maze
from serrm.puzzles.sudoku.grid import box_for_side
from serrm.puzzles.sudoku.text import SYMBOLS, parse_grid
from serrm.puzzles.tables import shorten

SUDOKU, MAZE, ARC = "sudoku", "maze", "arc"
KEYS = ("question", "puzzle", "grid")  # what JSON objects call a puzzle
MAX_SUDOKU_SIDE = len(SYMBOLS) - 1
MAX_DEPTH = 2  # of lists around puzzles in JSON


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked: R × C cells, of a Sudoku the values 0…n, of a maze its tokens, of an ARC input the colours.

    `name` is the ARC task's, by which a model knows what it has learned of it.
    """

    task: str
    cells: UInt8[np.ndarray, "_ _"]
    name: str = ""

    @property
    def side(self) -> int:
        """Of its longer edge."""
        return int(max(self.cells.shape))


@dataclass(frozen=True, eq=False)
class Entry:
    """One puzzle of the input and where it stands; `question` is None where it is malformed, and `error` says why."""

    place: str
    text: str
    question: Question | None
    error: str = ""


def entries_of(puzzles: Any, place: str = "puzzle") -> Iterator[Entry]:
    """The puzzles of Python values: texts, arrays `n n` or `B n n`, decoded JSON, or iterables of these."""
    if hasattr(puzzles, "tolist"):  # of NumPy or torch
        puzzles = puzzles.tolist()
    match puzzles:
        case str():
            yield from entries_of_text(puzzles, place)
        case dict() | [[int(), *_], *_]:
            yield from entries_of_value(puzzles, place)
        case Iterable():
            for number, each in enumerate(puzzles, start=1):
                yield from entries_of(each, f"{place} {number}")
        case _:
            yield from entries_of_value(puzzles, place)


def entries_of_text(text: str, place: str, name: str = "") -> Iterator[Entry]:
    """The puzzle that a text is, or those of the JSON it holds; `name` is that of an ARC task without one."""
    if text.lstrip()[:1] not in ("{", "[", '"'):
        yield _entry(place, text, _parse_text)
        return
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", "nested too deeply, or a number too long")
        yield Entry(place, text, None, f"not JSON: {reason}: {shorten(text)}")
        return
    yield from entries_of_value(value, place, name)


def entries_of_value(value: Any, place: str, name: str = "", depth: int = 0) -> Iterator[Entry]:
    """The puzzles of a decoded JSON value: texts, grids, ARC tasks, and lists or named collections of these."""
    match value:
        case str():
            yield _entry(place, value, _parse_text)
        case {"test": [*tests]} if tests:
            for number, test in enumerate(tests, start=1):
                rows = test.get("input") if isinstance(test, dict) else test
                parse = partial(_parse_arc, str(value.get("name", name)))
                yield _entry(f"{place} test {number}", rows, parse)
        case dict() if key := next((key for key in KEYS if isinstance(value.get(key), str | list)), None):
            yield _entry(place, value[key], _parse_grid)
        case dict() if value and all(isinstance(task, dict) and "test" in task for task in value.values()):
            for each, task in value.items():
                yield from entries_of_value(task, f"{place} {each}", each, MAX_DEPTH)
        case [[first, *_], *_] if not isinstance(first, list):
            yield _entry(place, value, _parse_rows)
        case [*values] if values and depth < MAX_DEPTH:
            for number, each in enumerate(values, start=1):
                yield from entries_of_value(each, f"{place} item {number}", name, depth + 1)
        case _:
            text = _shown(value)
            yield Entry(place, text, None, f"no puzzle: {shorten(text)}")


def _entry(place: str, value: Any, parse: Callable[[Any], Question]) -> Entry:
    """What a text or rows are, as their parser says, or why they are no puzzle."""
    try:
        return Entry(place, _shown(value), parse(value))
    except ValueError as error:
        return Entry(place, _shown(value), None, str(error))


def _parse_grid(grid: str | list[Any]) -> Question:
    """A Sudoku or a maze, of text or of rows."""
    return _parse_text(grid) if isinstance(grid, str) else _parse_rows(grid)


def _parse_text(text: str) -> Question:
    """A maze if there is a wall in it, or a start and a goal among spaces; else a Sudoku."""
    if "#" in text or {"S", "G"} <= set(text) <= set(CHARACTERS):
        return _parse_maze(text.replace("\n", ""))
    values = parse_grid("".join(text.split()))
    side = math.isqrt(len(values))
    _check_side(side)
    return Question(SUDOKU, values.reshape(side, side))


def _parse_maze(text: str) -> Question:
    tokens = parse_maze(text)
    num_starts, num_goals, num_path = (int(np.count_nonzero(tokens == t)) for t in (START, GOAL, PATH))
    if (num_starts, num_goals, num_path) != (1, 1, 0):
        found = f"{num_starts} S, {num_goals} G and {num_path} o"
        raise ValueError(f"a maze to be solved has one S, one G and no o, not {found}")
    side = math.isqrt(len(tokens))
    return Question(MAZE, tokens.reshape(side, side))


def _parse_rows(rows: list[Any]) -> Question:
    """A Sudoku of n lists of n numbers, 0 for a blank; rows of text are one text."""
    if rows and all(isinstance(row, str) for row in rows):
        return _parse_text("\n".join(rows))
    side = len(rows)
    _check_side(side)
    box_for_side(side)
    return Question(SUDOKU, _checked(rows, side, most=side))


def _check_side(side: int) -> None:
    if side > MAX_SUDOKU_SIDE:
        raise ValueError(f"a Sudoku has at most {MAX_SUDOKU_SIDE} rows here, not {side}")


def _parse_arc(name: str, rows: Any) -> Question:
    """The test input of an ARC task of that name."""
    is_whole = isinstance(rows, list) and rows and isinstance(rows[0], list) and rows[0]
    if not is_whole or max(len(rows), len(rows[0])) > MAX_SIDE:
        raise ValueError(f"no input of 1 to {MAX_SIDE} rows and columns: {shorten(_shown(rows))}")
    return Question(ARC, _checked(rows, len(rows[0]), most=NUM_COLOURS - 1), name)


def _checked(rows: list[Any], num_columns: int, most: int) -> UInt8[np.ndarray, "_ _"]:
    """The rows as an array, if each is a list of that many whole numbers 0…most."""
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, list) or len(row) != num_columns:
            raise ValueError(f"row {number} is no list of {num_columns} numbers: {shorten(_shown(row))}")
        wrong = [value for value in row if type(value) is not int or not 0 <= value <= most]
        if wrong:
            raise ValueError(f"row {number} holds {shorten(_shown(wrong[0]))}, not a number 0 to {most}")
    return np.array(rows, dtype=np.uint8)


def _shown(value: Any) -> str:
    """A value as the text it may have come from."""
    return value if isinstance(value, str) else json.dumps(value, default=repr)
