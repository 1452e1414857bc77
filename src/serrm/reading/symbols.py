"""The symbols of a line, one per cell.

Cells may be single characters, with or without spaces, commas and lines of boxes between them; numbers of several
digits between spaces; or the fields of a table, where an empty field is a blank.
"""

import csv
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise, takewhile

from serrm.puzzles.sudoku.notation import SURE_BLANKS
from serrm.puzzles.task import GridTask
from serrm.reading.question import WrittenGrid, grid_records, is_drawn, is_grid_size, is_puzzle

MIN_SIDE = 4  # of a grid written in symbols
MAX_ROW = 35  # largest side of a grid, so a line of more symbols is no row
MIN_ALONE = 36  # symbols that are a puzzle even beside other text on the line
DELIMITERS = (",", ";", "\t", "|", "│", "┃", "║")
FRAME_DELIMITERS = DELIMITERS[3:]  # which may stand at both ends of a row
# The next two match white space, lines of boxes and characters of `serrm.puzzles.text.SEPARATORS`.
# Between the symbols of one grid: "53. | .7." or "5/3/.", also with lines of boxes.
SEPARATORS = re.compile(r"[\s,;:|/\\'\"\[\](){}<>=!`\u2500-\u257F]+")
# Between the fields of a line, one of which may be a whole puzzle: "name=3, 53..7…, 5.2". The
# signs / \ ! and ` and lines of boxes stay in their field.
BETWEEN_FIELDS = re.compile(r"[\s,;:|\"'<>=&\[\](){}]+")
# A whole line between boxes or around a grid, with at least three signs of a rule in a row: "------+-------+------".
RULING = re.compile(
    r"[\s\-+|=*_:~.'`\u2500-\u257F—–]*[\-+=*_\u2500-\u257F—–]{3}[\s\-+|=*_:~.'`\u2500-\u257F—–]*"
)
BLANK_CELL = "."


@lru_cache(maxsize=1024)
def symbol_lists(line: str) -> tuple[tuple[str, ...], ...]:
    """All ways to split a line into symbols, the most specific first. White space is never a symbol here."""
    ways = [_fields(line, delimiter) for delimiter in DELIMITERS if delimiter in line]
    parts = tuple(filter(None, SEPARATORS.split(line)))
    lengths = {len(part) for part in parts}
    if lengths and all(part.isdecimal() or len(part) == 1 for part in parts):
        ways.append(parts)
    if len(lengths) == 1:
        ways.append(tuple("".join(parts)))
    return tuple(dict.fromkeys(way for way in ways if way))


def _fields(line: str, delimiter: str) -> tuple[str, ...]:
    """The fields of a line as cells, empty fields as blanks; empty if a field is not a cell."""
    try:
        fields = [field.strip() for field in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error:
        return ()
    if delimiter in FRAME_DELIMITERS and len(fields) > 2 and not fields[0] and not fields[-1]:
        fields = fields[1:-1]
    are_cells = all(len(field) < 2 or (len(field) == 2 and field.isdecimal()) for field in fields)
    if len(fields) < MIN_SIDE or not are_cells:
        return ()
    return tuple(field or BLANK_CELL for field in fields)


@lru_cache(maxsize=1024)
def whole_puzzle(line: str) -> WrittenGrid | None:
    """The puzzle of a line, with the answer that may stand beside it; None if there is none.

    A field that is a puzzle by its length, or stands alone or beside fields of another length (a name, a rating, a
    comment) comes first; then the whole line as one grid; then two fields that may be a puzzle and its answer; then the
    whole line with spaces for blanks. ValueError for several puzzles.
    """
    all_fields = [field for field in BETWEEN_FIELDS.split(line) if field]
    fields = [field for field in all_fields if is_grid_size(len(field))]
    puzzles = [field for field in dict.fromkeys(fields) if is_puzzle(WrittenGrid(tuple(field), field))]
    largest = max(map(len, puzzles), default=0)
    best = [field for field in puzzles if len(field) == largest]
    lengths = set(map(len, all_fields))
    is_long = largest >= MIN_ALONE  # "53..7....6..195…"
    is_beside_others = largest > 0 and len(lengths) > 1  # "easy 1.3.3.1.2.4.4.2."
    is_only_field = len(fields) == 1 and len(puzzles) == 1  # "1.3.3.1.2.4.4.2."
    if is_long or is_beside_others or is_only_field:
        return _with_answer(best)
    for symbols in symbol_lists(without_comment(line)):
        text = (" " if max(map(len, symbols)) > 1 else "").join(symbols)
        if is_grid_size(len(symbols)) and is_puzzle(written := WrittenGrid(symbols, text)):
            return written
    is_pair = len(best) == 2 and len(fields) == 2  # "1.3.3.1.2.4.4.2. 1234341221434321"
    return _with_answer(best) if is_pair else _spaced(line)


def _with_answer(fields: Sequence[str]) -> WrittenGrid:
    """The first field as a question, and a second one, if there is one, as its answer."""
    if len(fields) > 2:
        raise ValueError(f"{len(fields)} puzzles on one line; write one per line")
    question, answer = fields[0], fields[1] if len(fields) == 2 else ""
    return WrittenGrid(tuple(question), question, tuple(answer))


def _spaced(line: str) -> WrittenGrid | None:
    """A puzzle whose blanks are spaces; None unless the whole line has the length of a puzzle."""
    if len(line) < MIN_ALONE or not is_grid_size(len(line)) or not _has_spaces_for_blanks(line):
        return None
    written = WrittenGrid(tuple(line.replace(" ", BLANK_CELL)), line.replace(" ", BLANK_CELL))
    return written if is_puzzle(written) else None


def _has_spaces_for_blanks(line: str) -> bool:
    """True for digits and spaces with two digits side by side; in "5 3 4" spaces may separate the digits instead."""
    return set(line) <= set(" 123456789") and any(
        one.isdigit() and two.isdigit() for one, two in pairwise(line)
    )


def row_of(line: str, side: int) -> tuple[str, ...] | None:
    """A line as a row of `side` symbols (digits, letters, numbers or blanks); None if it is not such a row."""
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
            tasks = symbol_records()
            is_known = symbol in SURE_BLANKS or any(symbol in task.text.characters for task in tasks)
        if not is_known:
            return False
    has_digits = any(symbol in "123456789" for symbol in symbols)
    has_letters = any(symbol.isalpha() and symbol not in "xX" for symbol in symbols)
    return not (has_digits and side < 10 and has_letters)


def symbol_records() -> list[GridTask]:
    """The tasks whose lines may have white space between cells."""
    return [record for record in grid_records().values() if not is_drawn(record)]


def is_ruling(line: str) -> bool:
    """True for a line between boxes or around a grid, which may also be a row of blanks."""
    return RULING.fullmatch(line) is not None


def without_comment(line: str) -> str:
    """The line without its comment, which begins with ` # `."""
    return re.sub(r"\s#\s.*$", "", line)


def rows_of_spaces(lines: Sequence[str]) -> list[tuple[str, ...]] | None:
    """The rows of a square grid whose blanks are spaces; None if the lines are not such a grid."""
    side = len(lines[0]) if lines else 0
    if side < MIN_SIDE or num_rows_with_spaces(lines[:side]) < side:
        return None
    return [tuple(line.replace(" ", BLANK_CELL)) for line in lines[:side]]


def num_rows_with_spaces(lines: Sequence[str]) -> int:
    """The number of lines, from the first on, that have its length and no characters but digits and spaces."""
    are_rows = (len(line) == len(lines[0]) and set(line) <= set(" 123456789") for line in lines)
    return sum(1 for _ in takewhile(bool, are_rows))
