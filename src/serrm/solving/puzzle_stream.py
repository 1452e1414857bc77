"""Puzzles from wherever a user has them: arguments, standard input, files of text, CSV or JSON, mixed as they come.

First link of `serrm solve`. Everything is read lazily, line by line, so that a stream may be endless. A line is a
puzzle: a Sudoku (a character a cell, `.` or `0` for a blank), a maze (of `# SG`), or a JSON value of them; a first
line that names a column "question" makes the rest a table, and a first line that is the beginning of a JSON value
makes everything one. A line that is no puzzle becomes an entry that says so, and reading goes on. (The files of the
paper's tasks among others.)
"""

import csv
import json
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from serrm.puzzles.maze.grid import CHARACTERS
from serrm.puzzles.tables import shorten
from serrm.solving.questions import MAZE, Entry, entries_of_text, entries_of_value

COLUMNS = ("question", "puzzle", "quizzes", "quiz")  # what tables call the puzzle
STANDARD_INPUT = "standard input"

Rows = Iterator[tuple[int, str]]  # numbers from 1, and lines without their ends


def read_arguments(arguments: Iterable[str], standard_input: Iterable[str], task: str) -> Iterator[Entry]:
    """The puzzles of command-line arguments: each a puzzle itself, a file of puzzles, or `-` for standard input.

    `task` is the checkpoint's; it decides what a line that begins with # is (see `read_lines`).
    """
    for number, argument in enumerate(arguments, start=1):
        if argument == "-":
            yield from read_lines(standard_input, STANDARD_INPUT, task)
        elif _is_file(argument):
            yield from _read_file(Path(argument), task)
        else:
            yield from entries_of_text(argument, f"argument {number}")


def read_lines(lines: Iterable[str], source: str, task: str, name: str = "") -> Iterator[Entry]:
    """The puzzles of lines of text, of JSON or of a table, as the first of them tells.

    Blank lines are skipped, and comments: lines with a # in front that are no maze, unless the task is mazes.
    `name` is that of an ARC task which has none in the file.
    """
    numbered = ((number, line.rstrip("\r\n")) for number, line in enumerate(lines, start=1))
    kept = ((number, line) for number, line in numbered if line.strip() and not _is_comment(line, task))
    first = next(kept, None)
    if first is None:
        return
    header, rows = _header(first[1]), chain([first], kept)
    if header is not None:
        yield from _read_table(kept, source, *header)
    elif _is_cut_short(first[1]):
        yield from _read_document(rows, source, name)
    else:
        yield from _read_rows(rows, source, name)


def _read_file(path: Path, task: str) -> Iterator[Entry]:
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as lines:
            yield from read_lines(lines, str(path), task, path.stem)
    except OSError as error:
        yield Entry(str(path), str(path), None, f"cannot be read: {error.strerror}")


def _is_file(argument: str) -> bool:
    try:
        return Path(argument).is_file()
    except OSError:  # a puzzle may be longer than a name can be
        return False


def _is_comment(line: str, task: str) -> bool:
    is_maze = not {"S", "G"}.isdisjoint(line) and set(line) <= set(CHARACTERS)
    return line.startswith("#") and task != MAZE and not is_maze


def _header(line: str) -> tuple[str, int] | None:
    """Delimiter and place of the puzzle's column, if the line is the header of a table."""
    for delimiter in (",", "\t"):
        names = [name.strip().strip('"').lower() for name in line.split(delimiter)]
        column = next((names.index(name) for name in COLUMNS if name in names), None)
        if column is not None:
            return delimiter, column
    return None


def _read_table(rows: Rows, source: str, delimiter: str, column: int) -> Iterator[Entry]:
    """A row at a time: a quote that is not closed must not take the rows after it along."""
    for number, line in rows:
        place = f"{source}:{number}"
        try:
            cells = next(csv.reader([line], delimiter=delimiter))
        except csv.Error as error:
            yield Entry(place, line, None, f"{error}: {shorten(line)}")
            continue
        if column < len(cells):
            yield from entries_of_text(cells[column], place)
        else:
            yield Entry(place, line, None, f"{len(cells)} columns are too few: {shorten(line)}")


def _read_rows(rows: Rows, source: str, name: str) -> Iterator[Entry]:
    for number, line in rows:
        yield from entries_of_text(line, f"{source}:{number}", name)


def _read_document(rows: Rows, source: str, name: str) -> Iterator[Entry]:
    """One JSON value over several lines; a line at a time if it is none after all."""
    kept = list(rows)
    try:
        value = json.loads("\n".join(line for _, line in kept))
    except (ValueError, RecursionError):
        yield from _read_rows(iter(kept), source, name)
        return
    yield from entries_of_value(value, source, name)


def _is_cut_short(line: str) -> bool:
    """Whether a line is the beginning of JSON that goes on, rather than a value or one with a mistake in it."""
    text = line.strip()
    if text[0] not in "{[":
        return False
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.pos >= len(text)
    except (ValueError, RecursionError):
        pass
    return False
