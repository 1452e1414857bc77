"""Where the parts of a figure are, in whole pixels: title, rows of panels under captions, legend.

`figure` draws what is laid out here. Every cell of a figure is equally large, and no text runs into another.
(Nothing of the paper.)
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Final

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from serrm.drawing.panels import Panel

DPI: Final = 150
# Pixels.
MARGIN, COLUMN_GAP, ROW_GAP = 32, 44, 36
TITLE_HEIGHT, CAPTION_HEIGHT, REMARK_HEIGHT, LEGEND_GAP, LEGEND_LINE = 58, 36, 28, 26, 32
PANEL_SIZE, MAX_CELL, MAX_WIDTH = 460, 60, 3600
MIN_CELL, MIN_CELL_OF_TEXT = 8, 36
SAMPLE_WIDTH = 72  # of a legend's entry beside its text
# Points.
TITLE_SIZE, CAPTION_SIZE, REMARK_SIZE, LEGEND_SIZE = 13, 11, 9, 9

Rows = Sequence[Sequence[Panel | None]]
"""The panels of a picture in rows; None leaves a place empty."""


@dataclass(frozen=True)
class Layout:
    """Pixels from the top left corner: of columns and rows of panels (with captions), of the legend, of all."""

    cell: int
    lefts: list[int]
    tops: list[int]
    legend_top: int
    num_legend_columns: int
    width: int
    height: int


def lay_out(rows: Rows, title: str, legend: Sequence[str]) -> Layout:
    """The places of panels, a title and a legend's texts; there is at least one panel."""
    cell = _cell_size(rows)
    widths = _column_widths(rows, cell)
    heights = [_row_height(row, cell) for row in rows]
    top = MARGIN + (TITLE_HEIGHT if title else 0)
    entries = [SAMPLE_WIDTH + text_width(text, LEGEND_SIZE) for text in legend]
    width = max(
        sum(widths) + COLUMN_GAP * (len(widths) - 1), text_width(title, TITLE_SIZE, "bold"), *entries, 0
    )
    num_legend_columns = max(1, min(len(entries), width // max(entries, default=1)))
    bottom = top + sum(heights) + ROW_GAP * (len(heights) - 1)
    num_lines = math.ceil(len(entries) / num_legend_columns)
    legend_height = LEGEND_GAP + LEGEND_LINE * num_lines if entries else 0
    return Layout(
        cell,
        _starts(MARGIN, widths, COLUMN_GAP),
        _starts(top, heights, ROW_GAP),
        bottom + LEGEND_GAP,
        num_legend_columns,
        width + 2 * MARGIN,
        bottom + legend_height + MARGIN,
    )


def header_height(row: Sequence[Panel | None]) -> int:
    """What captions and remarks take above the grids of a row."""
    has_remark = any(panel is not None and panel.remark for panel in row)
    return CAPTION_HEIGHT + (REMARK_HEIGHT if has_remark else 0)


@lru_cache(maxsize=256)
def text_width(text: str, size: int, weight: str = "normal") -> int:
    """Pixels that a text takes, rounded up."""
    if not text:
        return 0
    written = text.replace("$", r"\$")  # which would begin a formula
    points: float = TextPath((0, 0), written, size=size, prop=FontProperties(weight=weight)).get_extents().x1
    return math.ceil(points * DPI / 72)


def _cell_size(rows: Rows) -> int:
    """So that grids are about as large as PANEL_SIZE, rows no wider than MAX_WIDTH, but digits readable above all."""
    panels = [panel for row in rows for panel in row if panel is not None]
    smallest = MIN_CELL_OF_TEXT if panels[0].task == "sudoku" else MIN_CELL
    longest = max(max(panel.num_rows, panel.num_columns) for panel in panels)
    across = max(sum(panel.num_columns for panel in row if panel is not None) for row in rows)
    fitting = min(PANEL_SIZE // max(longest, 1), MAX_WIDTH // max(across, 1))
    return min(MAX_CELL, max(smallest, fitting))


def _column_widths(rows: Rows, cell: int) -> list[int]:
    num_columns = max(len(row) for row in rows)
    columns = [[row[place] for row in rows if place < len(row)] for place in range(num_columns)]
    return [max(_panel_width(panel, cell) for panel in column) for column in columns]


def _panel_width(panel: Panel | None, cell: int) -> int:
    if panel is None:
        return 0
    texts = text_width(panel.caption, CAPTION_SIZE, "bold"), text_width(panel.remark, REMARK_SIZE)
    return max(*texts, panel.num_columns * cell)


def _row_height(row: Sequence[Panel | None], cell: int) -> int:
    num_cells = max((panel.num_rows for panel in row if panel is not None), default=0)
    return header_height(row) + num_cells * cell


def _starts(first: int, sizes: Sequence[int], gap: int) -> list[int]:
    return list(accumulate((size + gap for size in sizes), initial=first))[:-1]
