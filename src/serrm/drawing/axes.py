"""Panels on matplotlib axes: how the cells of a Sudoku, a maze and an ARC grid look in a figure.

`figure` lays out the panels of a picture and calls `draw_panel` for each. Cell (r, c) is the unit square from
x = c, y = r, with y downwards. ARC has its official colours; the rest follows the paper's figures of its tasks.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from jaxtyping import UInt8
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection

from serrm.drawing.colours import (
    ARC_COLOURS,
    ARC_LINE,
    CHANGED,
    CHANGED_TINT,
    FILLED,
    GIVEN_TINT,
    GOAL,
    INK,
    LINE,
    PAPER,
    START,
    WALL,
    WRONG,
    WRONG_TINT,
    painted,
)
from serrm.drawing.marks import marked
from serrm.drawing.panels import Mask, Panel
from serrm.drawing.paths import links
from serrm.drawing.symbols import BLANK, sudoku_symbol
from serrm.puzzles.arc.canvas import END_OF_GRID, FIRST_COLOUR, PADDING
from serrm.puzzles.maze import grid as maze
from serrm.puzzles.sudoku.grid import box_for_side

BACKGROUND: Final = 1  # drawing order: cells, lines, paths, marks
LINES, PATHS, MARKS = 2, 3, 4
GIVEN_LOOK: Final = {"color": INK, "fontweight": "bold"}
FILLED_LOOK: Final = {"color": FILLED, "fontweight": "normal"}


def draw_panel(axes: Axes, panel: Panel, cell: float) -> None:
    """Draw a panel over the whole of some axes, on which a cell is `cell` points wide and high."""
    axes.set(xlim=(0, max(panel.num_columns, 1)), ylim=(max(panel.num_rows, 1), 0))
    axes.set_axis_off()
    if panel.cells.size:
        DRAWERS[panel.task](axes, panel, cell)


def _draw_sudoku(axes: Axes, panel: Panel, cell: float) -> None:
    side = panel.num_rows
    box = box_for_side(side)
    shade = np.where(panel.is_wrong, 2, panel.is_given).astype(np.uint8)
    _paint(axes, painted(shade, (PAPER, GIVEN_TINT, WRONG_TINT)))
    _mark_corners(axes, panel.is_changed, CHANGED, PAPER)
    for row, column in np.argwhere(panel.cells != BLANK).tolist():
        symbol = sudoku_symbol(int(panel.cells[row, column]))
        look = GIVEN_LOOK if panel.is_given[row, column] else FILLED_LOOK
        _write(axes, row, column, symbol, fontsize=0.58 * cell, **look)
    _draw_grid(axes, range(side + 1), range(side + 1), LINE, 0.03 * cell)
    _draw_grid(axes, range(0, side + 1, box.rows), range(0, side + 1, box.cols), INK, 0.075 * cell)


def _draw_maze(axes: Axes, panel: Panel, cell: float) -> None:
    is_wall, is_overwritten = panel.cells == maze.WALL, panel.is_given & panel.is_wrong
    shade = np.select([is_overwritten, is_wall, panel.is_changed], [3, 1, 2]).astype(np.uint8)
    _paint(axes, painted(shade, (PAPER, WALL, CHANGED_TINT, WRONG_TINT)))
    _mark_corners(axes, panel.is_changed & (is_overwritten | is_wall), CHANGED, PAPER)
    _draw_grid(axes, (0, panel.num_rows), (0, panel.num_columns), WALL, 0.1 * cell)
    _draw_path(axes, panel, 0.36 * cell)
    _scatter(axes, marked(panel)["missed"], "o", 0.44 * cell, PAPER, FILLED)
    for token, letter, colour in ((maze.START, "S", START), (maze.GOAL, "G", GOAL)):
        _scatter(axes, panel.cells == token, "o", 1.1 * cell, colour, PAPER)
        for row, column in np.argwhere(panel.cells == token).tolist():
            _write(axes, row, column, letter, fontsize=0.7 * cell, fontweight="bold", color=PAPER)


def _draw_path(axes: Axes, panel: Panel, width: float) -> None:
    """A line through the path's cells, of another colour where one of the two it joins is wrong."""
    joined = links(panel.cells)
    for colour, is_wrong in ((FILLED, False), (WRONG, True)):
        chosen = [
            (first, second)
            for first, second in joined
            if bool(panel.is_wrong[first] or panel.is_wrong[second]) is is_wrong
        ]
        segments = [[(column + 0.5, row + 0.5) for row, column in pair] for pair in chosen]
        look: dict[str, Any] = {"colors": colour, "linewidths": width, "capstyle": "round"}
        axes.add_collection(LineCollection(segments, zorder=PATHS, **look))
        is_alone = np.zeros(panel.cells.shape, dtype=bool)
        for first, second in chosen:
            is_alone[first] = first == second
        _scatter(axes, is_alone, "o", 1.3 * width, colour, colour)


def _draw_arc(axes: Axes, panel: Panel, cell: float) -> None:
    width = max(0.5, 0.035 * cell)
    for token, hatch in ((PADDING, "////"), (END_OF_GRID, "xxxx")):
        _draw_squares(axes, panel.cells == token, PAPER, LINE, 0.5 * width, hatch)
    for colour, paint in enumerate(ARC_COLOURS, start=FIRST_COLOUR):
        _draw_squares(axes, panel.cells == colour, paint, ARC_LINE, width)
    _mark_corners(axes, panel.is_changed, PAPER, INK)
    _scatter(axes, panel.is_wrong, "X", 0.5 * cell, PAPER, INK)


DRAWERS: Final[dict[str, Callable[[Axes, Panel, float], None]]] = {
    "sudoku": _draw_sudoku,
    "maze": _draw_maze,
    "arc_agi_1": _draw_arc,
    "arc_agi_2": _draw_arc,
}


def _paint(axes: Axes, image: UInt8[np.ndarray, "R C 3"]) -> None:
    """Fill the cells with colours, as shapes: an image would be blurred where it is enlarged."""
    axes.pcolormesh(image, zorder=BACKGROUND, linewidth=0, rasterized=False, antialiased=False)


def _draw_grid(axes: Axes, rows: Any, columns: Any, colour: str, width: float) -> None:
    """Lines across the whole grid, at some rows and columns; those at the edges are drawn in full width."""
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    lines = [[(left, row), (right, row)] for row in rows]
    lines += [[(column, bottom), (column, top)] for column in columns]
    look: dict[str, Any] = {"colors": colour, "linewidths": width, "capstyle": "projecting"}
    axes.add_collection(LineCollection(lines, zorder=LINES, clip_on=False, **look))


def _draw_squares(
    axes: Axes, is_drawn: Mask, colour: str, edge: str, width: float, hatch: str | None = None
) -> None:
    """Fill some cells and outline them; a hatch has the colour of the outline."""
    squares = [_square(row, column) for row, column in np.argwhere(is_drawn).tolist()]
    look: dict[str, Any] = {"facecolors": colour, "edgecolors": edge, "linewidths": width, "hatch": hatch}
    axes.add_collection(PolyCollection(squares, zorder=BACKGROUND, clip_on=False, **look))


def _square(row: int, column: int) -> list[tuple[int, int]]:
    return [(column, row), (column + 1, row), (column + 1, row + 1), (column, row + 1)]


def _mark_corners(axes: Axes, is_marked: Mask, colour: str, edge: str) -> None:
    """A triangle in the top right corner of each marked cell."""
    triangles = [
        [(column + 0.62, row + 0.04), (column + 0.96, row + 0.04), (column + 0.96, row + 0.38)]
        for row, column in np.argwhere(is_marked).tolist()
    ]
    axes.add_collection(
        PolyCollection(triangles, facecolors=colour, edgecolors=edge, linewidths=0.5, zorder=MARKS)
    )


def _scatter(axes: Axes, is_marked: Mask, marker: str, size: float, colour: str, edge: str) -> None:
    """A marker of `size` points in the middle of each marked cell."""
    rows, columns = np.nonzero(is_marked)
    look: dict[str, Any] = {
        "markerfacecolor": colour,
        "markeredgecolor": edge,
        "markeredgewidth": 0.12 * size,
    }
    axes.plot(columns + 0.5, rows + 0.5, marker, markersize=size, zorder=MARKS, **look)


def _write(axes: Axes, row: int, column: int, text: str, **look: Any) -> None:
    """A text in the middle of a cell, of letters and digits as high as capitals."""
    place = column + 0.5, row + 0.53
    axes.text(*place, text, ha="center", va="center_baseline", zorder=MARKS + 1, **look)
