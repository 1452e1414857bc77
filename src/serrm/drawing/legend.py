"""Samples of the marks in a figure, for the legend below its panels.

`figure` takes them by the names of `serrm.drawing.marks`. (The paper's pictures of predictions have no marks.)
"""

from typing import Any, Final

from matplotlib.lines import Line2D
from matplotlib.markers import MarkerStyle
from matplotlib.patches import Patch
from matplotlib.path import Path

from serrm.drawing.colours import (
    CHANGED,
    CHANGED_TINT,
    FILLED,
    GIVEN_TINT,
    INK,
    LINE,
    PAPER,
    WRONG,
    WRONG_TINT,
)
from serrm.drawing.panels import ARC_TASKS

CORNER: Final = MarkerStyle(Path([(-1, 1), (1, 1), (1, -1), (-1, 1)], closed=True))


def sample(task: str, name: str) -> Any:
    """What stands before the meaning of a mark, as matplotlib's legends take it."""
    return (_IN_ARC if task in ARC_TASKS else _IN_MAZE if task == "maze" else _IN_SUDOKU)[name]


def _marker(marker: Any, colour: str, edge: str, size: int = 9) -> Line2D:
    look: dict[str, Any] = {"markerfacecolor": colour, "markeredgecolor": edge, "markeredgewidth": 0.7}
    return Line2D([], [], linestyle="", marker=marker, markersize=size, **look)


def _square(colour: str) -> Line2D:
    return _marker("s", colour, LINE, 11)


def _line(colour: str) -> Line2D:
    return Line2D([], [], color=colour, linewidth=5, solid_capstyle="butt")


_IN_SUDOKU: Final = {
    "given": _square(GIVEN_TINT),
    "filled": _marker("$5$", FILLED, FILLED, 8),
    "wrong": _square(WRONG_TINT),
    "changed": _marker(CORNER, CHANGED, PAPER),
}
_IN_MAZE: Final = {
    "path": _line(FILLED),
    "stray": _line(WRONG),
    "missed": _marker("o", PAPER, FILLED, 6),
    "overwritten": _square(WRONG_TINT),
    "changed": _square(CHANGED_TINT),
}
_IN_ARC: Final = {
    "wrong": _marker("X", PAPER, INK),
    "end": Patch(facecolor=PAPER, edgecolor=LINE, hatch="xxxx"),
    "padding": Patch(facecolor=PAPER, edgecolor=LINE, hatch="////"),
    "changed": _marker(CORNER, PAPER, INK),
}
