"""Grids of Python values and of decoded JSON: cells, rows of cells, rows as text, arrays of several grids.

A cell is a whole number, also as a float, or a text of one symbol; None, NaN, −1 and an empty text are blanks, and so
is a space unless the cells are those of a maze. In an array `B I` every row is a grid of I = n² cells.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from serrm.puzzles.text import as_text, shorten
from serrm.reading.drawings import drawn_records, grid_of_line
from serrm.reading.lines import QUESTION_NAMES, grid_of_field
from serrm.reading.question import WrittenGrid, is_grid_size, is_puzzle
from serrm.reading.symbols import BLANK_CELL, MAX_ROW, MIN_SIDE


def as_lists(value: Any) -> Any:
    """Convert arrays, tensors and tables of other libraries to lists; other values are returned unchanged.

    A table with a column of questions becomes a list of records.
    """
    if hasattr(value, "to_dict") and hasattr(value, "columns"):  # of pandas
        has_questions = any(str(column).lower() in QUESTION_NAMES for column in value.columns)
        return value.to_dict("records") if has_questions else value.to_numpy().tolist()
    return value.tolist() if hasattr(value, "tolist") else value


def grids_of(values: Sequence[Any]) -> list[WrittenGrid] | None:
    """The grids of a list of cells, of rows, or of rows as text; None if the list is none of these.

    ValueError for rows that make no grid.
    """
    if values and all(isinstance(value, str) and len(value) > 2 for value in values):
        return _of_texts(values)
    if len(values) >= MIN_SIDE**2 and all(map(is_cell, values)):
        return [_written_grid(values, as_text(values))]
    if not values or not all(
        isinstance(row, list | tuple) and row and all(map(is_cell, row)) for row in values
    ):
        _check_cells(values)
        return None
    side, widths = len(values), {len(row) for row in values}
    grids = [_written_grid(row, as_text(row)) for row in values]
    cells = [cell for row in values for cell in row]
    is_flat = len(widths) == 1 and is_grid_size(next(iter(widths)))
    # n rows of n cells are one grid, unless the rows are longer than any grid's or every row is itself a puzzle.
    is_square = widths == {side} and (side <= MAX_ROW or not is_flat)
    is_one = is_square and not (is_flat and all(map(is_puzzle, grids)) and any(map(is_clue, cells)))
    if is_one:
        return [_written_grid(cells, as_text(values))]
    if is_flat:
        return grids
    if len(widths) == 1:
        raise ValueError(f"{side} rows of {len(values[0])} cells are not a square grid")
    number, row = next((number, row) for number, row in enumerate(values, start=1) if len(row) != side)
    raise ValueError(f"row {number} has {len(row)} cells in a grid of {side} rows: {shorten(as_text(row))}")


def is_clue(cell: Any) -> bool:
    """True for a cell that is not blank."""
    return symbol_of(cell) not in ("0", BLANK_CELL)


def _of_texts(values: Sequence[str]) -> list[WrittenGrid] | None:
    """The grid of a list of texts, one per row; None if most texts are puzzles themselves, or they form no square."""
    rows = [grid_of_field(value) for value in values]
    are_rows = {len(row.symbols) for row in rows} == {len(values)}
    num_alone = sum(is_puzzle(row) for row in rows) if are_rows and is_grid_size(len(values)) else 0
    if not are_rows or 2 * num_alone > len(values):
        return None
    return [
        WrittenGrid(
            tuple(symbol for row in rows for symbol in row.symbols), "".join(row.text for row in rows)
        )
    ]


def _check_cells(values: Sequence[Any]) -> None:
    """Raise ValueError for rows with an item that is not a cell, and for empty rows."""
    rows = [row for row in values if isinstance(row, list | tuple)]
    if (
        not rows
        or len(rows) != len(values)
        or any(isinstance(cell, list | tuple | Mapping) for row in rows for cell in row)
    ):
        return
    for number, row in enumerate(rows, start=1):
        if wrong := [cell for cell in row if not is_cell(cell)]:
            if isinstance(wrong[0], str) and len(wrong[0]) > 2:
                return
            raise ValueError(f"row {number} holds {shorten(as_text(wrong[0]))}, not a number or a blank")
        if not row:
            raise ValueError(f"row {number} is empty")


def is_cell(value: Any) -> bool:
    """True for a value that may be a cell of a grid."""
    if isinstance(value, str):
        return len(value.strip()) <= 1 or (len(value) == 2 and value.isdecimal())
    if isinstance(value, float):
        return math.isnan(value) or value.is_integer()
    return value is None or (isinstance(value, int) and not isinstance(value, bool))


def symbol_of(value: Any) -> str:
    """The symbol of a cell."""
    if value is None or value == -1 or (isinstance(value, float) and math.isnan(value)):
        return BLANK_CELL
    return (value.strip() or BLANK_CELL) if isinstance(value, str) else str(int(value))


def _written_grid(cells: Sequence[Any], text: str) -> WrittenGrid:
    if all(isinstance(cell, str) and len(cell) == 1 for cell in cells):
        for record in drawn_records():
            if set(cells) <= set(record.text.characters) and record.recognises("".join(cells)):
                return grid_of_line("".join(cells))
    is_text = any(isinstance(cell, str) for cell in cells)
    return WrittenGrid(tuple(map(symbol_of, cells)), text.replace("NaN", "null"), is_text=is_text)
