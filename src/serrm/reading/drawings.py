"""Puzzles of drawn tasks in a text, in whose lines white space counts: mazes, one per line or one line per row.

A drawn task has # for its walls, and its last character occurs in answers only.
"""

import re
from collections.abc import Iterator, Sequence

from serrm.puzzles.task import GridTask
from serrm.puzzles.text import shorten
from serrm.reading.question import Match, WrittenGrid, grid_records, is_drawn, is_grid_size, is_puzzle

MIN_LENGTH = 9  # characters of a line that may be a whole puzzle
MIN_SHARE = 0.75  # of a line's characters that must be the task's for the others to be an error
NUM_LOOKED_AT = 5  # lines; if two of them are whole puzzles, every line is one


def drawn_records() -> Iterator[GridTask]:
    """The tasks with a space among the characters of their cells."""
    return (record for record in grid_records().values() if is_drawn(record))


def find_drawing(lines: Sequence[str], start: int) -> Match | None:
    """The drawn puzzle that begins at line `start`; None if there is none. ValueError unless its rows form a square."""
    for record in drawn_records():
        if set(lines[start]) <= set(record.text.characters):
            return _find(lines, start, record)
    return None


def _find(lines: Sequence[str], start: int, record: GridTask) -> Match | None:
    line = lines[start]
    first, side = start, len(line)
    # Rows of spaces above a wall were skipped as blank lines, but belong to the grid.
    while first and lines[first - 1] == " " * side and has_wall(line):
        first -= 1
    window = list[str]()
    for row in lines[first : first + side]:
        if len(row) != side or not set(row) <= set(record.text.characters):
            break
        window.append(row)
    has_marks = any(marks(row, record) for row in window)
    num_alone = sum(is_puzzle(grid_of_line(row)) for row in window[:NUM_LOOKED_AT])
    grid = grid_of_line("".join(window))
    # One row per line, such as "#S#", "# #", "#G#".
    if len(window) == side and has_marks and num_alone < 2 and (side**2 >= MIN_LENGTH or is_puzzle(grid)):
        return Match([(first + 1, grid)], first + side)
    # A whole grid on one line, with spaces around it.
    stripped = grid_of_line(line.strip())
    if is_puzzle(stripped) and not is_grid_size(side):
        return Match([(start + 1, stripped)], start + 1)
    # A whole grid on one line, even a wrong one; not a line of walls alone or a comment, such as "# a title".
    is_whole_grid = is_grid_size(side) and set(line) != {"#"} and (has_marks or not line.startswith("# "))
    if is_whole_grid or is_puzzle(grid_of_line(line)):
        return Match([(start + 1, grid_of_line(line))], start + 1)
    # Rows that form no square, such as a maze without its last row; other lines that begin with # may be comments.
    if not line.startswith("#") or (has_marks and side >= MIN_LENGTH) or (has_marks and len(window) > 2):
        raise ValueError(_shape_flaw(lines, first, window, record))
    return None


def grid_of_line(line: str) -> WrittenGrid:
    """A line whose characters are all cells of a grid."""
    return WrittenGrid(tuple(line), line)


def has_wall(line: str) -> bool:
    """True for a line with a wall."""
    return "#" in line


def marks(line: str, record: GridTask) -> set[str]:
    """The characters of a line other than walls and spaces."""
    return set(line) & (set(record.text.characters) - {"#", " "})


def _shape_flaw(lines: Sequence[str], first: int, window: Sequence[str], record: GridTask) -> str:
    """The message about rows that do not form a square, with the row after them."""
    side, after = len(window[0]), lines[first + len(window) : first + len(window) + 1]
    message = f"{side} characters are not a square grid: {shorten(window[0])}"
    if len(window) > 1 or (after and len(after[0]) == side):
        message = f"{len(window)} rows of {side} characters are not a square grid"
    in_questions = record.text.characters[:-1]  # without the path, which no question has
    for line in after:
        wrong = next((character for character in line if character not in record.text.characters), None)
        if len(line) == side and wrong:
            message += f": {wrong!r} in line {first + len(window) + 1} is not one of {in_questions!r}"
        elif line.strip() and len(window) > 1:
            message += f": line {first + len(window) + 1} is {shorten(line)}"
    return message


def line_flaw(line: str) -> str | None:
    """The wrong character of a line that otherwise looks like a drawn puzzle; None for other lines."""
    for record in drawn_records():
        known = record.text.characters
        wrong = [character for character in line if character not in known]
        if "#" not in line or not wrong or len(line) < MIN_LENGTH or 1 - len(wrong) / len(line) < MIN_SHARE:
            continue
        has_shape = is_grid_size(len(line)) or bool(marks(line, record)) or not line.startswith("#")
        if has_shape and not re.fullmatch(r"#+[^#]*#*", line):
            position, in_questions = line.index(wrong[0]) + 1, known[:-1]
            return f"{wrong[0]!r} at position {position} is not one of {in_questions!r}: {shorten(line)}"
    return None


def rows_flaw(lines: Sequence[str], start: int) -> str | None:
    """The wrong character of lines from `start` on that otherwise look like a drawn puzzle in rows; None for others.

    Such lines all begin and end with a wall, and either form a square or have nearly only characters of the task.
    """
    side, rows = len(lines[start]), list[str]()
    for line in lines[start : start + side]:
        if len(line) != side or not line.startswith("#") or not line.endswith("#"):
            break
        rows.append(line)
    text = "".join(rows)
    for record in drawn_records():
        known = record.text.characters
        share = sum(character in known for character in text) / max(len(text), 1)
        wrong = next((character for character in text if character not in known), None)
        if side >= 3 and wrong and (len(rows) == side or (len(rows) > 3 and share >= MIN_SHARE)):
            number, in_questions = start + 1 + text.index(wrong) // side, known[:-1]
            return f"{wrong!r} in line {number} is not one of {in_questions!r}: {shorten(lines[number - 1])}"
    return None
