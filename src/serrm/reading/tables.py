"""Tables with named columns: lines of CSV, and JSON objects, Parquet files and data frames as dicts of fields.

One column has the puzzles and one may have their answers. Words and numbers in other columns are remarks.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final

from serrm.puzzles.text import as_text, shorten
from serrm.reading.grids import grids_of, is_missing
from serrm.reading.lines import PlaceOf, is_comment
from serrm.reading.question import FORMS, Question, is_grid, question_of

QUESTION_NAMES: Final = (
    *("question", "puzzle", "puzzles", "quizzes", "quiz", "grid", "sudoku", "board", "givens", "problem", "maze"),
)  # fmt: skip
ANSWER_NAMES: Final = ("answer", "answers", "solution", "solutions", "solved")
RULE_NAMES: Final = ("type", "variant", "rule", "constraint", "region", "cage", "diagonal")  # also with an s
PLAIN: Final = (
    *("sudoku", "plain", "plain sudoku", "classic", "classic sudoku", "standard", "none", "puzzle", "maze"),
    *("false", "no", "0"),
)  # fmt: skip

Header = tuple[int, str, list[str]]  # the index of the line below, the delimiter and the names


def header_of(lines: Sequence[str]) -> Header | None:
    """Find the header of a table; None without a column of puzzles."""
    index = next((index for index, line in enumerate(lines) if line.strip() and not is_comment(line)), 0)
    for delimiter in ",;\t" if lines else "":
        parts = lines[index].split(delimiter)
        names = [part.strip().strip('"').strip() for part in parts]
        if has_questions(names) and not any(map(is_grid, [*parts, *lines[index].split()])):
            return index + 1, delimiter, names
    return None


def has_questions(names: Sequence[str]) -> bool:
    """Return True if a column or key is named as one of puzzles."""
    return any(name.lower() in QUESTION_NAMES for name in names)


def questions_of_csv(header: Header, lines: Sequence[str], place_of: PlaceOf) -> Iterator[Question]:
    """Yield the puzzles of a table's lines, as in RFC 4180. ValueError, with its place, for a line of other fields."""
    start, delimiter, names = header
    rows = csv.reader((f"{line}\n" for line in lines[start:]), delimiter=delimiter, strict=True)
    end, num = start, len({*map(str.lower, names)})
    try:
        for fields in rows:
            place, end = place_of(end), start + rows.line_num
            if not any(fields) or (len(fields) == 1 and is_comment(fields[0])):
                continue
            if len(fields) == num:
                yield from questions_of_row(dict(zip(names, fields, strict=True)), place)
            else:
                reason = f"{len(fields)} fields in a table of {num} different columns"
                raise ValueError(f"{place}: {reason}: {shorten(delimiter.join(fields))}")
    except csv.Error as error:
        raise ValueError(f"{place_of(end)}: {error}") from None


def questions_of_row(row: Mapping[str, Any], place: str) -> Iterator[Question]:
    """Yield the puzzle of a row or object; several if its column of puzzles is a list of grids.

    ValueError for further rules, for a grid under another name, and for an object without puzzles.
    """
    questions = [name for name in row if name.lower() in QUESTION_NAMES and not _is_count(row[name])]
    answers = [name for name in row if name.lower() in ANSWER_NAMES]
    if len(questions) > 1 or len(answers) > 1:
        raise ValueError(f"{place}: several columns of puzzles or of answers: {shorten(', '.join(row))}")
    grids = grids_of(row[questions[0]], place) if questions else []
    labels = _answers_in(row[answers[0]], place) if answers else []
    if labels and len(labels) != len(grids) and questions:
        raise ValueError(f"{place}: {len(grids)} puzzles, but {len(labels)} answers")
    for name, value in row.items():
        if name not in (*questions, *answers):
            for item in value if isinstance(value, list) and len(value) == len(grids) else [value]:
                _check_remark(name, item, place)
    if not questions:
        raise ValueError(f"{place}: no column of puzzles, such as question: {shorten(as_text(row))}; {FORMS}")
    for number, (grid, label) in enumerate(zip_longest(grids, labels), start=1):
        yield question_of(grid or "", place if len(grids) == 1 else f"{place} {number}", label)


def _answers_in(value: Any, place: str) -> Sequence[str | None]:
    """Return the answers in a column, with None for missing ones; empty without any."""
    items = value if isinstance(value, list) else [value]
    if all(map(is_missing, items)):
        return []
    if any(map(is_missing, items)) and max(len(str(item)) for item in items) > 9:
        return [None if is_missing(item) else grids_of(item, place)[0] for item in items]
    return grids_of(value, place)


def _is_count(value: Any) -> bool:
    """Return True for a number such as that of the clues, which some publishers call givens."""
    return isinstance(value, int) and 0 <= value < 10_000  # no puzzle has so few digits


def _check_remark(name: str, value: Any, place: str) -> None:
    """Raise ValueError for a value that changes the rules, or that may be a puzzle or an answer."""
    is_rule = name.lower().removesuffix("s") in RULE_NAMES
    if not is_missing(value) and is_rule and str(value).strip().lower() not in PLAIN:
        raise ValueError(f"{place}: {name}: only plain Sudoku is solved, not {shorten(as_text(value))}")
    if isinstance(value, list | dict) or (isinstance(value, str) and is_grid(value)):
        raise ValueError(f"{place}: {name}: grids in neither question nor answer: {shorten(as_text(value))}")
