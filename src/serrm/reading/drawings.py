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
    """The drawn puzzles that begin at line `start`, which may be a row of spaces; None if there are none.

    ValueError for rows that form no squares.
    """
    line = lines[start]
    for record in drawn_records():
        if line and set(line) <= set(record.text.characters):
            return _find(lines, start, record)
    return None


def _find(lines: Sequence[str], start: int, record: GridTask) -> Match | None:
    """The drawn puzzles of one task that begin at line `start`; see `find_drawing`.

    The line begins a grid in rows ("#S#", "# #", "#G#" below each other), is a whole grid ("#S## ##G#"), or belongs to
    no grid: a row of spaces or a comment gives None, other rows that form no square an error.
    """
    line, side = lines[start], len(lines[start])
    rows = _run(lines, start, start + min(side, NUM_LOOKED_AT), record)
    has_grid_per_line = sum(is_puzzle(grid_of_line(row)) for row in rows) > 1
    if not has_grid_per_line:
        rows = _run(lines, start, start + side, record)
    has_marks = any(marks(row, record) for row in rows)
    if has_marks and not has_grid_per_line and _form_square(rows):
        return _grids_in_rows(lines, start, record)
    if not line.strip():
        return None
    may_be_row = not has_grid_per_line and sum(bool(row.strip()) for row in rows) > 1
    if (grid := _grid_on_line(line, may_be_row, has_marks)) is not None:
        return Match([(start + 1, grid)], start + 1)
    # Rows that form no square, such as a maze without its last row; other lines that begin with # may be comments.
    if not line.startswith("#") or (has_marks and (side >= MIN_LENGTH or len(rows) > 2)):
        raise ValueError(_shape_flaw(lines, start, rows, record))
    return None


def _form_square(rows: Sequence[str]) -> bool:
    """True for as many rows as columns; fewer than nine cells must also be a puzzle."""
    side = len(rows[0])
    return len(rows) == side and (side**2 >= MIN_LENGTH or is_puzzle(grid_of_line("".join(rows))))


def _grid_on_line(line: str, may_be_row: bool, has_marks: bool) -> WrittenGrid | None:
    """The whole grid on a line, even a wrong one; None if there is none.

    Args:
        may_be_row: similar lines follow, so that the line may also be a row of a larger grid that misses rows.
        has_marks: the line or one of those has a character other than walls and spaces.
    """
    written, stripped = grid_of_line(line), grid_of_line(line.strip())
    has_size = is_grid_size(len(line))
    if not has_size and is_puzzle(stripped) and (len(stripped.symbols) >= MIN_LENGTH or not may_be_row):
        return stripped  # there are spaces around it
    # Neither a line of walls alone nor a comment, such as "# a title".
    if has_size and set(line) != {"#"} and (has_marks or not line.startswith("# ")):
        return written
    return written if is_puzzle(written) and not may_be_row else None


def _run(lines: Sequence[str], start: int, end: int, record: GridTask) -> list[str]:
    """The rows from line `start` on, up to the first line of another length or with other characters, or to `end`."""
    run = list[str]()
    for index in range(start, min(end, len(lines))):
        if len(lines[index]) != len(lines[start]) or not set(lines[index]) <= set(record.text.characters):
            break
        run.append(lines[index])
    return run


def _grids_in_rows(lines: Sequence[str], start: int, record: GridTask) -> Match | None:
    """The grids in rows from line `start` on, one below the other; None if the row of spaces there only separates
    grids.

    ValueError for a row that belongs to no grid.
    """
    run, side = _run(lines, start, len(lines), record), len(lines[start])
    firsts, end = _first_rows(run, side)
    if end < len(run):
        if not run[0].strip() and len(run) % side:
            return None  # the row of spaces separates grids
        spoilt = run[end : end + side]
        if len(spoilt) < side or not any(marks(row, record) for row in spoilt):
            raise ValueError(_shape_flaw(lines, start, run, record))
        firsts.append(end)  # a wrong puzzle, such as one with two starts: `question_of` raises its error
    grids = [(start + first + 1, grid_of_line("".join(run[first : first + side]))) for first in firsts]
    return Match(grids, start + len(run))


def _first_rows(run: Sequence[str], side: int) -> tuple[list[int], int]:
    """The indices of the first rows of puzzles that follow each other in a run, and of the row after the last puzzle.

    Rows of spaces may belong to a puzzle or stand between two of them. They are divided so that the puzzles reach as
    far as possible; if there are several such ways, each puzzle begins as early as it can.
    """
    before = {0: 0}  # end of a puzzle, or of a row of spaces between puzzles → its first row
    for index in range(len(run)):
        window = run[index : index + side]
        if index in before and len(window) == side and is_puzzle(grid_of_line("".join(window))):
            before[index + side] = index
        if index in before and not run[index].strip():
            before[index + 1] = index
    end = index = max(before)
    firsts = list[int]()
    while index:
        if index - before[index] == side:
            firsts.append(before[index])
        index = before[index]
    return firsts[::-1], end


def grid_of_line(line: str) -> WrittenGrid:
    """A line whose characters are all cells of a grid."""
    return WrittenGrid(tuple(line), line)


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
        is_title = re.fullmatch(r"#+[^#]*#*", line) is not None  # such as "### title ###"
        if has_shape and not is_title:
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
