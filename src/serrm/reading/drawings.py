"""Puzzles of drawn tasks in a text, in whose lines white space counts: mazes, one per line or one line per row."""

import re
from collections.abc import Iterator, Sequence

from serrm.puzzles.task import GridTask
from serrm.puzzles.text import shorten
from serrm.reading.question import Found, Written, grid_records, is_drawn, is_puzzle, is_square

LEAST = 9  # characters of a line that may be a puzzle of its own
SPOILT = 0.75  # share of the task's characters from which a line is a puzzle with a wrong one
NUM_LOOKED_AT = 5  # lines, of which two puzzles show that each line is one


def drawn_records() -> Iterator[GridTask]:
    """The tasks with a space among their cells' characters."""
    return (record for record in grid_records().values() if is_drawn(record))


def find_drawing(lines: Sequence[str], start: int) -> Found | None:
    """The drawn puzzle that begins at line `start`; None if no such line is there. ValueError for one that is bent."""
    for record in drawn_records():
        if set(lines[start]) <= set(record.text.characters):
            return _find(lines, start, record)
    return None


def _find(lines: Sequence[str], start: int, record: GridTask) -> Found | None:
    line = lines[start]
    first, side = start, len(line)
    while first and lines[first - 1] == " " * side and is_wall(line):
        first -= 1
    window = list[str]()
    for row in lines[first : first + side]:
        if len(row) != side or not set(row) <= set(record.text.characters):
            break
        window.append(row)
    has_marks = any(marks(row, record) for row in window)
    num_alone = sum(is_puzzle(alone(row)) for row in window[:NUM_LOOKED_AT])
    grid = alone("".join(window))
    if len(window) == side and has_marks and num_alone < 2 and (side**2 >= LEAST or is_puzzle(grid)):
        return [(first + 1, grid)], first + side
    if is_puzzle(alone(line.strip())) and not is_square(side):
        return [(start + 1, alone(line.strip()))], start + 1
    if is_puzzle(alone(line)) or (
        is_square(side) and set(line) != {"#"} and (has_marks or not line.startswith("# "))
    ):
        return [(start + 1, alone(line))], start + 1
    if not line.startswith("#") or (has_marks and side >= LEAST) or (has_marks and len(window) > 2):
        raise ValueError(_bent(lines, first, window, record))
    return None


def alone(line: str) -> Written:
    """A line as a puzzle of its own."""
    return Written(tuple(line), line)


def is_wall(line: str) -> bool:
    """True for a line with a wall."""
    return "#" in line


def marks(line: str, record: GridTask) -> set[str]:
    """The characters of a line other than walls and spaces."""
    return set(line) & (set(record.text.characters) - {"#", " "})


def _bent(lines: Sequence[str], first: int, window: Sequence[str], record: GridTask) -> str:
    """Why rows are no square, with the row after them."""
    side, after = len(window[0]), lines[first + len(window) : first + len(window) + 1]
    words = f"{side} characters are not a square grid: {shorten(window[0])}"
    if len(window) > 1 or (after and len(after[0]) == side):
        words = f"{len(window)} rows of {side} characters are not a square grid"
    for line in after:
        wrong = next((each for each in line if each not in record.text.characters), None)
        if len(line) == side and wrong:
            known = record.text.characters[:-1]
            words += f": {wrong!r} in line {first + len(window) + 1} is not one of {known!r}"
        elif line.strip() and len(window) > 1:
            words += f": line {first + len(window) + 1} is {shorten(line)}"
    return words


def spoilt(line: str) -> str | None:
    """Why a line is no drawn puzzle, though it looks like one: the character that none has; None for other lines."""
    for record in drawn_records():
        known = record.text.characters
        wrong = [each for each in line if each not in known]
        if "#" not in line or not wrong or len(line) < LEAST or 1 - len(wrong) / len(line) < SPOILT:
            continue
        has_shape = is_square(len(line)) or bool(marks(line, record)) or not line.startswith("#")
        if has_shape and not re.fullmatch(r"#+[^#]*#*", line):
            place = line.index(wrong[0]) + 1
            return f"{wrong[0]!r} at position {place} is not one of {known[:-1]!r}: {shorten(line)}"
    return None


def spoilt_rows(lines: Sequence[str], start: int) -> str | None:
    """Why the lines from `start` on are no drawn puzzle in rows, though they look like one; None for other lines.

    Such lines are as many as each is long, or nearly all of the task's characters, and all begin and end with a wall.
    """
    side, rows = len(lines[start]), list[str]()
    for line in lines[start : start + side]:
        if len(line) != side or not line.startswith("#") or not line.endswith("#"):
            break
        rows.append(line)
    text = "".join(rows)
    for record in drawn_records():
        known = record.text.characters
        share = sum(each in known for each in text) / max(len(text), 1)
        wrong = next((each for each in text if each not in known), None)
        if side >= 3 and wrong and (len(rows) == side or (len(rows) > 3 and share >= SPOILT)):
            number = start + 1 + text.index(wrong) // side
            return f"{wrong!r} in line {number} is not one of {known[:-1]!r}: {shorten(lines[number - 1])}"
    return None
