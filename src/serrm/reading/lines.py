"""Text of lines: one puzzle per line, or grids in rows (docs/howto.md has the grammars).

The first lines choose between the two. After that, every line obeys the grammar or is a ValueError with its place.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile

from serrm.puzzles.tasks import drawn_signs
from serrm.puzzles.text import shorten
from serrm.reading.question import FORMS, MAX_SIDE, Question, has_blank, question_of

SIGNS = ".123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"  # of the numbers 0…35
BETWEEN_WORDS = re.compile(r"[\s,;]+")
BETWEEN_SIGNS = re.compile(r"[ \t,|│┃║]+")
FRAME = re.compile(r"[ |+\-=*_:\u2500-\u257F]+")
HEADING = re.compile(r"\[(puzzle|state)\]|grid \d+", re.IGNORECASE)
COMMENT = re.compile(r"//|#([A-Za-z ]|$)")
MAX_PIECE = 16  # characters of a remark that consists of the signs of a grid

PlaceOf = Callable[[int], str]  # index of a line → its place, such as puzzles.csv:3


def questions_of_lines(lines: Sequence[str], place_of: PlaceOf) -> Iterator[Question]:
    """Yield the puzzles of lines. ValueError, with its place, for a line that does not obey the grammar."""
    content = [number for number, line in enumerate(lines) if line.strip() and not is_comment(line)]
    first = lines[content[0] : content[0] + MAX_SIDE] if content else []
    block = [line for line in takewhile(bool, first) if not is_ruling(line)]
    is_lone, num_whole = len([*takewhile(bool, first)]) == 1, sum(map(_is_whole, block))
    if not block or HEADING.fullmatch(block[0].strip()) or (num_whole < len(block) / 2 and not is_lone):
        for places, grid in grids_in_rows(lines, place_of):
            yield question_of(grid, places[0], rows=places)
        return
    num_answers: dict[str, int] = {}
    for number in content:
        grids = grids_on_line(lines[number], place_of(number))
        question = question_of(grids[0], place_of(number), *grids[1:])
        if num_answers.setdefault(question.task, len(grids)) != len(grids):
            raise ValueError(
                f"{question.place}: either all lines have answers or none: {shorten(lines[number])}"
            )
        yield question


def is_comment(line: str) -> bool:
    """Return True for a comment, which begins with // or with one # and a letter or a space, and is not like a maze."""
    if not (match := COMMENT.match(line)) or match[0] == "//":
        return match is not None
    drawn = drawn_signs()
    num_others = sum(sign.isalnum() and sign not in drawn and sign != "0" for sign in line)
    return line.strip() == "#" or num_others > (len(line) / 4 if len(line) >= 9 else 0)


def is_drawn(line: str) -> bool:
    """Return True for a line of a maze, even one with a wrong sign."""
    return {*line} <= {*drawn_signs()} or ("#" in line and not {*line} & {*"123456789"})


def is_ruling(line: str) -> bool:
    """Return True for a line of the frame around a grid or between its boxes, which may also be a row of blanks."""
    return FRAME.fullmatch(line) is not None and re.search(r"[+\-=_\u2500-\u257F]{3}", line) is not None


def _is_whole(line: str) -> bool:
    """Return True for a line with a whole puzzle, even a wrong one."""
    words = [line] if is_drawn(line) else BETWEEN_WORDS.split(line)
    return any(len(word) > MAX_SIDE or has_blank(word) for word in words)


# One puzzle per line.


def grids_on_line(line: str, place: str) -> list[str]:
    """Return the puzzle of a line of words, and its answer if there is one. A maze is the line itself.

    ValueError unless there is exactly one puzzle, at most one other grid, and each other word is a remark.
    """
    if is_drawn(line):
        return [line]
    words = list(filter(None, BETWEEN_WORDS.split(line)))
    kinds = {word: has_blank(word) for word in words}
    puzzles = [word for word in words if kinds[word]]
    answers = [word for word in words if kinds[word] is False]
    if not puzzles and len(nearest := max(words, key=len, default="")) > 9:
        return [nearest]  # of which `question_of` raises the error
    if len(puzzles) != 1 or len(answers) > 1:
        raise ValueError(f"{place}: {len(puzzles) or 'no'} puzzles on a line: {shorten(line)}; {FORMS}")
    remarks = [word for word in words if kinds[word] is None]
    if _are_like_grid(remarks, puzzles[0]):
        raise ValueError(f"{place}: {shorten(' '.join(remarks))} is neither an answer nor a remark")
    return [*puzzles, *answers]


def _are_like_grid(words: Sequence[str], puzzle: str) -> bool:
    """Return True for words that may be a spoilt answer or pieces of a grid, and not remarks beside a puzzle."""
    known, num = {*(SIGNS if len(puzzle) > 81 else SIGNS[:10]), *"0_-*x?"}, len(puzzle)
    runs = "".join(sign if sign in known else " " for sign in " ".join(words)).split()
    pieces = [len(word) for word in words if {*word} <= known]
    sizes = {num + piece + joint for piece in pieces if piece > 9 for joint in (0, 1)}
    near = (word for word in words if abs(len(word) - num) < 3)
    is_spoilt = any(sum(sign not in known for sign in word) < 2 for word in near)
    is_piece = any(len(run) > min(MAX_PIECE, num - 2) for run in runs) or abs(sum(pieces) - num) < 2
    return is_spoilt or is_piece or any(math.isqrt(size) ** 2 == size for size in sizes)


# Grids in rows.


def grids_in_rows(lines: Sequence[str], place_of: PlaceOf) -> Iterator[tuple[list[str], str]]:
    """Yield the places of the rows of each grid, and the grid. ValueError, with its place, for a line that is no row.

    Grids are separated by empty lines or headings. The grid below [State] belongs to the puzzle above.
    """
    index, is_apart, num_states = 0, True, 0
    digits = (line for line in lines if {*line} & {*"123456789"} and not is_comment(line))
    blank = next((sign for line in digits for sign in "-_" if sign in line), "")  # which frames have too
    while index < len(lines):
        line = lines[index]
        if HEADING.fullmatch(line.strip()) and not num_states:
            is_apart, num_states = True, int(line.strip().lower() == "[state]")
        elif is_comment(line) or (not line.strip() and not _begins_maze(lines, index)):
            is_apart |= not line.strip()
        elif is_apart and num_states < 2:
            rows, end = _rows_at(lines, index, blank, place_of)
            index, is_apart = end - 1, False
            if not num_states:
                yield [*rows], "".join(rows.values())
            num_states *= 2
        elif not is_ruling(line):
            reason = "more lines below [State]" if num_states else "no empty line between grids"
            raise ValueError(f"{place_of(index)}: {reason}: {shorten(line)}; {FORMS}")
        index += 1


def _rows_at(lines: Sequence[str], start: int, blank: str, place_of: PlaceOf) -> tuple[dict[str, str], int]:
    """Return the rows of the grid that begins at a line, by place, and the index after them.

    The first row has as many signs as there are rows. ValueError for a line that is no row.
    """
    first = next((line for line in lines[start : start + MAX_SIDE] if not is_ruling(line)), "")
    is_of_maze = is_drawn(first) and first != ""
    side, rows, index = len(first if is_of_maze else BETWEEN_SIGNS.sub("", first)), dict[str, str](), start
    while len(rows) < side or index == start:
        line = lines[index] if index < len(lines) else ""
        row = line if is_of_maze else BETWEEN_SIGNS.sub("", line)
        is_row_of_blanks = is_of_maze or ({*row} == {blank} and len(row) == side)
        if is_row_of_blanks or not is_ruling(line) or side < 3:
            if not 3 <= side <= MAX_SIDE:
                raise ValueError(f"{place_of(index)}: neither a puzzle nor a row: {shorten(line)}; {FORMS}")
            if len(row) != side:
                place = place_of(min(index, len(lines) - 1))
                size = f"{len(row)} signs" if index < len(lines) else f"the end after {len(rows)} rows"
                raise ValueError(f"{place}: {size}, the first row having {side}: {shorten(line)}; {FORMS}")
            rows[place_of(index)] = row
        index += 1
    return rows, index


def _begins_maze(lines: Sequence[str], index: int) -> bool:
    """Return True for a line of spaces that is the first row of a maze."""
    window = lines[index : index + min(len(lines[index]), MAX_SIDE)]
    return {*map(len, window)} == {len(window)} and bool(has_blank("".join(window)))
