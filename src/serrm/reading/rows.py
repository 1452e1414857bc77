"""Grids over several lines: a line per row, with rulings, blank lines and comments between rows."""

from collections.abc import Sequence
from itertools import pairwise, product
from typing import NamedTuple

from serrm.puzzles.text import shorten
from serrm.reading.question import Match, WrittenGrid
from serrm.reading.symbols import (
    BLANK_CELL,
    MAX_ROW,
    MIN_SIDE,
    is_ruling,
    num_rows_with_spaces,
    row_of,
    rows_of_spaces,
    symbol_lists,
    whole_puzzle,
)


class Row(NamedTuple):
    """A line of a grid: its index in the text, its symbols (empty if it is no row), and whether it may be a ruling."""

    line_index: int
    symbols: tuple[str, ...]
    is_ruling: bool


def find_rows(lines: Sequence[str], start: int) -> Match | None:
    """The grids whose rows begin at line `start`; None if none do. ValueError for rows that make no grid."""
    sides = _sides(lines, start)
    runs = [_run(lines, start, side) for side in sides]
    # Lines of dashes are taken first as rows of blanks, then as rulings; in the whole run, then in its first part.
    for side, run in zip(sides, runs, strict=True):
        for part, has_rows_of_blanks in product((run, _first_part(run, side)), (True, False)):
            rows = [row for row in part if row.symbols and (has_rows_of_blanks or not row.is_ruling)]
            if rows and _are_grids(part, rows, side):
                grids = [rows[first : first + side] for first in range(0, len(rows), side)]
                numbered = [(grid[0].line_index + 1, grid_of_rows(grid)) for grid in grids]
                return Match(numbered, part[-1].line_index + 1)
    if (spaced := find_spaced_rows(lines, start)) is not None:
        return spaced
    # No grid was found; two rows or more are a grid with an error.
    for side, run in zip(sides, runs, strict=True):
        rows = [row for row in run if row.symbols and not row.is_ruling]
        if len(rows) > 1:
            raise ValueError(_misfit(lines, rows, run[-1].line_index + 1, side))
    return None


def find_spaced_rows(lines: Sequence[str], start: int) -> Match | None:
    """The grid with spaces for blanks that begins at line `start`; None if there is none.

    A row of spaces at `start` is part of a grid only if whole grids follow, with one such row
    between every two or none at all.
    """
    rows = rows_of_spaces(lines[start : start + MAX_ROW])
    if rows is None:
        return None
    side, symbols = len(rows), tuple(symbol for row in rows for symbol in row)
    if not lines[start].strip():
        num = num_rows_with_spaces(lines[start:])
        are_whole = num % side == 0 or (num + 1) % (side + 1) == 0
        if set(symbols) == {BLANK_CELL} or not are_whole:
            return None
    return Match([(start + 1, WrittenGrid(symbols, "".join(symbols)))], start + side)


def may_be_between_rows(line: str) -> bool:
    """True for a line that may stand between the rows of a grid: a blank line, or a comment that begins with `# `."""
    return not line.strip() or line.startswith("# ")


def is_row_of_more(lines: Sequence[str], start: int, side: int) -> bool:
    """True if the line at `start`, which may be a puzzle, and the next ones are the rows of a larger grid."""
    window = lines[start : start + side]
    if side > MAX_ROW or len(window) < side or any(row_of(line, side) is None for line in window):
        return False
    return 2 * sum(whole_puzzle(line) is not None for line in window) < side


def _sides(lines: Sequence[str], start: int) -> list[int]:
    """The possible sides of a grid whose first row is the line at `start`, or the first line after rulings there."""
    for index in range(start, len(lines)):
        line = lines[index]
        sides = dict.fromkeys(map(len, symbol_lists(line)))
        possible = [side for side in sides if MIN_SIDE <= side <= MAX_ROW and row_of(line, side) is not None]
        if not is_ruling(line):
            return possible if line.strip() else []
        has_row_below = index + 1 < len(lines) and lines[index + 1].strip() != ""
        if not has_row_below:
            return possible  # the line may be a row of blanks, such as `----`
    return []


def _run(lines: Sequence[str], start: int, side: int) -> list[Row]:
    """The rows of `side` symbols and the rulings from `start` on, up to the first other line.

    Blank lines and comments between them are skipped.
    """
    run = list[Row]()
    for index in range(start, len(lines)):
        line, symbols = lines[index], row_of(lines[index], side)
        if symbols is not None or is_ruling(line):
            run.append(Row(index, symbols or (), is_ruling(line)))
        elif not may_be_between_rows(line):
            break
    return run


def _first_part(run: Sequence[Row], side: int) -> Sequence[Row]:
    """The run up to the first blank line after `side` rows, where another puzzle may begin."""
    num = 0
    for end, (row, after) in enumerate(pairwise(run), start=1):
        num += bool(row.symbols) and not row.is_ruling
        if num >= side and after.line_index > row.line_index + 1:
            return run[:end]
    return run


def _are_grids(run: Sequence[Row], rows: Sequence[Row], side: int) -> bool:
    """True if blank lines separate whole grids, or bands of equal height that form whole grids."""
    kept, heights = set(rows), list[int]()  # heights: the numbers of rows between blank lines
    last_line = None
    for row in run:
        if last_line is None or row.line_index > last_line + 1:
            heights.append(0)
        if row in kept:
            heights[-1] += 1
        last_line = row.line_index
    heights = [height for height in heights if height]
    while heights:
        num_bands = 1 if heights[0] % side == 0 else side // heights[0]
        bands, heights = heights[:num_bands], heights[num_bands:]
        if not bands or len(set(bands)) > 1 or sum(bands) % side:
            return False
    return True


def grid_of_rows(rows: Sequence[Row]) -> WrittenGrid:
    """The symbols of rows in reading order; as text, with spaces between them if one has several characters."""
    symbols = tuple(symbol for row in rows for symbol in row.symbols)
    return WrittenGrid(symbols, (" " if max(map(len, symbols)) > 1 else "").join(symbols))


def _misfit(lines: Sequence[str], rows: Sequence[Row], end: int, side: int) -> str:
    """The message about rows that form no grid, with the line after them."""
    message = f"{len(rows)} rows of {side} symbols are not a square grid, which has {side} rows"
    after = next((index for index in range(end, len(lines)) if lines[index].strip()), None)
    return message if after is None else f"{message}; line {after + 1} is {shorten(lines[after])}"
