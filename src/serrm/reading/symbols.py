"""The symbols of a line: one per cell, however the line separates them.

Cells may be single characters, with or without spaces, commas and lines of boxes between them; numbers of several
digits between spaces; or the fields of a table, of which an empty one is a blank.
"""

import csv
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from serrm.puzzles.task import GridTask
from serrm.reading.question import Written, grid_records, is_drawn, is_puzzle, is_square

LEAST_SIDE = 4  # of a grid written in symbols
LONGEST_ROW = 35  # symbols that may be a row of a larger grid as well as a puzzle
LEAST_ALONE = 36  # symbols of a field that is a puzzle whatever stands beside it
DELIMITERS = (",", ";", "\t", "|", "│", "┃", "║")
FRAMES = DELIMITERS[3:]  # which may stand at both ends of a row
SEPARATORS = re.compile(r"[\s,;:|/\\'\"\[\](){}<>=!`\u2500-\u257F]+")
BETWEEN_FIELDS = re.compile(r"[\s,;:|\"'<>=&\[\](){}]+")
RULING = re.compile(
    r"[\s\-+|=*_:~.'`\u2500-\u257F—–]*[\-+=*_\u2500-\u257F—–]{3}[\s\-+|=*_:~.'`\u2500-\u257F—–]*"
)
BLANK_CELL = "."


@lru_cache(maxsize=1024)
def symbol_lists(line: str) -> tuple[tuple[str, ...], ...]:
    """All ways to split a line into symbols, the most telling first. A puzzle of a drawn task is not among them."""
    ways = [_fields(line, delimiter) for delimiter in DELIMITERS if delimiter in line]
    words = tuple(filter(None, SEPARATORS.split(line)))
    lengths = {len(word) for word in words}
    if lengths and all(word.isdecimal() or len(word) == 1 for word in words):
        ways.append(words)
    if len(lengths) == 1:
        ways.append(tuple("".join(words)))
    return tuple(dict.fromkeys(way for way in ways if way))


def _fields(line: str, delimiter: str) -> tuple[str, ...]:
    """The fields of a line as cells, empty ones as blanks; none if a field is no cell."""
    try:
        fields = [field.strip() for field in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error:
        return ()
    if delimiter in FRAMES and len(fields) > 2 and not fields[0] and not fields[-1]:
        fields = fields[1:-1]
    are_cells = all(len(field) < 2 or (len(field) == 2 and field.isdecimal()) for field in fields)
    if len(fields) < LEAST_SIDE or not are_cells:
        return ()
    return tuple(field or BLANK_CELL for field in fields)


@lru_cache(maxsize=1024)
def whole_puzzle(line: str) -> Written | None:
    """The puzzle that a line holds, with its answer if that stands beside it; None if there is none.

    A long field of symbols is a puzzle whatever else is on the line (a name, a rating, a comment).
    ValueError if the line holds several puzzles.
    """
    fields = [field for field in BETWEEN_FIELDS.split(line) if is_square(len(field))]
    puzzles = [field for field in dict.fromkeys(fields) if is_puzzle(Written(tuple(field), field))]
    largest = max(map(len, puzzles), default=0)
    lengths = {len(field) for field in BETWEEN_FIELDS.split(line) if field}
    if (
        largest >= LEAST_ALONE
        or (largest and len(lengths) > 1)
        or (fields and len(fields) == 1 == len(puzzles))
    ):
        return _with_answer([field for field in puzzles if len(field) == largest])
    for symbols in symbol_lists(without_comment(line)):
        text = (" " if max(map(len, symbols)) > 1 else "").join(symbols)
        if is_square(len(symbols)) and is_puzzle(written := Written(symbols, text)):
            return written
    pair = [field for field in puzzles if len(field) == largest]
    return _with_answer(pair) if len(pair) == 2 == len(fields) else _spaced(line)


def _with_answer(fields: Sequence[str]) -> Written:
    """The first field as a question; a second one is its answer."""
    if len(fields) > 2:
        raise ValueError(f"{len(fields)} puzzles on one line; write one per line")
    question, answer = fields[0], fields[1] if len(fields) == 2 else ""
    return Written(tuple(question), question, tuple(answer))


def _spaced(line: str) -> Written | None:
    """A puzzle whose blanks are spaces, if it is as long as one only with them."""
    if len(line) < LEAST_ALONE or not is_square(len(line)) or not _has_spaces_for_blanks(line):
        return None
    written = Written(tuple(line.replace(" ", BLANK_CELL)), line.replace(" ", BLANK_CELL))
    return written if is_puzzle(written) else None


def _has_spaces_for_blanks(line: str) -> bool:
    return set(line) <= set(" 123456789") and any(
        one.isdigit() and two.isdigit() for one, two in pairwise(line)
    )


def row_of(line: str, side: int) -> tuple[str, ...] | None:
    """A line as a row of `side` symbols that may be digits, letters, numbers or blanks; None if it is none."""
    for symbols in symbol_lists(without_comment(line)):
        if len(symbols) == side and is_row(symbols):
            return symbols
    return None


def is_row(symbols: Sequence[str]) -> bool:
    """True for symbols that may be a row of a square grid."""
    side = len(symbols)
    for symbol in dict.fromkeys(symbols):
        if symbol.isdecimal() and symbol.isascii():
            is_known = int(symbol) <= side
        elif len(symbol) == 1 and symbol.isalpha() and symbol.isascii():
            is_known = symbol in "xX" or ord(symbol.upper()) - ord("A") < side
        else:
            is_known = symbol in "._-*?·" or any(symbol in each.text.characters for each in symbol_records())
        if not is_known:
            return False
    has_digits, letters = (
        any(each in "123456789" for each in symbols),
        [each for each in symbols if each.isalpha()],
    )
    return not (has_digits and side < 10 and any(each not in "xX" for each in letters))


def symbol_records() -> list[GridTask]:
    """The tasks whose lines may have white space between cells."""
    return [record for record in grid_records().values() if not is_drawn(record)]


def is_ruling(line: str) -> bool:
    """True for a line between boxes or around a grid, which may also be a row of blanks."""
    return RULING.fullmatch(line) is not None


def without_comment(line: str) -> str:
    """The line without what follows ` # `."""
    return re.sub(r"\s#\s.*$", "", line)


def rows_of_spaces(lines: Sequence[str]) -> list[tuple[str, ...]] | None:
    """Rows whose blanks are spaces, as many as each is long; None if the lines are no such grid."""
    side = len(lines[0]) if lines else 0
    rows = [tuple(line.replace(" ", BLANK_CELL)) for line in lines[:side]]
    is_grid = len(rows) == side >= LEAST_SIDE and all(len(row) == side for row in rows)
    is_spaced = all(set(line) <= set(" 123456789") for line in lines[:side])
    return rows if is_grid and is_spaced else None
