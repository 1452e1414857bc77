"""One example as an SVG file of its own: question, answer and last prediction beside each other, marks explained below.

What evaluations store in MLflow. The grids are those of the page (`grids`), so that no evaluation waits for matplotlib;
`serrm show` draws the same panels with it.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Final

from serrm.drawing.colours import FAINT_INK, FILLED, GIVEN_TINT, INK, LINE, PAPER, WRONG, WRONG_TINT
from serrm.drawing.marks import MEANINGS, marks_of
from serrm.drawing.panels import Panel
from serrm.drawing.scenes import Scene, rows_of
from serrm.reporting.grids import grid_svg
from serrm.reporting.svg import Length, document, path, rectangle, text

# Pixels.
MARGIN: Final = 16
GRID, GAP = 270, 24
CAPTION_LINE, LEGEND_LINE = 22, 24
SAMPLE: Final = 12
TITLE_SIZE, CAPTION_SIZE, REMARK_SIZE = 15, 13, 11
LETTER: Final = 0.62  # width of a letter, in sizes of the type: none is cut off

SQUARES: Final = {"given": GIVEN_TINT, "overwritten": WRONG_TINT}
LINES: Final = {"path": FILLED, "stray": WRONG}


def strip_svg(scene: Scene) -> str:
    """A puzzle as a picture: a row of panels for each of its questions."""
    rows = [[panel for panel in row if panel is not None] for row in rows_of(scene, shows_answer=True)]
    heights = [2 * CAPTION_LINE + max(map(_height, row)) + GAP for row in rows]
    tops = list(accumulate(heights, initial=MARGIN + CAPTION_LINE))
    width = 2 * MARGIN + max(
        _width(scene.title, TITLE_SIZE), *(len(row) * (GRID + GAP) - GAP for row in rows)
    )
    parts = [text(MARGIN, MARGIN + TITLE_SIZE, scene.title, fill=INK, font_size=TITLE_SIZE, font_weight=700)]
    for row, top in zip(rows, tops, strict=False):
        parts += _row(row, top)
    marks = marks_of(panel for row in rows for panel in row)
    parts += _legend(scene.task, marks, tops[-1])
    return document(width, tops[-1] + LEGEND_LINE * len(marks) + MARGIN, scene.title, parts)


def _row(panels: Sequence[Panel], top: Length) -> Iterator[str]:
    """Caption, remark and grid of each panel."""
    for number, panel in enumerate(panels):
        left, below = MARGIN + number * (GRID + GAP), top + 2 * CAPTION_LINE
        yield text(left, top + 18, panel.caption, fill=INK, font_size=CAPTION_SIZE, font_weight=700)
        yield text(left, top + 35, panel.remark, fill=FAINT_INK, font_size=REMARK_SIZE)
        if panel.cells.size:  # the empty grid that an ARC prediction may be
            yield grid_svg(panel, f"{panel.caption}: {panel.remark}", left, below, _across(panel))


def _legend(task: str, marks: Iterable[str], top: Length) -> Iterator[str]:
    for number, mark in enumerate(marks):
        middle = top + LEGEND_LINE * (number + 0.5)
        yield from _sample(task, mark, middle)
        words = MEANINGS[mark]
        yield text(MARGIN + 2 * SAMPLE, middle + 4, words, fill=INK, font_size=REMARK_SIZE)


def _sample(task: str, mark: str, middle: Length) -> Iterator[str]:
    """What a mark looks like in the grids above."""
    left, top, half = MARGIN, middle - SAMPLE / 2, SAMPLE / 2
    if mark in LINES:
        yield path(f"M{left} {middle}h{SAMPLE}", fill="none", stroke=LINES[mark], stroke_width=5)
    elif mark == "filled":
        yield text(left + 2, middle + 4, "5", fill=FILLED, font_size=CAPTION_SIZE)
    elif mark == "missed":
        yield f'<circle cx="{left + half}" cy="{middle}" r="3" fill="{PAPER}" stroke="{FILLED}"/>'
    elif mark == "wrong" and task.startswith("arc"):
        yield path(f"M{left + 2} {top + 2}l8 8m0 -8l-8 8", fill="none", stroke=INK, stroke_width=2)
    else:
        yield rectangle(left, top, SAMPLE, SAMPLE, fill=SQUARES.get(mark, WRONG_TINT), stroke=LINE)


def _across(panel: Panel) -> Length:
    """The width of a grid: the longer of its sides is GRID."""
    return GRID * min(1, panel.num_columns / panel.num_rows)


def _height(panel: Panel) -> Length:
    return _across(panel) * panel.num_rows / panel.num_columns if panel.cells.size else 0


def _width(words: str, size: int) -> int:
    return round(LETTER * size * len(words))
