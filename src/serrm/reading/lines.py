"""Text split into puzzles: lines that are one each, tables, grids over several lines, and what lies between them.

No line is dropped unless it is blank, a comment (`#` and what cannot be a maze), a heading, or a line between boxes.
Any other line that is no puzzle is a ValueError with its place.
"""

import ast
import csv
import json
import logging
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from serrm.puzzles.text import shorten
from serrm.reading.drawings import drawn_records, find_drawing, spoilt, spoilt_rows
from serrm.reading.question import Found, Question, Written, is_puzzle, is_square, question_of
from serrm.reading.rows import find_rows, is_row_of_more
from serrm.reading.symbols import LEAST_ALONE, is_ruling, symbol_lists, whole_puzzle

# Names of a question and of its answer in tables and JSON objects.
QUESTIONS = (
    "question",
    "puzzle",
    "puzzles",
    "quizzes",
    "quiz",
    "grid",
    "sudoku",
    "board",
    "givens",
    "problem",
    "maze",
)
ANSWERS = ("answer", "answers", "solution", "solutions", "solved")
DELIMITERS = (",", ";", "\t", "|")
LONGEST_LITERAL = 1_000_000  # characters of Python's own notation that is tried where JSON fails
log = logging.getLogger(__name__)

Place = Callable[[int], str]  # (number of a line from 1) → the words that name it
Decoded = Callable[[Any, str], Iterator[Question]]  # (value of JSON, place) → its puzzles


def puzzles_of(lines: Sequence[str], place: Place, read_json: Decoded) -> Iterator[Question]:
    """All puzzles of lines. ValueError, with its place, for a line that is neither one nor may be skipped."""
    if (header := _header(lines)) is not None:
        yield from _table(lines, header, place, read_json)
        return
    position, num_found, headings = 0, 0, list[int]()
    while position < len(lines):
        line = lines[position]
        if line.lstrip()[:1] in ("{", "[") and (value := decoded(line)) is not None:
            position += 1
            for question in read_json(value, place(position)):
                num_found += 1
                yield question
            continue
        try:
            found = _find(lines, position)
        except ValueError as error:
            raise ValueError(f"{place(position + 1)}: {error}") from None
        for number, written in found[0]:
            yield question_of(place(number), written)
        num_found += len(found[0])
        if not found[0] and line.strip() and not is_comment(line) and not is_ruling(line):
            headings.append(position)
        position = found[1]
    if headings and not num_found:
        raise ValueError(f"{place(headings[0] + 1)}: no puzzle: {shorten(lines[headings[0]])}")
    if headings:
        log.info(
            "%s: skipped as a heading, as were %d other lines", place(headings[0] + 1), len(headings) - 1
        )


def _find(lines: Sequence[str], position: int) -> Found:
    """The puzzles that begin at a line, none if it may be skipped, and the position after them."""
    line, after = lines[position], position + 1
    if not line.strip():
        return [], after
    if (drawing := find_drawing(lines, position)) is not None:
        return drawing
    if line.startswith("#") and (flaw := spoilt_rows(lines, position)) is not None:
        raise ValueError(flaw)
    written = whole_puzzle(line)
    if written is not None and not is_row_of_more(lines, position, len(written.symbols)):
        return [(after, written)], after
    if is_comment(line):
        return [], after
    try:
        grids = find_rows(lines, position)
    except ValueError:
        if not is_heading(line):
            raise
        grids = None
    if grids is not None:
        return grids
    if is_ruling(line) or is_heading(line):
        return [], after
    raise ValueError(spoilt(line) or _flaw(line))


# Tables.


def _header(lines: Sequence[str]) -> tuple[int, str, int, int | None] | None:
    """The position after a table's header, its delimiter, and the columns of questions and answers.

    None if the first line that is no comment names no column of questions.
    """
    for position, line in enumerate(lines):
        for delimiter in DELIMITERS:
            names = [name.strip().strip("\"'").lower() for name in line.split(delimiter)]
            question, answer = (
                next((names.index(key) for key in keys if key in names), None)
                for keys in (QUESTIONS, ANSWERS)
            )
            if question is not None:
                return position + 1, delimiter, question, answer
        if line.strip() and not is_comment(line):
            break
    return None


def _table(
    lines: Sequence[str], header: tuple[int, str, int, int | None], place: Place, read_json: Decoded
) -> Iterator[Question]:
    """The rows of a table, each alone: a quote that is not closed takes no row after it along."""
    start, delimiter, question, answer = header
    for number, line in enumerate(lines[start:], start=start + 1):
        if not line.strip():
            continue
        try:
            cells = next(csv.reader([line], delimiter=delimiter))
        except csv.Error as error:
            raise ValueError(f"{place(number)}: {error}: {shorten(line)}") from None
        if len(cells) > max(question, answer or 0):
            given = None if answer is None else cells[answer].strip("\t\r\n")
            yield pair(place(number), cells[question], given or None, read_json)
        elif not (is_comment(line) or is_ruling(line)):
            raise ValueError(f"{place(number)}: {len(cells)} columns are too few: {shorten(line)}")


def pair(place: str, question: str, answer: str | None, read_json: Decoded) -> Question:
    """The puzzle of two fields, its question and its answer; either may be JSON."""
    if any(text is not None and text.lstrip()[:1] == "[" for text in (question, answer)):
        values = (None if text is None else decoded(text) or text for text in (question, answer))
        return next(read_json(dict(zip(("question", "answer"), values, strict=True)), place))
    written = field(question)
    return question_of(place, written if answer is None else replace(written, answer=field(answer).symbols))


def field(text: str) -> Written:
    """A field that holds nothing but a grid, however its symbols are separated."""
    plain = text.strip("\t\r\n")
    if any(set(plain) <= set(record.text.characters) for record in drawn_records()):
        return Written(tuple(plain), plain)
    plain = plain.strip()
    if plain.isascii() and is_square(len(plain)) and not set(plain) & set(" \t,;|\n"):
        return Written(tuple(plain), plain)
    whole = " ".join(plain.splitlines())
    symbols = next((each for each in symbol_lists(whole) if is_square(len(each))), tuple(plain))
    return Written(symbols, whole)


# Lines that are no puzzle.


def is_comment(line: str) -> bool:
    """True for a line that begins with # and is no puzzle, not even one with a wrong character."""
    return line.lstrip().startswith("#") and spoilt(line) is None


def is_heading(line: str) -> bool:
    """True for a line of words, none of which is like a grid: "Grid 01", "[Puzzle]", names of columns, markup."""
    text = line.strip()
    if re.fullmatch(r"\[[A-Za-z][\w ]*\]|<[^<>]*>(.*</\w+>)?|(//|%|--|;) .*", text):
        return True
    fields = re.split(r"[\s,;:|=]+", text)
    if len(fields) > 1 and all(re.fullmatch(r"[\"']?[A-Za-z_]{2,}[\"']?", each) for each in fields):
        return True
    is_like_grid = [_is_like_grid(each) for each in fields]
    return re.match(r"[\"'(*_=\-\s]*[^\W\d_]{3,}", text) is not None and not any(is_like_grid)


def _is_like_grid(word: str) -> bool:
    """True for a word that is longer than words are, or has the length of a grid and more cells than letters."""
    num = sum(each.isdigit() or each in "._-*?" for each in word)
    return len(word) > LEAST_ALONE or (len(word) > 8 and 2 * num >= len(word))


def _flaw(line: str) -> str:
    """Why a line is no puzzle: what is wrong with the part that is most like one."""
    stripped = line.strip()
    fields = [each for each in re.split(r"[\s,;|]+", stripped) if len(each) >= LEAST_ALONE - 1]
    ways = [tuple(each) for each in fields] or list(symbol_lists(line)) or [tuple(stripped)]
    best = next((way for way in ways if is_square(len(way))), ways[-1])
    if is_square(len(best)) and len(best) < LEAST_ALONE and len(best) != len(stripped):
        return f"no puzzle: {shorten(line)}"
    if len(best) in (1, 4, 9):
        return f"{len(best)} symbols are neither a puzzle nor rows of one: {shorten(line)}"
    try:
        question_of("", Written(best, "".join(best) if max(map(len, best)) == 1 else stripped))
    except ValueError as error:
        return str(error).removeprefix(": ")
    return f"no puzzle: {shorten(line)}"


def decoded(text: str) -> Any:
    """The value of JSON, or of Python's own notation of lists; None for what is neither."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:  # not what has comments, which may be mazes
        has_set = "{" in text and ":" not in text  # which has no order
        is_literal = "#" not in text and not has_set and len(text) <= LONGEST_LITERAL
        return ast.literal_eval(text.strip()) if is_literal else None
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None


def wrapped(lines: Sequence[str]) -> tuple[int, Written] | None:
    """A puzzle that is wrapped over lines that are neither puzzles nor rows, with its first line's number."""
    kept = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    text = "".join(line for _, line in kept)
    if not any(set(text) <= set(record.text.characters) for record in drawn_records()):
        text = "".join(text.split())
    written = Written(tuple(text), text)
    has_others = any(is_puzzle(Written(tuple(line), line)) for _, line in kept)
    is_one = len(kept) > 1 and is_square(len(text)) and math.isqrt(len(text)) != len(kept) and not has_others
    return (kept[0][0], written) if is_one and is_puzzle(written) else None
