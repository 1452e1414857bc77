"""Grids of decoded JSON and of Python values: text, cells, rows of cells, rows as text, and lists of these.

A cell is a whole number, also as a float, or a text of one sign; null, NaN and an empty text are blanks.
"""

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from serrm.puzzles.text import as_text, shorten
from serrm.reading.lines import SIGNS, grids_in_rows, is_drawn
from serrm.reading.question import MAX_SIDE, has_blank

MAX_DEPTH = 8  # of lists within lists


def plain(value: Any) -> Any:
    """Convert arrays, tensors, data frames and iterables to lists, numbers and dicts as JSON has them.

    A data frame becomes a dict of columns. ValueError for a tensor without numbers.
    """
    # The names of columns in pyarrow, and in other data frames.
    names = getattr(value, "column_names", getattr(value, "columns", None))
    if isinstance(value, Mapping) or names is not None:
        keys = [*(value if names is None else names)]
        if len({*map(str, keys)}) < len(keys):
            raise ValueError(f"two columns of the same name: {shorten(', '.join(map(str, keys)))}")
        return {str(key): plain(value[key]) for key in keys}
    if convert := getattr(value, "tolist", getattr(value, "to_pylist", None)):
        try:
            value = convert()
        except (RuntimeError, TypeError) as error:
            raise ValueError(f"a tensor without numbers: {str(error).splitlines()[0]}") from None
    if hasattr(value, "__iter__") and not isinstance(value, str | bytes | set | frozenset):
        return [plain(item) for item in value]
    return None if type(value).__name__ == "NAType" else value  # the missing value of pandas


def is_missing(value: Any) -> bool:
    """Return True for no value: null, NaN, or an empty text or list."""
    return value is None or value in ("", [], {}) or value != value


def grids_of(value: Any, place: str, depth: int = 0) -> list[str]:
    """List the grids of a text, a list of cells, of rows, or of grids. ValueError with the place for other values."""
    if isinstance(value, str):
        return [grid_of_text(value, place)]
    if not value or not isinstance(value, list) or depth > MAX_DEPTH:
        raise ValueError(f"{place}: not a grid: {shorten(as_text(value))}")
    if len(value) > 1 and _is_row(value):
        return [_grid_of_cells(value, place)]
    if not all(isinstance(item, str) or _is_row(item) for item in value):
        places = {f"{place} {number}": item for number, item in enumerate(value, start=1)}
        return [grid for place, item in places.items() for grid in grids_of(item, place, depth + 1)]
    rows = [row if isinstance(row, str) else _grid_of_cells(row, place) for row in value]
    # n rows of n cells are one grid, unless most rows are puzzles themselves.
    widths, side = {*map(len, rows)}, len(rows)
    if widths == {side} and 3 <= side <= MAX_SIDE and sum(map(bool, map(has_blank, rows))) < side / 2:
        return ["".join(rows)]
    number = next((number for number, row in enumerate(rows) if len(row) != side), 0)
    if (len(widths) > 1 and side in widths and side > 2) or max(widths) <= 9:
        reason = f"row {number + 1} of {side} has {len(rows[number])} cells"
        raise ValueError(f"{place}: {reason}: {shorten(as_text(value[number]))}")
    return [grid_of_text(row, f"{place} {number}") for number, row in enumerate(rows, start=1)]


def grid_of_text(text: str, place: str) -> str:
    """Return the grid of a text: a sign per cell, or rows on lines of their own. ValueError for several grids."""
    lines = text.strip("\r\n").splitlines()
    if len(lines) < 2:
        return "".join(lines) if is_drawn(text.strip("\r\n")) else text.strip()
    grids = [grid for _, grid in grids_in_rows(lines, lambda index: f"{place}: line {index + 1}")]
    if len(grids) != 1:
        raise ValueError(f"{place}: {len(grids)} grids in one text: {shorten(text)}")
    return grids[0]


def _is_row(value: Any) -> bool:
    """Return True for a list of values that may be cells of a grid."""
    cells = value if isinstance(value, list) else [True]
    return all(len(cell) < 2 if isinstance(cell, str) else _is_number(cell) for cell in cells)


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, Real) and not isinstance(value, bool))


def _grid_of_cells(cells: Sequence[Any], place: str) -> str:
    """Return the signs of cells: 0 for the number 0, and . for null. ValueError for a number that is none."""
    numbers = dict(enumerate(f"0{SIGNS[1:]}"))
    if wrong := [
        cell for cell in cells if not (isinstance(cell, str) or is_missing(cell) or cell in numbers)
    ]:
        raise ValueError(f"{place}: a cell holds {wrong[0]}, not a number up to {MAX_SIDE} or a blank")
    return "".join(cell if isinstance(cell, str) and cell else numbers.get(cell, ".") for cell in cells)
