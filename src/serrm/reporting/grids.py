"""Panels of `serrm.drawing` as small SVG pictures, for the page and for the figure of equivariance.

A page holds hundreds of grids: they are written cell by cell as text here, in a hundredth of the time and size that
figures take. What a panel shows is decided in `serrm.drawing`. Shapes are drawn with cells as unit squares; letters
beside them at CELL units a cell, for browsers set no type of half a pixel.
"""

from collections.abc import Callable, Iterable
from typing import Final
from xml.sax.saxutils import escape

import numpy as np

from serrm.drawing.colours import (
    ARC_COLOURS,
    ARC_LINE,
    CHANGED,
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
)
from serrm.drawing.panels import Mask, Panel
from serrm.drawing.paths import links
from serrm.drawing.symbols import sudoku_symbol
from serrm.puzzles.arc.canvas import FIRST_COLOUR
from serrm.puzzles.maze.grid import GOAL as GOAL_TOKEN
from serrm.puzzles.maze.grid import PATH
from serrm.puzzles.maze.grid import START as START_TOKEN
from serrm.puzzles.maze.grid import WALL as WALL_TOKEN
from serrm.puzzles.sudoku.grid import box_for_side
from serrm.reporting.svg import Length, number, path, rectangle, text

RIGHT_TINT: Final = "#A9D1EA"  # cells filled in rightly, in a grid without digits
HALF: Final = 0.5
CELL: Final = 20
MARGIN: Final = 1  # around the grid, for the outer line


def grid_svg(panel: Panel, title: str, x: Length = 0, y: Length = 0, size: Length | None = None) -> str:
    """A panel as an <svg>; with a `size`, that wide and with its corner at (x, y) of the figure around it."""
    shapes = f'<g transform="scale({CELL})">{"".join(SHAPES[panel.task](panel))}</g>'
    return _framed(panel, title, shapes + "".join(LETTERS.get(panel.task, _none)(panel)), x, y, size)


def verdict_svg(panel: Panel, title: str) -> str:
    """A Sudoku without its digits: given, right and wrong cells. Panels of other tasks are drawn as they are."""
    if panel.task != "sudoku":
        return grid_svg(panel, title)
    is_right = ~panel.is_given & ~panel.is_wrong & (panel.cells > 1)
    shades = _cells(panel.is_given, GIVEN_TINT), _cells(is_right, RIGHT_TINT), _cells(panel.is_wrong, WRONG)
    shapes = "".join((_ground(panel), *shades, _boxes(len(panel.cells))))
    return _framed(panel, title, f'<g transform="scale({CELL})">{shapes}</g>')


def _framed(
    panel: Panel, title: str, parts: str, x: Length = 0, y: Length = 0, size: Length | None = None
) -> str:
    rows, columns = panel.cells.shape
    place = ""
    if size is not None:
        height = size * rows / max(columns, 1)
        place = f'x="{number(x)}" y="{number(y)}" width="{number(size)}" height="{number(height)}" '
    box = f"{-MARGIN} {-MARGIN} {columns * CELL + 2 * MARGIN} {rows * CELL + 2 * MARGIN}"
    return f'<svg {place}viewBox="{box}" role="img"><title>{escape(title)}</title>{parts}</svg>'


def _sudoku(panel: Panel) -> Iterable[str]:
    side = len(panel.cells)
    yield _ground(panel)
    yield _cells(panel.is_given & ~panel.is_wrong, GIVEN_TINT)
    yield _cells(panel.is_wrong, WRONG_TINT)
    yield _corners(panel.is_changed)
    yield _lines(range(1, side), range(1, side), side, side, LINE, 0.03)
    yield _boxes(side)


def _digits(panel: Panel) -> Iterable[str]:
    """What is given in bold, what is filled in in another colour."""
    for is_shown, look in (
        (panel.is_given, f'fill="{INK}" font-weight="700"'),
        (~panel.is_given, f'fill="{FILLED}"'),
    ):
        symbols = "".join(
            _letter(*place, sudoku_symbol(int(panel.cells[place]))) for place in _places(is_shown)
        )
        yield f'<g {look} font-size="{0.62 * CELL}" text-anchor="middle">{symbols}</g>'


def _letters(panel: Panel) -> Iterable[str]:
    """The letters of start and goal."""
    ends = ((START_TOKEN, "S"), (GOAL_TOKEN, "G"))
    letters = (_letter(*place, name) for token, name in ends for place in _places(panel.cells == token))
    yield f'<g fill="{PAPER}" font-size="{0.6 * CELL}" text-anchor="middle">{"".join(letters)}</g>'


def _letter(row: int, column: int, symbol: str) -> str:
    return text((column + HALF) * CELL, (row + 0.72) * CELL, symbol) if symbol else ""


def _places(is_wanted: Mask) -> list[tuple[int, int]]:
    return [(row, column) for row, column in np.argwhere(is_wanted).tolist()]


def _none(panel: Panel) -> Iterable[str]:
    return ()


def _maze(panel: Panel) -> Iterable[str]:
    yield _ground(panel)
    yield _cells(panel.cells == WALL_TOKEN, WALL)
    yield _cells(panel.is_given & panel.is_wrong, WRONG_TINT)
    is_right = ~panel.is_wrong
    for colour, is_wanted in ((FILLED, True), (WRONG, False)):
        lines = [(a, b) for a, b in links(panel.cells) if bool(is_right[a] and is_right[b]) is is_wanted]
        d = "".join(f"M{a[1] + HALF} {a[0] + HALF}L{b[1] + HALF} {b[0] + HALF}" for a, b in lines)
        yield path(d, fill="none", stroke=colour, stroke_width=0.36, stroke_linecap="round") if d else ""
    missed = panel.is_wrong & ~panel.is_given & (panel.cells != PATH)
    yield _circles(missed, 0.17, PAPER, FILLED)
    yield _circles(panel.cells == START_TOKEN, 0.44, START, START)
    yield _circles(panel.cells == GOAL_TOKEN, 0.44, GOAL, GOAL)
    rows, columns = panel.cells.shape
    yield _lines((0, rows), (0, columns), rows, columns, WALL, 0.1)


def _arc(panel: Panel) -> Iterable[str]:
    rows, columns = panel.cells.shape
    yield _ground(panel)
    for token, shade in enumerate(ARC_COLOURS, start=FIRST_COLOUR):
        yield _cells(panel.cells == token, shade)
    yield _lines(range(rows + 1), range(columns + 1), rows, columns, ARC_LINE, 0.04)
    cross = "".join(
        f"M{number(column + 0.3)} {number(row + 0.3)}l.4 .4m0 -.4l-.4 .4"
        for row, column in _places(panel.is_wrong)
    )
    for colour, width in ((INK, 0.2), (PAPER, 0.12)):
        yield (
            path(cross, fill="none", stroke=colour, stroke_width=width, stroke_linecap="round")
            if cross
            else ""
        )


Drawer = Callable[[Panel], Iterable[str]]
SHAPES: Final[dict[str, Drawer]] = {"sudoku": _sudoku, "maze": _maze, "arc_agi_1": _arc, "arc_agi_2": _arc}
LETTERS: Final[dict[str, Drawer]] = {"sudoku": _digits, "maze": _letters}


def _ground(panel: Panel) -> str:
    rows, columns = panel.cells.shape
    return rectangle(0, 0, columns, rows, fill=PAPER)


def _cells(is_painted: Mask, colour: str) -> str:
    """Painted cells, runs of a row as one rectangle each."""
    runs = []
    for row, painted in enumerate(is_painted):
        edges = np.flatnonzero(np.diff(np.concatenate(([0], painted.astype(np.int8), [0])))).tolist()
        runs += [f"M{a} {row}h{b - a}v1h{a - b}z" for a, b in zip(edges[::2], edges[1::2], strict=True)]
    return path("".join(runs), fill=colour) if runs else ""


def _corners(is_marked: Mask) -> str:
    """A triangle in the top right corner of each marked cell."""
    d = "".join(
        f"M{number(column + 0.7)} {number(row + 0.05)}h.25v.25z" for row, column in _places(is_marked)
    )
    return path(d, fill=CHANGED) if d else ""


def _circles(is_marked: Mask, radius: Length, fill: str, stroke: str) -> str:
    look = f'r="{number(radius)}" fill="{fill}" stroke="{stroke}" stroke-width="0.08"'
    return "".join(
        f'<circle cx="{column + HALF}" cy="{row + HALF}" {look}/>' for row, column in _places(is_marked)
    )


def _boxes(side: int) -> str:
    box = box_for_side(side)
    return _lines(range(0, side + 1, box.rows), range(0, side + 1, box.cols), side, side, INK, 0.08)


def _lines(
    at_rows: Iterable[int], at_columns: Iterable[int], rows: int, columns: int, colour: str, width: Length
) -> str:
    d = "".join(f"M0 {row}h{columns}" for row in at_rows) + "".join(
        f"M{column} 0v{rows}" for column in at_columns
    )
    return path(d, fill="none", stroke=colour, stroke_width=width, stroke_linecap="square")
