"""Puzzles as users have them: files of text, CSV or JSON, standard input, arguments, Python values.

The one reader of `serrm solve`, `evaluate`, `show`, `ask` and the Python API. A line is a puzzle of the task that
recognises it, such as a Sudoku (a character a cell, `.` or `0` for a blank) or a maze (of `# SG`); a first line that
names a column "question" makes the rest a table; what begins with a bracket is JSON. Sizes may be mixed. What is no
puzzle is a ValueError of one line that names its place. (The published files of the paper's tasks among others.)
"""

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from serrm.files import read_parsed
from serrm.puzzles.arc.data import SOLUTIONS, RawPuzzle
from serrm.puzzles.arc.grids import Grid, Pair
from serrm.puzzles.raw import Puzzle, as_text, open_text, shorten
from serrm.puzzles.task import GridTask
from serrm.puzzles.tasks import ARC, TASKS, grid_task

# Names of a question and of its answer in tables and JSON objects.
COLUMNS = ("question", "puzzle", "quizzes", "quiz", "grid"), ("answer", "solution", "solutions")


@dataclass(frozen=True, eq=False)
class Question:
    """A question: R × C cells, of a Sudoku the values 0…n, of a maze its tokens, of an ARC input the colours.

    `text` is the question as it stood at `place`. `name` is the ARC task's, whose demonstrations come along.
    """

    task: str
    cells: Grid
    place: str
    text: str
    answer: Grid | None = None
    name: str = ""
    demonstrations: tuple[Pair, ...] = ()

    @property
    def side(self) -> int:
        """The length of its longer edge."""
        return int(max(self.cells.shape))


def read_file(path: Path) -> list[Question]:
    """The puzzles of a file, or of the *.json files of a folder; answers of Kaggle's file beside its challenges too.

    ValueError, naming file and line, for what is no puzzle, and where there is none.
    """
    if path.is_dir():
        found = [question for file in sorted(path.glob("*.json")) for question in read_file(file)]
    else:
        with open_text(path) as file:
            found = read_text(file.read(), str(path), path.stem)
    if not found:
        raise ValueError(f"{path}: no puzzle")
    solutions = path.with_name(path.name.replace("challenges", "solutions"))
    return found if solutions == path or not solutions.is_file() else _with_answers(found, solutions)


def read_puzzles(path: Path, task: str) -> list[Puzzle]:
    """The puzzles of a file, as `read_file` finds them. ValueError for a puzzle of another task."""
    questions = read_file(path)
    for question in questions:
        if question.task != task:
            raise ValueError(f"{question.place}: not a puzzle of the task {task}: {shorten(question.text)}")
    return [
        Puzzle(each.cells.reshape(-1), None if each.answer is None else each.answer.reshape(-1))
        for each in questions
    ]


def _with_answers(found: Iterable[Question], solutions: Path) -> list[Question]:
    """The tests of ARC tasks with the answers of another file."""
    answers, complete = read_parsed(solutions, SOLUTIONS.validate_json), list[Question]()
    for name, tests in groupby(found, lambda question: question.name):
        own, grids = list(tests), answers.get(name, [])
        if len(own) != len(grids):
            raise ValueError(f"{solutions}: {len(grids)} answers to the {len(own)} tests of {name}")
        complete += [replace(test, answer=_grid(rows)) for test, rows in zip(own, grids, strict=True)]
    return complete


def read_arguments(arguments: Iterable[str], standard_input: Callable[[], str]) -> list[Question]:
    """The puzzles of command-line arguments: each a puzzle itself, a file of puzzles, or `-` for standard input."""
    found: list[Question] = []
    for number, argument in enumerate(arguments, start=1):
        if argument == "-":
            found += read_text(standard_input(), "standard input")
        elif _is_file(argument):
            found += read_file(Path(argument))
        else:
            found += questions_of(argument, f"argument {number}")
    return found


def read_text(text: str, source: str, name: str = "") -> list[Question]:
    """The puzzles of lines, of a table or of JSON; `name` is that of an ARC task without one.

    Lines that begin with # are comments, but for mazes.
    """
    if text.lstrip()[:1] in ("{", "["):
        return list(questions_of(text, f"{source}: puzzle", name))
    numbered = enumerate((line.rstrip("\r") for line in text.split("\n")), start=1)
    rows = [(f"{source}:{number}", line) for number, line in numbered if line.strip()]
    # Any line is a puzzle of the first task, if of no other.
    rows = [(place, line) for place, line in rows if line[0] != "#" or _task_of(line) != next(iter(TASKS))]
    for delimiter in (",", "\t"):
        names = [name.strip().strip('"').lower() for name in rows[0][1].split(delimiter)] if rows else []
        asked, answered = (next((names.index(key) for key in keys if key in names), None) for keys in COLUMNS)
        if asked is not None:
            return [_row(place, line, delimiter, asked, answered) for place, line in rows[1:]]
    return [_question(place, line) for place, line in rows]


def _row(place: str, line: str, delimiter: str, asked: int, answered: int | None) -> Question:
    """A row of a table, alone: a quote that is not closed takes no row after it along."""
    try:
        cells = next(csv.reader([line], delimiter=delimiter))
    except csv.Error as error:
        raise ValueError(f"{place}: {error}: {shorten(line)}") from None
    if len(cells) <= max(asked, answered or 0):
        raise ValueError(f"{place}: {len(cells)} columns are too few: {shorten(line)}")
    return _question(place, cells[asked], None if answered is None else cells[answered] or None)


def questions_of(value: Any, place: str = "puzzle", name: str = "") -> Iterator[Question]:
    """The puzzles of a Python value: a text (also of JSON), an array `n n` or `B n n`, decoded JSON, or several.

    Decoded JSON is a grid as rows of numbers, an object with a "question", one or more ARC tasks, or a list of these.
    """
    if hasattr(value, "tolist"):  # of NumPy or torch
        value = value.tolist()
    match value:
        case str() if value.lstrip()[:1] in ("{", "["):
            yield from questions_of(_decoded(value, place), place, name)
        case str() | [[int(), *_], *_]:
            yield _question(place, value)
        case {"test": [_, *_]}:
            yield from _arc_questions(value, place, str(value.get("name", name)))
        case dict() if key := next((key for key in COLUMNS[0] if key in value), None):
            answer = next((value[key] for key in COLUMNS[1] if key in value), None)
            yield _question(place, value[key], answer)
        case dict() if value and all(isinstance(each, dict) for each in value.values()):
            for key, each in value.items():
                yield from questions_of(each, f"{place} {key}", key)
        case Iterable() if not isinstance(value, dict) and value != []:
            for number, each in enumerate(value, start=1):
                yield from questions_of(each, f"{place} {number}", name)
        case _:
            raise ValueError(f"{place}: not a puzzle: {shorten(as_text(value))}")


def _decoded(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{place}: not JSON in line {error.lineno}: {error.msg}") from None
    except (ValueError, RecursionError):
        raise ValueError(f"{place}: not JSON: nested too deeply, or a number too long") from None


def _question(place: str, asked: Any, answer: Any = None) -> Question:
    """A puzzle on a square grid, of text or of rows, with its answer."""
    task = _task_of(asked)
    text = grid_task(task).text
    try:
        cells, answered = text.parse(asked), None if answer is None else text.parse(answer)
        puzzle = text.checked(Puzzle(cells, answered))
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None
    shape = puzzle.side, puzzle.side
    grid = None if answered is None else answered.reshape(shape)
    return Question(task, cells.reshape(shape), place, as_text(asked), grid)


def _task_of(value: Any) -> str:
    """The task of a grid, of text or of rows: the last of those that recognise it."""
    return [
        name for name, record in TASKS.items() if isinstance(record, GridTask) and record.recognises(value)
    ][-1]


def _arc_questions(value: dict[str, Any], place: str, name: str) -> Iterator[Question]:
    """The test inputs of an ARC task."""
    try:
        task = RawPuzzle.model_validate({"train": [], **value})
    except ValidationError as error:
        first = error.errors()[0]
        where, wrong = "/".join(map(str, first["loc"])), shorten(as_text(first["input"]))
        raise ValueError(f"{place}: {where}: {first['msg']}: {wrong}") from None
    pairs = [(_grid(pair.input), pair.output) for pair in task.train]
    demonstrations = tuple(Pair(question, _grid(rows)) for question, rows in pairs if rows is not None)
    for number, test in enumerate(task.test, start=1):
        cells, answer = _grid(test.input), None if test.output is None else _grid(test.output)
        text = json.dumps(test.input)
        yield Question(ARC, cells, f"{place} test {number}", text, answer, name, demonstrations)


def _grid(rows: list[list[int]]) -> Grid:
    return np.array(rows, dtype=np.uint8)


def _is_file(argument: str) -> bool:
    try:
        return Path(argument).exists()
    except OSError:  # a puzzle may be longer than a name can be
        return False
