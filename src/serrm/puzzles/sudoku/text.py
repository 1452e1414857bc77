"""Sudokus as text, and the published files.

A grid has a character a cell: `.` or `0` for a blank, 1…9 and then A…Z for the digits from 10 on. The files are CSV
with the columns source, question, answer, rating (Sudoku-Extreme), tab-separated Puzzle and Solution (4×4), and JSON
(25×25); `puzzles.files` reads those of users. Reading is lazy; a malformed row is a ValueError with file, line and
value.
"""

import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from serrm.files import existing
from serrm.puzzles import raw
from serrm.puzzles.boxes import box_for_side

SYMBOLS = ".123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""Characters of the values 0…35."""
# 255, no digit of any grid, for every other character.
_VALUE_OF_BYTE = bytes(0 if c == "0" else SYMBOLS.find(c) % 256 for c in map(chr, range(256)))


def parse_grid(text: str) -> UInt8[np.ndarray, " I"]:
    """Values 0…n of a grid of I = n² characters.

    ValueError with the offending part: a character that is no digit, a digit above n, or a number of
    characters that makes no grid.
    """
    values = np.frombuffer(
        bytearray(text.encode("latin-1", "replace").translate(_VALUE_OF_BYTE)), dtype=np.uint8
    )
    side = math.isqrt(len(values))
    if side**2 != len(values):
        raise ValueError(f"{len(values)} characters are not a square grid: {raw.shorten(text)}")
    box_for_side(side)
    too_large = np.flatnonzero(values > side)
    if len(too_large):
        position = int(too_large[0])
        raise ValueError(
            f"{text[position]!r} at position {position + 1} is not a digit of a {side}x{side} grid"
        )
    return values


def format_grid(grid: UInt8[np.ndarray, " I"]) -> str:
    """The I characters of a grid, `.` for a blank. ValueError for values that have no character."""
    if grid.size and grid.max() >= len(SYMBOLS):
        raise ValueError(f"no character for the digit {grid.max()}; the largest is {len(SYMBOLS) - 1}")
    return "".join(SYMBOLS[value] for value in grid.tolist())


def checked(puzzle: raw.Puzzle) -> raw.Puzzle:
    """The puzzle. ValueError unless its answer, if there is one, has no blanks and keeps the question's digits."""
    if puzzle.answer is not None:
        is_given = puzzle.question != 0
        wrong = np.flatnonzero((puzzle.answer == 0) | (is_given & (puzzle.question != puzzle.answer)))
        if len(wrong):
            given, answered = puzzle.question[wrong[0]], puzzle.answer[wrong[0]]
            raise ValueError(f"cell {wrong[0] + 1} is {given} in the question but {answered} in the answer")
    return puzzle


def read_csv(path: Path | str) -> Iterator[raw.Puzzle]:
    """Read puzzles from a table of either form in `raw`."""
    return raw.read_puzzles(path, parse_grid, checked)


def read_json(path: Path) -> raw.Puzzle:
    """Read the puzzle of a file {"size", "difficulty", "givens", "type", "grid"}; its source is "difficulty"."""
    try:
        record = json.loads(existing(path).read_text(encoding="utf-8"))
        question = np.array(record["grid"], dtype=np.uint8).reshape(len(record["grid"]) ** 2)
        return raw.Puzzle(question, None, record.get("difficulty", ""))
    except (KeyError, ValueError) as error:
        raise ValueError(f"{path}:1: {error}") from None


def write_csv(path: Path | str, puzzles: Iterable[raw.Puzzle]) -> None:
    """Write puzzles of any side up to 35 as source,question,answer,rating. The file appears once whole."""
    raw.write_puzzles(path, puzzles, format_grid)
