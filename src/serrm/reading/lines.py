"""Puzzles in the lines of a text: one per line, rows of tables, grids over several lines, and lines between them.

Lines are skipped only if they are blank, comments (`#` and what cannot be a maze), headings, or rulings between boxes.
Any other line that is not a puzzle is a ValueError with its place.
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

from serrm.puzzles.sudoku.notation import SURE_BLANKS
from serrm.puzzles.text import shorten
from serrm.reading.drawings import drawn_records, find_drawing, line_flaw, rows_flaw
from serrm.reading.question import Match, Question, WrittenGrid, is_grid_size, is_puzzle, question_of
from serrm.reading.rows import find_rows, find_spaced_rows, is_row_of_more, may_be_between_rows
from serrm.reading.symbols import MAX_ROW, MIN_ALONE, is_ruling, symbol_lists, whole_puzzle

# Names of a question and of its answer in tables and JSON objects.
QUESTION_NAMES = (
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
ANSWER_NAMES = ("answer", "answers", "solution", "solutions", "solved")
TABLE_DELIMITERS = (",", ";", "\t", "|")
MIN_WORD_LIKE_GRID = 9  # characters, the cells of the smallest grid
MAX_LITERAL = 1_000_000  # characters of a Python literal that is tried if JSON fails
log = logging.getLogger(__name__)

PlaceOf = Callable[[int], str]  # number of a line from 1 → its place, such as puzzles.csv:3
# (value of JSON, place) → its puzzles: `reader.questions_of`, passed in because the reader imports this module.
ReadJson = Callable[[Any, str], Iterator[Question]]


def questions_of_lines(lines: Sequence[str], place_of: PlaceOf, read_json: ReadJson) -> Iterator[Question]:
    """All puzzles of lines. ValueError, with its place, for a line that is not a puzzle and may not be skipped."""
    if (header := _header(lines)) is not None:
        yield from _table(lines, header, place_of, read_json)
        return
    position, num_found, headings = 0, 0, list[int]()
    while position < len(lines):
        line = lines[position]
        if line.lstrip()[:1] in ("{", "[") and (value := decoded(line)) is not None:
            position += 1
            for question in read_json(value, place_of(position)):
                num_found += 1
                yield question
            continue
        try:
            match = _find(lines, position)
        except ValueError as error:
            raise ValueError(f"{place_of(position + 1)}: {error}") from None
        for number, written in match.grids:
            yield question_of(place_of(number), written)
        num_found += len(match.grids)
        if not match.grids and line.strip() and not is_comment(line) and not is_ruling(line):
            headings.append(position)
        position = match.end
    if headings and not num_found:
        raise ValueError(f"{place_of(headings[0] + 1)}: no puzzle: {shorten(lines[headings[0]])}")
    if headings:
        log.info(
            "%s: skipped as a heading, as were %d other lines", place_of(headings[0] + 1), len(headings) - 1
        )


def _find(lines: Sequence[str], position: int) -> Match:
    """The puzzles that begin at a line; none if it may be skipped. ValueError if it may not."""
    line, after = lines[position], position + 1
    if (drawing := find_drawing(lines, position)) is not None:
        return drawing
    if not line.strip():
        return find_spaced_rows(lines, position) or Match([], after)
    if line.startswith("#") and (flaw := rows_flaw(lines, position)) is not None:
        raise ValueError(flaw)
    written = whole_puzzle(line)
    if written is not None and not is_row_of_more(lines, position, len(written.symbols)):
        return Match([(after, written)], after)
    if is_comment(line):
        return Match([], after)
    try:
        grids = find_rows(lines, position)
    except ValueError:
        if not is_heading(line):
            raise
        grids = None
    if grids is not None:
        return grids
    if is_ruling(line) or is_heading(line):
        return Match([], after)
    raise ValueError(line_flaw(line) or _nearest_flaw(line))


# Tables.


def _header(lines: Sequence[str]) -> tuple[int, str, int, int | None] | None:
    """The position after a table's header, its delimiter, and the columns of questions and answers.

    None if the first line after the comments names no column of questions. A word alone, such as Sudoku, is a heading
    above another heading or above a grid in rows.
    """
    for position, line in enumerate(lines):
        for delimiter in TABLE_DELIMITERS:
            names = [name.strip().strip("\"'").lower() for name in line.split(delimiter)]
            question, answer = (
                next((names.index(key) for key in keys if key in names), None)
                for keys in (QUESTION_NAMES, ANSWER_NAMES)
            )
            if question is not None:
                is_title = len(names) == 1 and _has_rows_or_heading(lines, position + 1)
                return None if is_title else (position + 1, delimiter, question, answer)
        if line.strip() and not is_comment(line):
            break
    return None


def _has_rows_or_heading(lines: Sequence[str], start: int) -> bool:
    """True if the next line is a heading or the first row of a grid, even of one that misses rows."""
    position = next(
        (index for index in range(start, len(lines)) if not may_be_between_rows(lines[index])), None
    )
    if position is None:
        return False
    try:
        match = _find(lines, position)
    except ValueError:
        return len(lines[position].strip()) <= MAX_ROW
    return not match.grids or match.end > position + 1


def _table(
    lines: Sequence[str], header: tuple[int, str, int, int | None], place_of: PlaceOf, read_json: ReadJson
) -> Iterator[Question]:
    """The puzzles of a table's rows. Every line is parsed separately, so an unclosed quote affects one row only."""
    start, delimiter, question, answer = header
    for number, line in enumerate(lines[start:], start=start + 1):
        if not line.strip():
            continue
        try:
            cells = next(csv.reader([line], delimiter=delimiter))
        except csv.Error as error:
            raise ValueError(f"{place_of(number)}: {error}: {shorten(line)}") from None
        if len(cells) > max(question, answer or 0):
            answer_text = None if answer is None else cells[answer].strip("\t\r\n")
            yield question_of_fields(place_of(number), cells[question], answer_text or None, read_json)
        elif not (is_comment(line) or is_ruling(line)):
            raise ValueError(f"{place_of(number)}: {len(cells)} columns are too few: {shorten(line)}")


def question_of_fields(place: str, question: str, answer: str | None, read_json: ReadJson) -> Question:
    """The puzzle of two fields, its question and its answer; either may be JSON. ValueError for several puzzles."""
    fields = {"question": question, "answer": answer}
    if any(text is not None and text.lstrip()[:1] == "[" for text in fields.values()):
        values = {name: None if text is None else decoded(text) or text for name, text in fields.items()}
        puzzles = list(read_json(values, place))
        if len(puzzles) != 1:
            raise ValueError(f"{place}: {len(puzzles)} puzzles in one row of a table: {shorten(question)}")
        return puzzles[0]
    written = grid_of_field(question)
    return question_of(
        place, written if answer is None else replace(written, answer=grid_of_field(answer).symbols)
    )


def grid_of_field(text: str) -> WrittenGrid:
    """The grid of a field without other content; its symbols may be separated in any way."""
    plain = text.strip("\t\r\n")
    if any(set(plain) <= set(record.text.characters) for record in drawn_records()):
        return WrittenGrid(tuple(plain), plain)
    plain = plain.strip()
    if plain.isascii() and is_grid_size(len(plain)) and not set(plain) & set(" \t,;|\n"):
        return WrittenGrid(tuple(plain), plain)
    whole = " ".join(plain.splitlines())
    squares = [symbols for symbols in symbol_lists(whole) if is_grid_size(len(symbols))]
    return WrittenGrid(squares[0] if squares else tuple(plain), whole)


# Lines that are no puzzle.


def is_comment(line: str) -> bool:
    """True for a line that begins with # and does not look like a maze with a wrong character.

    Between the rows of a grid only `# ` begins a comment (`may_be_between_rows`).
    """
    return line.lstrip().startswith("#") and line_flaw(line) is None


def is_heading(line: str) -> bool:
    """True for a line of words without a grid: "Grid 01", "[Puzzle]", names of columns, markup."""
    text = line.strip()
    if re.fullmatch(r"\[[A-Za-z][\w ]*\]|<[^<>]*>(.*</\w+>)?|(//|%|--|;) .*", text):
        return True
    fields = re.split(r"[\s,;:|=]+", text)
    if len(fields) > 1 and all(re.fullmatch(r"[\"']?[A-Za-z_]{2,}[\"']?", field) for field in fields):
        return True
    is_like_grid = [_is_like_grid(field) for field in fields]
    return re.match(r"[\"'(*_=\-\s]*[^\W\d_]{3,}", text) is not None and not any(is_like_grid)


def _is_like_grid(word: str) -> bool:
    """True for a field too long for a word, or of nine or more characters of which half or more may be cells."""
    num = sum(character.isdigit() or character in SURE_BLANKS for character in word)
    return len(word) > MIN_ALONE or (len(word) >= MIN_WORD_LIKE_GRID and 2 * num >= len(word))


def _nearest_flaw(line: str) -> str:
    """The message about a line that is not a puzzle: the error of the part that is most like one."""
    stripped = line.strip()
    # One sign may be missing.
    fields = [part for part in re.split(r"[\s,;|]+", stripped) if len(part) >= MIN_ALONE - 1]
    ways = [tuple(part) for part in fields] or list(symbol_lists(line)) or [tuple(stripped)]
    best = next((way for way in ways if is_grid_size(len(way))), ways[-1])
    # A few symbols beside other text have the number of a grid's cells by chance.
    if is_grid_size(len(best)) and len(best) < MIN_ALONE and len(best) != len(stripped):
        return f"no puzzle: {shorten(line)}"
    if len(best) in (1, 4, 9):  # square numbers, but more likely of the symbols of one row
        return f"{len(best)} symbols are neither a puzzle nor rows of one: {shorten(line)}"
    try:
        question_of("", WrittenGrid(best, "".join(best) if max(map(len, best)) == 1 else stripped))
    except ValueError as error:
        return str(error).removeprefix(": ")
    return f"no puzzle: {shorten(line)}"


def decoded(text: str) -> Any:
    """The value of a text that is JSON or a Python literal; None for other texts."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:  # text with # may be a maze, and a set has no order
        has_set = "{" in text and ":" not in text
        is_literal = "#" not in text and not has_set and len(text) <= MAX_LITERAL
        return ast.literal_eval(text.strip()) if is_literal else None
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None


def wrapped_grid(lines: Sequence[str]) -> tuple[int, WrittenGrid] | None:
    """A puzzle wrapped over lines that are neither puzzles nor rows, with the number of its first line."""
    width = max(map(len, lines), default=0)
    # In a maze a line of spaces that is as long as the others is part of it.
    kept = [
        (number, line) for number, line in enumerate(lines, start=1) if line.strip() or len(line) == width
    ]
    text = "".join(line for _, line in kept)
    if not any(set(text) <= set(record.text.characters) for record in drawn_records()):
        text = "".join(text.split())
    written = WrittenGrid(tuple(text), text)
    has_others = any(is_puzzle(WrittenGrid(tuple(line), line)) for _, line in kept)
    is_one = (
        len(kept) > 1 and is_grid_size(len(text)) and math.isqrt(len(text)) != len(kept) and not has_others
    )
    return (kept[0][0], written) if is_one and is_puzzle(written) else None
