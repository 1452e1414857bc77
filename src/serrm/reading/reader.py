"""The reader of users' puzzles for `serrm solve`, `evaluate`, `show`, `ask`, `demo` and the Python API.

It reads files (`serrm.core.archives`), standard input, arguments and Python values. The first lines of a text choose
one of the forms (docs/howto.md): JSON, a table, one puzzle per line, or grids in rows. Sizes may be mixed. Invalid
input is a ValueError of one line that names its place.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from serrm.core.archives import MAX_BYTES, Document, text_of, unpacked
from serrm.puzzles.tasks import ARC
from serrm.puzzles.text import shorten
from serrm.reading import arc
from serrm.reading.grids import MAX_DEPTH, grids_of, plain
from serrm.reading.lines import HEADING, PlaceOf, questions_of_lines
from serrm.reading.question import FORMS, Question, question_of, with_one_blank
from serrm.reading.tables import has_questions, header_of, questions_of_csv, questions_of_row

MAX_LINE = 100_000  # characters of a line that is not JSON
SUBMISSION = "sample_submission"  # of Kaggle, which has no puzzles


def read_file(path: Path) -> list[Question]:
    """Read the puzzles of a file, or of the JSON files of a folder, compressed or not.

    Kaggle's files of ARC challenges get their answers from the files of solutions beside them. ValueError, with file
    and line, for invalid puzzles and for files without a puzzle.
    """
    if not path.exists():
        raise ValueError(f"{path}: no such file")
    stem = path.name.partition(".")[0]
    if path.is_dir():
        files = sorted(path.glob("*.json*"))
    else:
        beside = path.parent.glob(f"{stem.replace('challenges', 'solutions')}.json*")
        files = [path, *(sorted(beside)[:1] if "challenges" in stem else [])]
    if not (questions := _read_documents([document for file in files for document in _documents(file)])):
        raise ValueError(f"{path}: no puzzle, or a folder without JSON files; {FORMS}")
    return questions


def _documents(file: Path) -> Iterator[Document]:
    with file.open("rb") as content:
        yield from unpacked(content.read(MAX_BYTES + 1), PurePosixPath(file))


def _read_documents(documents: Sequence[Document]) -> list[Question]:
    """Read the puzzles of files. Solutions in files of their own complete those of their challenges."""
    solutions = {id(document): arc.solutions_to(document, documents) for document in documents}
    skipped, questions = {*map(id, solutions.values())}, list[Question]()
    for document in documents:
        place, content = str(document.path), document.content
        if id(document) not in skipped and (document.stem != SUBMISSION or len(documents) == 1):
            is_text = isinstance(content, str)
            puzzles = read_text(content, place, document.stem) if is_text else questions_of(content, place)
            questions += arc.with_answers(puzzles, solutions[id(document)])
    return questions


def read_arguments(arguments: Iterable[str], standard_input: Callable[[], bytes]) -> list[Question]:
    """Read the puzzles of command-line arguments: puzzles, files of puzzles, or `-` for standard input."""
    questions, name = list[Question](), PurePosixPath("standard input")
    for number, text in enumerate(arguments, start=1):
        if text == "-":
            questions += _read_documents([*unpacked(standard_input(), name)])
        else:
            questions += read_argument(text, f"argument {number}")
    return questions


def read_argument(text: str, place: str = "puzzle") -> list[Question]:
    """Read the puzzles of the file named `text`, or of the text itself. ValueError if it is neither."""
    try:
        is_file = Path(text).exists() and text.strip() not in ("", ".", "..")
    except (OSError, ValueError):  # a puzzle may be longer than file names can be
        is_file = False
    return read_file(Path(text)) if is_file else read_inline(text, place)


def read_inline(text: str, place: str) -> list[Question]:
    """Read the puzzles of a text at one place, such as an argument; it is never taken for the name of a file."""
    try:
        questions = read_text(text, place, is_inline=True)
    except ValueError:
        if re.fullmatch(r"[^\n\"{}\[\]]*(\.[A-Za-z]\w{0,7}|/[^/\n]+)", text):
            raise ValueError(f"{place}: no file {text}, and not a puzzle") from None
        raise
    # The place of an ARC question names its test.
    is_alone = len(questions) == 1 and questions[0].task != ARC
    return [replace(questions[0], place=place)] if is_alone else questions


def read_text(text: str, source: str, name: str = "", *, is_inline: bool = False) -> list[Question]:
    """Read the puzzles of a text; places are lines of `source`. An ARC puzzle without a name gets `name`.

    ValueError, with the place, for invalid puzzles.
    """
    lines = re.split(r"\r\n|\n|\r", text.removeprefix("\ufeff").rstrip("\r\n"))
    is_one_line = is_inline and not any(map(str.strip, lines[1:]))

    def place_of(index: int) -> str:
        return source if is_one_line else f"{source}:{index + 1}"

    first = next(filter(str.strip, lines), "").strip()
    if first.startswith(("{", "[")) and not HEADING.fullmatch(first):
        questions = _questions_of_json(lines, source if is_inline else f"{source}: puzzle", place_of, name)
    elif too_long := [index for index, line in enumerate(lines) if len(line) > MAX_LINE]:
        raise ValueError(f"{place_of(too_long[0])}: a line of more than {MAX_LINE:,} characters")
    elif header := header_of(lines):
        questions = questions_of_csv(header, lines, place_of)
    else:
        questions = questions_of_lines(lines, place_of)
    if not (puzzles := [*with_one_blank(questions)]):
        raise ValueError(f"{source}: no puzzle: {shorten(text)}; {FORMS}")
    return puzzles


def _questions_of_json(lines: Sequence[str], whole: str, place_of: PlaceOf, name: str) -> Iterator[Question]:
    """Yield the puzzles of a JSON text, or of JSON lines if the first line is a value and others follow it."""
    texts = {place_of(index): line for index, line in enumerate(lines) if line.strip()}
    try:
        json.loads(next(iter(texts.values())))
    except (ValueError, RecursionError):
        texts = {}
    for place, text in (texts if len(texts) > 1 else {whole: "\n".join(lines)}).items():
        try:
            value = json.loads(text, object_pairs_hook=_unique)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{place}: not JSON: {error}: {shorten(text)}") from None
        yield from _questions_of_value(value, place, name)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key occurs twice in an object")
    return dict(pairs)


def questions_of(value: Any, place: str = "puzzle") -> Iterator[Question]:
    """Yield the puzzles of a value: a text, a path, bytes, an array, a data frame, decoded JSON, or several of them.

    ValueError, with its place, for an invalid puzzle.
    """
    if isinstance(value, str | bytes):
        yield from read_inline(value if isinstance(value, str) else text_of(value), place)
    else:
        try:
            yield from _questions_of_value(plain(value), place, "")
        except RecursionError:
            raise ValueError(f"{place}: nested too deeply") from None


def _questions_of_value(value: Any, place: str, name: str, depth: int = 0) -> Iterator[Question]:
    """Yield the puzzles of an object, of a list of objects, or of grids. An ARC puzzle without a name gets `name`."""
    if isinstance(value, Path):
        yield from read_file(value)
    elif isinstance(value, list) and any(isinstance(item, Mapping | Path) for item in value):
        for number, item in enumerate(value, start=1):
            yield from _questions_of_value(item, f"{place} {number}", name, depth + 1)
    elif not isinstance(value, Mapping) or not value or depth > MAX_DEPTH:
        grids = grids_of(value, place)
        for number, grid in enumerate(grids, start=1):
            yield question_of(grid, place if len(grids) == 1 else f"{place} {number}")
    elif isinstance(value.get("test"), list):
        yield from arc.arc_questions(value, place, name)
    elif has_questions([*value]):
        yield from questions_of_row(value, place)
    elif all(isinstance(item, Mapping) for item in value.values()):  # puzzles by name
        for key, item in value.items():
            yield from _questions_of_value(item, f"{place} {key}", key, depth + 1)
    else:
        form = arc.FORM if value.keys() & {"train", "input", "output"} else FORMS
        raise ValueError(f"{place}: an object with the keys {shorten(', '.join(value))}; {form}")
