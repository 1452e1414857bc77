"""A panel as a small SVG picture: on the page, in MLflow, in the figure of equivariance and in `serrm show --out`.

A page holds hundreds of grids, so they are written as text. Shapes are drawn with cells as unit squares; letters beside
them at CELL units a cell, for browsers set no type of half a pixel.
"""

from collections.abc import Callable, Iterable
from typing import Final
from xml.sax.saxutils import escape

import numpy as np

from serrm.drawing import colours
from serrm.drawing.marks import links, marked, places
from serrm.drawing.panels import Mask, Panel
from serrm.drawing.svg import Length, number, path, rectangle, text
from serrm.drawing.tasks import sudoku_symbol
from serrm.puzzles.arc.canvas import FIRST_COLOUR
from serrm.puzzles.maze import grid as maze
from serrm.puzzles.sudoku.grid import box_for_side

RIGHT_TINT: Final = "#A9D1EA"  # cells filled in rightly, in a grid without digits
HALF: Final = 0.5
CELL: Final = 20
MARGIN: Final = 1  # around the grid, for the outer line
Drawer = Callable[[Panel], Iterable[str]]


def grid_svg(panel: Panel, title: str, x: Length = 0, y: Length = 0, size: Length | None = None) -> str:
    """A panel as an <svg>; with a `size`, that of its longer side, at (x, y) of the figure around it."""
    letters = LETTERS[panel.look](panel) if panel.look in LETTERS else ()
    return _framed(panel, title, SHAPES[panel.look](panel), letters, x, y, size)


def verdict_svg(panel: Panel, title: str) -> str:
    """A Sudoku without its digits: given, right and wrong cells. Panels of other tasks are drawn as they are."""
    if panel.look != "digits":
        return grid_svg(panel, title)
    is_right = ~panel.is_given & ~panel.is_wrong & (panel.cells > 1)
    tints = (panel.is_given, colours.GIVEN_TINT), (is_right, RIGHT_TINT), (panel.is_wrong, colours.WRONG)
    return _framed(
        panel, title, [_ground(panel), *(_cells(*tint) for tint in tints), _boxes(len(panel.cells))]
    )


def _framed(
    panel: Panel, title: str, shapes: Iterable[str], letters: Iterable[str] = (),
    x: Length = 0, y: Length = 0, size: Length | None = None,
) -> str:  # fmt: skip
    rows, columns = panel.cells.shape
    place = ""
    if size is not None:
        width, height = (size * part / max(rows, columns, 1) for part in (columns, rows))
        place = f'x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}" '
    box = f"{-MARGIN} {-MARGIN} {columns * CELL + 2 * MARGIN} {rows * CELL + 2 * MARGIN}"
    parts = f'<g transform="scale({CELL})">{"".join(shapes)}</g>{"".join(letters)}'
    return f'<svg {place}viewBox="{box}" role="img"><title>{escape(title)}</title>{parts}</svg>'


def _sudoku(panel: Panel) -> Iterable[str]:
    side = len(panel.cells)
    yield _ground(panel)
    yield _cells(panel.is_given & ~panel.is_wrong, colours.GIVEN_TINT)
    yield _cells(panel.is_wrong, colours.WRONG_TINT)
    yield _corners(panel.is_changed, colours.CHANGED)
    yield _lines(range(1, side), range(1, side), side, side, colours.LINE, 0.03)
    yield _boxes(side)


def _digits(panel: Panel) -> Iterable[str]:
    """What is given in bold, what is filled in in another colour."""
    given, filled = f'fill="{colours.INK}" font-weight="700"', f'fill="{colours.FILLED}"'
    for is_shown, look in ((panel.is_given, given), (~panel.is_given, filled)):
        symbols = (_letter(*place, sudoku_symbol(int(panel.cells[place]))) for place in places(is_shown))
        yield f'<g {look} font-size="{0.62 * CELL}" text-anchor="middle">{"".join(symbols)}</g>'


def _maze(panel: Panel) -> Iterable[str]:
    marks, (rows, columns) = marked(panel), panel.cells.shape
    yield _ground(panel)
    yield _cells(panel.cells == maze.WALL, colours.WALL)
    yield _cells(panel.is_changed & (panel.cells != maze.WALL), colours.CHANGED_TINT)
    yield _cells(marks["overwritten"], colours.WRONG_TINT)
    for colour, is_wrong in ((colours.FILLED, False), (colours.WRONG, True)):
        joined = [
            (a, b) for a, b in links(panel.cells) if (panel.is_wrong[a] or panel.is_wrong[b]) == is_wrong
        ]
        yield _stroke(
            (f"M{a[1] + HALF} {a[0] + HALF}L{b[1] + HALF} {b[0] + HALF}" for a, b in joined), colour, 0.36
        )
    yield _circles(marks["missed"], 0.17, colours.PAPER, colours.FILLED)
    yield _circles(panel.cells == maze.START, 0.44, colours.START, colours.START)
    yield _circles(panel.cells == maze.GOAL, 0.44, colours.GOAL, colours.GOAL)
    yield _lines((0, rows), (0, columns), rows, columns, colours.WALL, 0.1)


def _ends(panel: Panel) -> Iterable[str]:
    """The letters of start and goal."""
    ends = ((maze.START, "S"), (maze.GOAL, "G"))
    letters = "".join(_letter(*place, name) for token, name in ends for place in places(panel.cells == token))
    yield f'<g fill="{colours.PAPER}" font-size="{0.6 * CELL}" text-anchor="middle">{letters}</g>'


def _arc(panel: Panel) -> Iterable[str]:
    marks, (rows, columns) = marked(panel), panel.cells.shape
    yield _ground(panel)
    for token, shade in enumerate(colours.ARC_COLOURS, start=FIRST_COLOUR):
        yield _cells(panel.cells == token, shade)
    yield _stroke((f"M{c} {r}l1 1" for r, c in places(marks["end"])), colours.LINE, 0.06)
    yield _stroke(
        (f"M{c} {r + 1}l1 -1" for r, c in places(marks["end"] | marks["padding"])), colours.LINE, 0.06
    )
    yield _lines(range(rows + 1), range(columns + 1), rows, columns, colours.ARC_LINE, 0.04)
    yield _corners(panel.is_changed, colours.PAPER, colours.INK)
    for colour, width in ((colours.INK, 0.2), (colours.PAPER, 0.12)):
        crosses = (
            f"M{number(c + 0.3)} {number(r + 0.3)}l.4 .4m0 -.4l-.4 .4" for r, c in places(panel.is_wrong)
        )
        yield _stroke(crosses, colour, width)


SHAPES: Final[dict[str, Drawer]] = {"digits": _sudoku, "maze": _maze, "colours": _arc}
LETTERS: Final[dict[str, Drawer]] = {"digits": _digits, "maze": _ends}


def _letter(row: int, column: int, symbol: str) -> str:
    return text((column + HALF) * CELL, (row + 0.72) * CELL, symbol) if symbol else ""


def _ground(panel: Panel) -> str:
    rows, columns = panel.cells.shape
    return rectangle(0, 0, columns, rows, fill=colours.PAPER)


def _cells(is_painted: Mask, colour: str) -> str:
    """Painted cells, runs of a row as one rectangle each."""
    runs = []
    for row, painted in enumerate(is_painted):
        edges = np.flatnonzero(np.diff(np.concatenate(([0], painted.astype(np.int8), [0])))).tolist()
        runs += [f"M{a} {row}h{b - a}v1h{a - b}z" for a, b in zip(edges[::2], edges[1::2], strict=True)]
    return path("".join(runs), fill=colour) if runs else ""


def _stroke(parts: Iterable[str], colour: str, width: Length) -> str:
    d = "".join(parts)
    return path(d, fill="none", stroke=colour, stroke_width=width, stroke_linecap="round") if d else ""


def _corners(is_marked: Mask, colour: str, edge: str | None = None) -> str:
    """A triangle in the top right corner of each marked cell."""
    d = "".join(f"M{number(column + 0.7)} {number(row + 0.05)}h.25v.25z" for row, column in places(is_marked))
    return path(d, fill=colour, stroke=edge, stroke_width=edge and 0.04) if d else ""


def _circles(is_marked: Mask, radius: Length, fill: str, stroke: str) -> str:
    look = f'r="{number(radius)}" fill="{fill}" stroke="{stroke}" stroke-width="0.08"'
    return "".join(f'<circle cx="{c + HALF}" cy="{r + HALF}" {look}/>' for r, c in places(is_marked))


def _boxes(side: int) -> str:
    box = box_for_side(side)
    return _lines(range(0, side + 1, box.rows), range(0, side + 1, box.cols), side, side, colours.INK, 0.08)


def _lines(
    at_rows: Iterable[int], at_columns: Iterable[int], rows: int, columns: int, colour: str, width: Length
) -> str:
    d = "".join(
        [*(f"M0 {row}h{columns}" for row in at_rows), *(f"M{column} 0v{rows}" for column in at_columns)]
    )
    return path(d, fill="none", stroke=colour, stroke_width=width, stroke_linecap="square")
