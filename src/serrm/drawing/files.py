"""Files as scenes to draw, for `serrm show`: puzzles of every task, predictions beside them, an evaluation's examples.

What a file holds is told by its content; a fault is a ValueError of one line that names the file. (The publishers'
formats of the paper's data, and our own examples.json.)
"""

import csv
import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import numpy as np
from pydantic import BaseModel, Field, TypeAdapter

from serrm.drawing.panels import Item, Puzzle, Scene, as_tokens
from serrm.files import read_parsed
from serrm.puzzles.arc import MAX_SIDE, Grid, Rows, encode
from serrm.puzzles.files import MAZE, Question, read_file
from serrm.puzzles.maze import parse_maze
from serrm.puzzles.raw import open_text
from serrm.puzzles.sudoku import BLANK, box_for_side, parse_grid
from serrm.puzzles.sudoku_solver import solve

EXAMPLES: Final = "examples.json"
Token = Annotated[int, Field(strict=True, ge=0, le=255)]
Found = TypeVar("Found")


class Example(BaseModel):
    """A puzzle in examples.json: side² tokens a grid, the predictions by numbers of supervision steps."""

    set: str
    side: int
    name: str
    question: list[Token]
    answer: list[Token]
    predictions: dict[int, list[Token]]
    is_right: bool = False

    def item(self, task: str) -> Item:
        """What is drawn of it. ValueError where a grid is none of the task's."""
        puzzle = Puzzle(task, self.side, as_tokens(self.question), as_tokens(self.answer))
        return Item(puzzle, trace={steps: as_tokens(grid) for steps, grid in self.predictions.items()})


class Examples(BaseModel):
    """An examples.json, as evaluations write it."""

    task: str
    examples: list[Example]


SUBMISSION: Final = TypeAdapter(dict[str, list[dict[str, Rows]]])


def load_examples(path: Path) -> Examples:
    """An examples.json. ValueError, with the file, where it is malformed."""
    return read_parsed(path, Examples.model_validate_json)


def read_examples(path: Path) -> list[Scene]:
    """All scenes of an examples.json, each with a trace. ValueError, with the file, where it is malformed."""
    content, title = load_examples(path), path.parent.name if path.name == EXAMPLES else path.stem
    return [
        Scene(f"{title}: {each.set}, {each.name}", [each.item(content.task)]) for each in content.examples
    ]


def read_scene(
    path: Path,
    number: int = 1,
    name: str | None = None,
    predictions: Path | None = None,
    has_answer: bool = False,
) -> Scene:
    """The puzzle of a file, or of a folder of an evaluation's examples or of Sudokus, by its number or ARC name.

    With a file of predictions, as `serrm solve` or a Kaggle submission has them, for its puzzles. `has_answer`: that of
    a Sudoku is computed if the file has none. ValueError where the content is malformed or something is not there.
    """
    if (path / EXAMPLES).is_file():
        path = path / EXAMPLES
    if _holds_examples(path):
        return _take(path, read_examples(path), number)
    # The tests of an ARC task belong together.
    puzzles = [
        list(each) for _, each in groupby(read_file(path), lambda question: question.name or question.place)
    ]
    if name is not None:
        puzzles, number = [tests for tests in puzzles if tests[0].name == name], 1
        if not puzzles:
            raise ValueError(f"{path}: none of its puzzles is named {name!r}")
    tests = _take(path, puzzles, number)
    if tests[0].name:
        return _arc_scene(path, tests, predictions)
    (question,) = tests
    grids = {}
    if predictions is not None:
        text = _take(predictions, _answers(predictions), number)
        grids["prediction"] = (
            parse_maze(text) if question.task == MAZE else parse_grid(text) + np.uint8(BLANK)
        )
    return Scene(f"{path.name}: puzzle {number}", [Item(_puzzle(question, has_answer), grids)])


def _puzzle(question: Question, has_answer: bool) -> Puzzle:
    """A Sudoku or a maze; the answer of a Sudoku is computed if it is wanted and not there."""
    cells, answer = question.cells.reshape(-1), question.answer
    if question.task == MAZE:
        return Puzzle("maze", question.side, cells, None if answer is None else answer.reshape(-1))
    if has_answer and answer is None:
        answer = solve(cells, box_for_side(question.side))
    return Puzzle(
        "sudoku", question.side, cells + BLANK, None if answer is None else answer.reshape(-1) + BLANK
    )


def _holds_examples(path: Path) -> bool:
    if path.is_dir():
        return False
    with open_text(path) as file:
        text = file.read()
    try:
        return text[:1] == "{" and "examples" in json.loads(text)
    except (ValueError, RecursionError):
        return False  # the reader of puzzles says what is wrong


def _take(path: Path, found: Iterable[Found], number: int) -> Found:
    """Thing `number` of those found in a file, from 1. ValueError if there are fewer."""
    count = 0
    for count, each in enumerate(found, start=1):
        if count == number:
            return each
    raise ValueError(f"{path}: holds {count}, not number {number}")


def _answers(path: Path) -> Iterator[str]:
    """The answers of a file as `serrm solve` writes it: lines, CSV with a column "answer", or JSON lines."""
    with open_text(path) as file:
        has_header = "answer" in file.readline().strip().split(",")
        file.seek(0)
        if has_header:
            yield from (str(row["answer"]) for row in csv.DictReader(file))
            return
        for line in filter(str.strip, file):
            yield (
                str(dict(json.loads(line)).get("answer", ""))
                if line.startswith("{")
                else line.split("\t")[0].strip()
            )


def _arc_scene(path: Path, tests: list[Question], predictions: Path | None) -> Scene:
    """An ARC puzzle with attempts at it."""
    name, attempts = tests[0].name, list[dict[str, Any]]({} for _ in tests)
    if predictions is not None:
        attempts = read_parsed(predictions, SUBMISSION.validate_json).get(name, [])
    if len(tests) != len(attempts):
        raise ValueError(f"{predictions}: not about the {len(tests)} tests of {name}")
    items = [
        Item(
            _arc_puzzle(test.cells, test.answer),
            {
                caption.replace("_", " "): encode(np.array(grid, np.uint8), MAX_SIDE)
                for caption, grid in grids.items()
            },
        )
        for test, grids in zip(tests, attempts, strict=True)
    ]
    title = name if path.stem == name else f"{path.name}: {name}"
    return Scene(title, items, [_arc_puzzle(pair.question, pair.answer) for pair in tests[0].demonstrations])


def _arc_puzzle(question: Grid, answer: Grid | None) -> Puzzle:
    right = None if answer is None else encode(answer, MAX_SIDE)
    return Puzzle("arc_agi_1", MAX_SIDE, encode(question, MAX_SIDE), right)
