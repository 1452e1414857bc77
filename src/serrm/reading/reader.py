"""The reader of users' puzzles for `serrm solve`, `evaluate`, `show`, `ask`, `demo` and the Python API.

It reads files (`serrm.reading.inputs`), among them the published files of the paper's tasks, standard input, arguments
and Python values. Text that begins with a bracket is decoded as JSON or a Python literal if it can be; other text is
read by lines (`serrm.reading.lines`). Sizes may be mixed. Invalid input is a ValueError of one line that names its
place.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from serrm.puzzles.raw import Puzzle
from serrm.puzzles.tasks import ARC
from serrm.puzzles.text import as_text, shorten
from serrm.reading import arc
from serrm.reading.inputs import ENDINGS, Document, documents, text_of, unpacked
from serrm.reading.kaggle import paired, solutions_beside, with_answers
from serrm.reading.lines import (
    ANSWER_NAMES,
    QUESTION_NAMES,
    decoded,
    grid_of_field,
    questions_of_lines,
    wrapped_grid,
)
from serrm.reading.question import Question, WrittenGrid, is_grid_size, question_of
from serrm.reading.values import as_lists, grids_of

NAMES = ("name", "id", "task_id", "puzzle_id")  # of an ARC puzzle


def read_file(path: Path) -> list[Question]:
    """The puzzles of a file, or of the JSON files of a folder, compressed or not.

    Kaggle's files of ARC challenges get their answers from the files of solutions beside them. ValueError, with file
    and line, for invalid puzzles and for files without a puzzle.
    """
    if path.is_dir():
        files = sorted(file for ending in ("", *ENDINGS) for file in path.glob(f"*.json{ending}"))
        if not files:
            raise ValueError(f"{path}: a folder without JSON files; name a file of another form itself")
    else:
        files = [path, *solutions_beside(path)]
    questions = _read_documents([document for file in files for document in documents(file)])
    if not questions:
        raise ValueError(f"{path}: no puzzle")
    return questions


def _read_documents(documents: Sequence[Document]) -> list[Question]:
    questions = list[Question]()
    for document, solutions in paired(documents):
        puzzles = _read(document)
        questions += puzzles if solutions is None else with_answers(puzzles, solutions)
    return questions


def _read(document: Document) -> Iterable[Question]:
    if isinstance(document.content, str):
        return read_text(document.content, document.name, document.stem)
    return questions_of(document.content, f"{document.name}: puzzle", document.stem)


def read_puzzles(path: Path, task: str) -> list[Puzzle]:
    """The puzzles of a file (see `read_file`), all of one task. ValueError for a puzzle of another task."""
    questions = read_file(path)
    for question in questions:
        if question.task != task:
            raise ValueError(f"{question.place}: not a puzzle of the task {task}: {shorten(question.text)}")
    return [
        Puzzle(question.cells.reshape(-1), None if question.answer is None else question.answer.reshape(-1))
        for question in questions
    ]


def read_arguments(arguments: Iterable[str], standard_input: Callable[[], bytes]) -> list[Question]:
    """The puzzles of command-line arguments: puzzles, files of puzzles, or `-` for standard input."""
    questions: list[Question] = []
    for number, argument in enumerate(arguments, start=1):
        if argument == "-":
            questions += _read_documents(list(unpacked(standard_input(), "standard input", "")))
        else:
            questions += read_argument(argument, f"argument {number}")
    return questions


def read_argument(text: str, place: str = "puzzle") -> list[Question]:
    """The puzzles of the file named `text`, or of the text itself. ValueError if it is neither."""
    return read_file(Path(text)) if _is_file(text) else read_inline(text, place)


# Text.


def read_inline(text: str, place: str, name: str = "") -> list[Question]:
    """The puzzles of a text at one place, such as an argument; it is never taken for the name of a file."""
    try:
        questions = _read_text(text, place, name, is_inline=True)
    except ValueError:
        if is_file_name(text):
            raise ValueError(f"{place}: no file {text}, and not a puzzle") from None
        raise
    if not questions and is_file_name(text):
        raise ValueError(f"{place}: no file {text}, and not a puzzle")
    if not questions:
        raise ValueError(f"{place}: not a puzzle: {shorten(text)}")
    # The place of an ARC question names its test.
    is_alone = len(questions) == 1 and questions[0].task != ARC
    return [replace(questions[0], place=place)] if is_alone else questions


def _is_file(text: str) -> bool:
    try:
        return Path(text).exists() and text.strip() not in ("", ".", "..")
    except (OSError, ValueError):  # a puzzle may be longer than file names can be
        return False


def is_file_name(text: str) -> bool:
    """True for a text that looks like the name of a file: it has an ending, or a folder before it."""
    return re.fullmatch(r"[^\n\"{}\[\]]*(\.[A-Za-z][\w]{0,7}|/[^/\n]+)(\.(gz|bz2|xz|zip))?", text) is not None


def read_text(text: str, source: str, name: str = "") -> list[Question]:
    """The puzzles of a text; places are lines of `source`. An ARC puzzle without a name gets `name`.

    ValueError, with the place, for invalid puzzles.
    """
    return _read_text(text, source, name, is_inline=False)


def _read_text(text: str, source: str, name: str, *, is_inline: bool) -> list[Question]:
    text = text.removeprefix("\ufeff")
    lines = re.split(r"\r\n|\n|\r", text)
    while lines and not lines[-1]:
        lines.pop()
    is_one_line = not any(line.strip() for line in lines[1:])
    code = _literal(text)
    begins_with_bracket = code.lstrip()[:1] in ("{", "[")
    whole = source if is_inline else f"{source}: puzzle"
    if begins_with_bracket and (value := decoded(code)) is not None:
        return list(questions_of(value, whole, name))

    def place_of(number: int) -> str:
        return source if is_inline and is_one_line else f"{source}:{number}"

    def read_json(value: Any, place: str) -> Iterator[Question]:
        return questions_of(value, place, name)

    try:
        return list(questions_of_lines(lines, place_of, read_json))
    except ValueError:
        if (wrapped := wrapped_grid(lines)) is not None:
            number, grid = wrapped
            return [question_of(place_of(number), grid)]
        is_heading = re.match(r"\s*\[[A-Za-z]", code) is not None  # such as [Puzzle]
        # If the first line can be decoded, the text is JSON lines, and a later one is wrong.
        if begins_with_bracket and not is_heading and decoded(lines[0]) is None:
            raise ValueError(f"{whole}: {_flaw_of_json(code)}") from None
        raise


def _literal(text: str) -> str:
    """The lists in a text that is code, such as `board = [[…]]` or `array([[…]])`; other text unchanged."""
    name, call = r"(?:[A-Za-z_]\w*\s*=\s*)?", r"(?:(?:\w+\.)?(?:array|tensor)\()?"
    match = re.fullmatch(rf"\s*{name}{call}(\[.*\])(?:,\s*dtype=[\w.]+)?\)?;?\s*", text, re.DOTALL)
    is_code = match is not None and re.match(r"\s*\[", text) is None
    return match[1] if match is not None and is_code else text


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
    """The puzzles of a value: a text, a path, bytes, an array, a pandas table, decoded JSON, or several of them.

    An ARC puzzle without a name gets `name`. ValueError, with its place, for an invalid puzzle.
    """
    value = as_lists(value)
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
            yield from _of_sequence([as_lists(item) for item in value], place, name)
        case _:
            raise ValueError(f"{place}: not a puzzle: {shorten(as_text(value))}")


def _of_sequence(values: list[Any], place: str, name: str) -> Iterator[Question]:
    """The puzzles of a list: of its cells or rows if they form grids, or else of its items."""
    try:
        grids = grids_of(values)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None
    if grids is not None:
        for number, written in enumerate(grids, start=1):
            yield question_of(place if len(grids) == 1 else f"{place} {number}", written)
    elif not values:
        raise ValueError(f"{place}: not a puzzle: '[]'")
    elif all(isinstance(item, Mapping) and {"input", "output"} <= item.keys() for item in values):
        raise ValueError(f'{place}: a list of pairs without "train" and "test": {arc.FORM}')
    else:
        for number, item in enumerate(values, start=1):
            yield from questions_of(item, f"{place} {number}", name)


def _of_object(value: Mapping[str, Any], place: str, name: str) -> Iterator[Question]:
    """The puzzles of an object: an ARC puzzle, a question with an answer, or an object of named puzzles."""
    keys = {str(key).lower(): key for key in value}
    question = next((keys[key] for key in QUESTION_NAMES if key in keys), None)
    answer = next((value[keys[key]] for key in ANSWER_NAMES if key in keys), None)
    if isinstance(value.get("test"), list | tuple):
        puzzle_name = next((value[key] for key in NAMES if key in value), name)
        yield from arc.arc_questions(value, place, str(puzzle_name))
    elif question is not None and value.get("task") == ARC:
        # A line of `serrm solve --format json`, which has no demonstrations.
        raise ValueError(f"{place}: a question of an ARC puzzle without its demonstrations: {arc.FORM}")
    elif question is not None and (pairs := _question_pairs(value[question], answer, place)):
        for number, (item, solution) in enumerate(pairs, start=1):
            yield _question_of_pair(item, solution, f"{place} {number}")
    elif question is not None:
        yield _question_of_pair(value[question], answer, place)
    elif value.keys() >= {"input", "output"} or (
        "train" in value and not isinstance(value["train"], Mapping)
    ):
        # A pair, or demonstrations without tests; an object "train" is one of named puzzles.
        raise ValueError(
            f"{place}: an object with the keys {shorten(', '.join(map(str, value)))}: {arc.FORM}"
        )
    elif value and all(isinstance(item, Mapping | list | str) for item in value.values()):
        for key, item in value.items():
            yield from questions_of(item, f"{place} {key}", str(key))
    else:
        raise ValueError(f"{place}: not a puzzle: {shorten(as_text(dict(value)))}")


def _question_pairs(questions: Any, answers: Any, place: str) -> list[tuple[Any, Any]]:
    """The (question, answer) pairs of two lists; answers are None without a list of them.

    Empty if `questions` is no list, a single grid, or a list of objects. ValueError for two lists of grids that differ
    in length.
    """
    questions, answers = as_lists(questions), as_lists(answers)
    if not isinstance(questions, list | tuple) or not questions:
        return []
    grids = grids_of([as_lists(item) for item in questions])
    if grids is not None and len(grids) == 1:
        return []
    if any(isinstance(item, Mapping) for item in questions):
        return []
    solutions = answers if isinstance(answers, list | tuple) else [None] * len(questions)
    if len(questions) == len(solutions):
        return list(zip(questions, solutions, strict=True))
    if all(map(_has_grid_size, [*questions, *solutions])):
        num, num_answers = len(questions), len(solutions)
        raise ValueError(f"{place}: {num} in the list of questions, but {num_answers} in the list of answers")
    return []


def _has_grid_size(value: Any) -> bool:
    try:
        return is_grid_size(len(_grid_of(value).symbols))
    except (TypeError, ValueError):
        return False


def _question_of_pair(question: Any, answer: Any, place: str) -> Question:
    """The puzzle of a question and an answer, each a text, rows, or cells; an empty answer counts as none."""
    try:
        written = _grid_of(question)
        solution = None if answer is None or len(answer) == 0 else _grid_of(answer)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{place}: {error}") from None
    return question_of(place, written if solution is None else replace(written, answer=solution.symbols))


def _grid_of(value: Any) -> WrittenGrid:
    """The grid of a value. ValueError unless it has exactly one."""
    value = as_lists(value)
    if isinstance(value, str):
        rows = decoded(value) if value.lstrip()[:1] == "[" else None
        if rows is None:
            lines = value.strip("\r\n").split("\n")
            # Read by lines to join rows and drop rulings. The text keeps the user's signs, which tokens do not.
            questions = read_text(value, "grid") if len(lines) > 1 else []
            if len(questions) > 1:
                raise ValueError(f"{len(questions)} puzzles in one text: {shorten(value)}")
            return grid_of_field(questions[0].text if questions else value)
        value = rows
    grids = grids_of([as_lists(item) for item in value]) if isinstance(value, Iterable) else None
    if grids is None or len(grids) != 1:
        raise ValueError(f"not a grid: {shorten(as_text(value))}")
    return grids[0]
