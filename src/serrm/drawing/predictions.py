"""Files of predictions, to be drawn beside the puzzles they are for.

For `serrm show`: lines, tables or objects as `serrm solve` writes them, for Sudoku and mazes, and Kaggle's
submission.json for ARC. A fault is a ValueError of one line that names the file.
"""

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
from pydantic import TypeAdapter

from serrm.drawing.tasks import Tokens
from serrm.files import read_parsed
from serrm.puzzles.arc.grid import Grid
from serrm.puzzles.arc.read import Rows
from serrm.puzzles.tables import open_text

COLUMNS: Final = {",": "answer", "\t": "Solution"}
"""By what separates the columns of a table, the one with the predictions."""
SUBMISSION: Final = TypeAdapter(dict[str, list[dict[str, Rows]]])

Found = TypeVar("Found")


def read_grid(path: Path, parse: Callable[[str], Tokens], side: int, number: int) -> Tokens:
    """The prediction for puzzle `number`, from 1, of a file of Sudokus or mazes: I = side² tokens.

    Each is a line, whose first column it is, a row of a table with a column "answer" (or "Solution", if tabs
    separate them), or an object on a line with a field "answer".

    Raises:
        ValueError: there are fewer, or it is no grid of that side.
    """
    text = take(path, _texts(path), number, "prediction")
    try:
        tokens = parse(text)
    except ValueError as error:
        raise ValueError(f"{path}: prediction {number}: {error}") from None
    if len(tokens) != side**2:
        raise ValueError(f"{path}: prediction {number} has {len(tokens)} cells, the puzzle {side**2}")
    return tokens


def read_attempts(path: Path, name: str, num_tests: int) -> list[dict[str, Grid]]:
    """For each test of an ARC puzzle the grids of a submission.json by captions, "attempt 1" and so on.

    ValueError where the file is malformed or not about that puzzle.
    """
    attempts = read_parsed(path, SUBMISSION.validate_json).get(name)
    if attempts is None:
        raise ValueError(f"{path}: no attempts at {name}")
    if len(attempts) != num_tests:
        raise ValueError(f"{path}: attempts at {len(attempts)} tests of {name}, which has {num_tests}")
    return [
        {caption.replace("_", " "): np.array(rows, dtype=np.uint8) for caption, rows in test.items()}
        for test in attempts
    ]


def take(path: Path, found: Iterator[Found], number: int, what: str) -> Found:
    """Thing `number` of those found in a file, from 1. ValueError if there are fewer."""
    count = 0
    for count, each in enumerate(found, start=1):
        if count == number:
            return each
    raise ValueError(f"{path}: there is no {what} {number}, the last is {count}")


def _texts(path: Path) -> Iterator[str]:
    with open_text(path) as file:
        first = file.readline().rstrip("\r\n")
        file.seek(0)
        for separator, column in COLUMNS.items():
            if column in first.split(separator):
                yield from (str(row[column]) for row in csv.DictReader(file, delimiter=separator))
                return
        for line in file:
            if text := line.rstrip("\r\n"):
                yield _answer_of(path, text) if text.startswith("{") else text.split("\t")[0]


def _answer_of(path: Path, text: str) -> str:
    try:
        record: Any = json.loads(text)
        return str(record["answer"])
    except (ValueError, KeyError):
        raise ValueError(f'{path}: a line is no object with a field "answer"') from None
