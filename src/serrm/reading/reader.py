"""The one reader of puzzles: of `serrm solve`, `evaluate`, `show`, `ask`, `demo` and the Python API.

Files (`serrm.reading.inputs`), standard input, arguments and Python values all come here. Text that begins with a
bracket is JSON, other text is read by lines (`serrm.reading.lines`). Sizes may be mixed. What is no puzzle is a
ValueError of one line that names its place. (The published files of the paper's tasks among others.)
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

from serrm.core.files import read_parsed
from serrm.puzzles.arc.data import SOLUTIONS
from serrm.puzzles.raw import Puzzle
from serrm.puzzles.tasks import ARC
from serrm.puzzles.text import as_text, shorten
from serrm.reading import arc
from serrm.reading.inputs import Document, documents, text_of, unpacked
from serrm.reading.lines import ANSWERS, QUESTIONS, decoded, field, puzzles_of, wrapped
from serrm.reading.question import Question, Written, question_of
from serrm.reading.values import grids_of, plain

NAMES = ("name", "id", "task_id", "puzzle_id")  # of an ARC task


def read_file(path: Path) -> list[Question]:
    """The puzzles of a file, or of the *.json files of a folder; answers of Kaggle's file beside its challenges too.

    ValueError, naming file and line, for what is no puzzle, and where there is none.
    """
    if path.is_dir():
        found = [question for file in sorted(path.glob("*.json")) for question in read_file(file)]
    else:
        found = [question for document in documents(path) for question in _read(document)]
    if not found:
        raise ValueError(f"{path}: no puzzle")
    solutions = path.with_name(path.name.replace("challenges", "solutions"))
    return found if solutions == path or not solutions.is_file() else _with_answers(found, solutions)


def _read(document: Document) -> Iterable[Question]:
    if isinstance(document.content, str):
        return read_text(document.content, document.name, document.stem)
    return questions_of(document.content, f"{document.name}: puzzle", document.stem)


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
    for name, group in groupby(found, lambda question: question.name):
        tests, grids = list(group), answers.get(name, [])
        if len(tests) != len(grids):
            raise ValueError(f"{solutions}: {len(grids)} answers to the {len(tests)} tests of {name}")
        pairs = zip(tests, grids, strict=True)
        complete += [replace(test, answer=arc.grid_of(rows)) for test, rows in pairs]
    return complete


def read_arguments(arguments: Iterable[str], standard_input: Callable[[], bytes]) -> list[Question]:
    """The puzzles of command-line arguments: each a puzzle itself, a file of puzzles, or `-` for standard input."""
    found: list[Question] = []
    for number, argument in enumerate(arguments, start=1):
        if argument == "-":
            for document in unpacked(standard_input(), "standard input", ""):
                found += _read(document)
        else:
            found += read_argument(argument, f"argument {number}")
    return found


def read_argument(text: str, place: str = "puzzle") -> list[Question]:
    """The puzzles of the file of that name, or of the text itself. ValueError for what is neither."""
    return read_file(Path(text)) if _is_file(text) else read_inline(text, place)


# Text.


def read_inline(text: str, place: str, name: str = "") -> list[Question]:
    """The puzzles of a text that stands at one place, such as an argument. It opens no file."""
    try:
        found = _read_text(text, place, name, is_inline=True)
    except ValueError:
        if is_file_name(text):
            raise ValueError(f"{place}: no file {text}, and not a puzzle") from None
        raise
    if not found and is_file_name(text):
        raise ValueError(f"{place}: no file {text}, and not a puzzle")
    if not found:
        raise ValueError(f"{place}: not a puzzle: {shorten(text)}")
    return [replace(found[0], place=place)] if len(found) == 1 and found[0].task != ARC else found


def _is_file(text: str) -> bool:
    try:
        return Path(text).exists() and text.strip() not in ("", ".", "..")
    except (OSError, ValueError):  # a puzzle may be longer than a name can be
        return False


def is_file_name(text: str) -> bool:
    """True for a text that is like the name of a file: with an ending, or a folder before it."""
    return re.fullmatch(r"[^\n\"{}\[\]]*(\.[A-Za-z][\w]{0,7}|/[^/\n]+)(\.(gz|bz2|xz|zip))?", text) is not None


def read_text(text: str, source: str, name: str = "") -> list[Question]:
    """The puzzles of a text, whose lines are places of `source`; `name` is that of an ARC task without one.

    ValueError with the place for what is no puzzle.
    """
    return _read_text(text, source, name, is_inline=False)


def _read_text(text: str, source: str, name: str, *, is_inline: bool) -> list[Question]:
    lines = re.split(r"\r\n|\n|\r", text.removeprefix("\ufeff"))
    while lines and not lines[-1].strip():
        lines.pop()
    text = _literal(text)
    is_json = text.lstrip()[:1] in ("{", "[")
    whole = source if is_inline else f"{source}: puzzle"
    if is_json and (value := decoded(text)) is not None:
        return list(questions_of(value, whole, name))

    def place(number: int) -> str:
        return source if is_inline and len(lines) == 1 else f"{source}:{number}"

    def read_json(value: Any, place: str) -> Iterator[Question]:
        return questions_of(value, place, name)

    try:
        return list(puzzles_of(lines, place, read_json))
    except ValueError:
        if (found := wrapped(lines)) is not None:
            return [question_of(place(found[0]), found[1])]
        if is_json and re.match(r"\s*\[[A-Za-z]", text) is None and decoded(lines[0]) is None:
            raise ValueError(f"{whole}: {_flaw_of_json(text)}") from None
        raise


def _literal(text: str) -> str:
    """The lists in a text that is code, such as `board = [[…]]` or `array([[…]])`; other text as it is."""
    name, call = r"(?:[A-Za-z_]\w*\s*=\s*)?", r"(?:(?:\w+\.)?(?:array|tensor)\()?"
    found = re.fullmatch(rf"\s*{name}{call}(\[.*\])(?:,\s*dtype=[\w.]+)?\)?;?\s*", text, re.DOTALL)
    is_code = found is not None and re.match(r"\s*\[", text) is None
    return found[1] if found is not None and is_code else text


def _flaw_of_json(text: str) -> str:
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return f"not JSON in line {error.lineno}: {error.msg}"
    except (ValueError, RecursionError):
        pass
    return "not JSON: nested too deeply, or a number too long"


# Values.


def questions_of(value: Any, place: str = "puzzle", name: str = "") -> Iterator[Question]:
    """The puzzles of a value: a text, a path, bytes, an array, a table of pandas, decoded JSON, or several of them.

    `name` is that of an ARC task without one. ValueError with its place for what is no puzzle.
    """
    value = plain(value, QUESTIONS)
    match value:
        case Path():
            yield from read_file(value)
        case bytes() | bytearray():
            yield from read_inline(text_of(bytes(value), place), place, name)
        case str():
            yield from read_inline(value, place, name)
        case Mapping():
            yield from _of_object(value, place, name)
        case Iterable():
            yield from _of_sequence([plain(each, QUESTIONS) for each in value], place, name)
        case _:
            raise ValueError(f"{place}: not a puzzle: {shorten(as_text(value))}")


def _of_sequence(values: list[Any], place: str, name: str) -> Iterator[Question]:
    """The puzzle whose cells or rows the values are, or the puzzles that they are."""
    try:
        grids = grids_of(values)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None
    if grids is not None:
        for number, written in enumerate(grids, start=1):
            yield question_of(place if len(grids) == 1 else f"{place} {number}", written)
    elif not values:
        raise ValueError(f"{place}: not a puzzle: '[]'")
    elif all(isinstance(each, Mapping) and {"input", "output"} <= each.keys() for each in values):
        raise ValueError(f'{place}: a list of pairs without "train" and "test": {arc.FORM}')
    else:
        for number, each in enumerate(values, start=1):
            yield from questions_of(each, f"{place} {number}", name)


def _of_object(value: Mapping[str, Any], place: str, name: str) -> Iterator[Question]:
    """The puzzles of an object: an ARC task, a question with an answer, or an object of named puzzles."""
    keys = {str(key).lower(): key for key in value}
    question = next((keys[key] for key in QUESTIONS if key in keys), None)
    answer = next((value[keys[key]] for key in ANSWERS if key in keys), None)
    if isinstance(value.get("test"), list | tuple):
        given = next((value[key] for key in NAMES if key in value), name)
        yield from arc.arc_questions(value, place, str(given))
    elif question is not None and value.get("task") == ARC:
        raise ValueError(f"{place}: a question of an ARC task without its demonstrations: {arc.FORM}")
    elif question is not None and (several := _several(value[question], answer)):
        for number, (each, solved) in enumerate(several, start=1):
            yield _pair(each, solved, f"{place} {number}")
    elif question is not None:
        yield _pair(value[question], answer, place)
    elif value.keys() >= {"input", "output"} or not isinstance(value.get("train", {}), Mapping):
        raise ValueError(
            f"{place}: an object with the keys {shorten(', '.join(map(str, value)))}: {arc.FORM}"
        )
    elif value and all(isinstance(each, Mapping | list | str) for each in value.values()):
        for key, each in value.items():
            yield from questions_of(each, f"{place} {key}", str(key))
    else:
        raise ValueError(f"{place}: not a puzzle: {shorten(as_text(dict(value)))}")


def _several(questions: Any, answers: Any) -> list[tuple[Any, Any]]:
    """The pairs of a list of questions and one of answers, if there is one as long; none for a single grid."""
    questions, answers = plain(questions, QUESTIONS), plain(answers, QUESTIONS)
    if not isinstance(questions, list | tuple) or not questions:
        return []
    grids = grids_of([plain(each, QUESTIONS) for each in questions])
    if grids is not None and len(grids) == 1:
        return []
    if any(isinstance(each, Mapping) for each in questions):
        return []
    solved = answers if isinstance(answers, list | tuple) else [None] * len(questions)
    return list(zip(questions, solved, strict=True)) if len(solved) == len(questions) else []


def _pair(question: Any, answer: Any, place: str) -> Question:
    """The puzzle of a question and an answer, each a text, rows, or cells; an empty answer is none."""
    try:
        written = _grid_of(question)
        solved = None if answer is None or len(answer) == 0 else _grid_of(answer)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{place}: {error}") from None
    return question_of(place, written if solved is None else replace(written, answer=solved.symbols))


def _grid_of(value: Any) -> Written:
    """The one grid of a value. ValueError for what is none, or several."""
    value = plain(value, QUESTIONS)
    if isinstance(value, str):
        rows = decoded(value) if value.lstrip()[:1] == "[" else None
        if rows is None:
            lines = value.strip("\r\n").split("\n")
            found = read_text(value, "grid") if len(lines) > 1 else []
            return field(found[0].text if len(found) == 1 else value)
        value = rows
    grids = grids_of([plain(each, QUESTIONS) for each in value]) if isinstance(value, Iterable) else None
    if grids is None or len(grids) != 1:
        raise ValueError(f"not a grid: {shorten(as_text(value))}")
    return grids[0]
