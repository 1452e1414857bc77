"""Grids over several lines: a line per row, with rulings, blank lines and comments between rows."""

from collections.abc import Sequence
from itertools import pairwise, product
from typing import NamedTuple

from serrm.puzzles.text import shorten
from serrm.reading.question import Found, Written
from serrm.reading.symbols import (
    LEAST_SIDE,
    LONGEST_ROW,
    is_ruling,
    row_of,
    rows_of_spaces,
    symbol_lists,
    whole_puzzle,
)


class Row(NamedTuple):
    """A line of a run: its place in the text from 0; its symbols, if it is a row; is it perhaps a ruling."""

    place: int
    symbols: tuple[str, ...]
    is_ruling: bool


def find_rows(lines: Sequence[str], start: int) -> Found | None:
    """The grids whose rows begin at line `start`; None if none do. ValueError for rows that make no grid."""
    sides = _sides(lines, start)
    runs = [_run(lines, start, side) for side in sides]
    for side, run in zip(sides, runs, strict=True):
        for part, has_rows_of_blanks in product((run, _first_part(run, side)), (True, False)):
            rows = [row for row in part if row.symbols and (has_rows_of_blanks or not row.is_ruling)]
            if rows and _are_grids(part, rows, side):
                grids = [rows[first : first + side] for first in range(0, len(rows), side)]
                return [(grid[0].place + 1, _written(grid)) for grid in grids], part[-1].place + 1
    if (spaced := rows_of_spaces(lines[start : start + LONGEST_ROW])) is not None:
        symbols = tuple(symbol for row in spaced for symbol in row)
        return [(start + 1, Written(symbols, "".join(symbols)))], start + len(spaced)
    for side, run in zip(sides, runs, strict=True):
        rows = [row for row in run if row.symbols and not row.is_ruling]
        if len(rows) > 1:
            raise ValueError(_misfit(lines, rows, run[-1].place + 1, side))
    return None


def is_row_of_more(lines: Sequence[str], start: int, side: int) -> bool:
    """True if this line and those after it, each of which might be a puzzle, are the rows of a larger grid."""
    window = lines[start : start + side]
    if side > LONGEST_ROW or len(window) < side or any(row_of(line, side) is None for line in window):
        return False
    return 2 * sum(whole_puzzle(line) is not None for line in window) < side


def _sides(lines: Sequence[str], start: int) -> list[int]:
    """The sides of grids whose first row may be the line at `start`, or the first after rulings there."""
    for place in range(start, len(lines)):
        line = lines[place]
        sides = dict.fromkeys(map(len, symbol_lists(line)))
        rows = [
            side for side in sides if LEAST_SIDE <= side <= LONGEST_ROW and row_of(line, side) is not None
        ]
        if not is_ruling(line):
            return rows if line.strip() else []
        if not (place + 1 < len(lines) and lines[place + 1].strip()):
            return rows
    return []


def _run(lines: Sequence[str], start: int, side: int) -> list[Row]:
    """The rows of a side and the rulings from `start` on, as far as only blank lines and comments lie between."""
    run = list[Row]()
    for place in range(start, len(lines)):
        line, symbols = lines[place], row_of(lines[place], side)
        if symbols is not None or is_ruling(line):
            run.append(Row(place, symbols or (), is_ruling(line)))
        elif line.strip() and not line.startswith("# "):
            break
    return run


def _first_part(run: Sequence[Row], side: int) -> Sequence[Row]:
    """The run up to the first blank line after as many rows as a grid has; another puzzle may begin there."""
    num = 0
    for end, (row, after) in enumerate(pairwise(run), start=1):
        num += bool(row.symbols) and not row.is_ruling
        if num >= side and after.place > row.place + 1:
            return run[:end]
    return run


def _are_grids(run: Sequence[Row], rows: Sequence[Row], side: int) -> bool:
    """True for whole grids: between blank lines lie whole grids, or bands of one height that are one together."""
    kept, heights, before = set(rows), list[int](), None
    for row in run:
        if before is None or row.place > before + 1:
            heights.append(0)
        heights[-1] += row in kept
        before = row.place
    heights = [height for height in heights if height]
    while heights:
        num = 1 if heights[0] % side == 0 else side // heights[0]
        bands, heights = heights[:num], heights[num:]
        if not bands or len(set(bands)) > 1 or sum(bands) % side:
            return False
    return True


def _written(rows: Sequence[Row]) -> Written:
    symbols = tuple(symbol for row in rows for symbol in row.symbols)
    return Written(symbols, (" " if max(map(len, symbols)) > 1 else "").join(symbols))


def _misfit(lines: Sequence[str], rows: Sequence[Row], end: int, side: int) -> str:
    """Why the rows are no grid, with the line that ends them."""
    words = f"{len(rows)} rows of {side} symbols are not a square grid, which has {side} rows"
    after = next((place for place in range(end, len(lines)) if lines[place].strip()), None)
    return words if after is None else f"{words}; line {after + 1} is {shorten(lines[after])}"
