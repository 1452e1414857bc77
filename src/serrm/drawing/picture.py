"""Panels as one picture: rows of grids under their captions, a legend of the marks below; as SVG, PNG or GIF.

What evaluations store in MLflow, and what `serrm show` and `serrm solve` write. Only a PNG or GIF waits for matplotlib.
Same panels, same bytes.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Final

from serrm.drawing import colours
from serrm.drawing.grids import grid_svg
from serrm.drawing.marks import MEANINGS, marks_of
from serrm.drawing.panels import Panel
from serrm.drawing.scenes import Scene, rows_of
from serrm.drawing.svg import Length, document, path, rectangle, text

# Pixels.
MARGIN: Final = 16
GRID, CELL, GAP = 270, 18, 24  # the longer side of a grid, and what a cell takes at least
CAPTION_LINE, LEGEND_LINE = 22, 24
SAMPLE: Final = 12
TITLE_SIZE, CAPTION_SIZE, REMARK_SIZE = 15, 13, 11
LETTER: Final = 0.62  # width of a letter, in sizes of the type: none is cut off

SQUARES: Final = {"given": colours.GIVEN_TINT, "changed": colours.CHANGED_TINT}
LINES: Final = {"path": colours.FILLED, "stray": colours.WRONG}
HATCHES: Final = {"padding": "l12 -12", "end": "l12 -12m-12 0l12 12"}


def scene_svg(scene: Scene) -> str:
    """A puzzle as a picture: a row of panels for each of its questions."""
    return picture_svg(rows_of(scene, shows_answer=True), scene.title)


def picture_svg(rows: Sequence[Sequence[Panel | None]], title: str) -> str:
    """Rows of panels of one task; None leaves a place empty."""
    panels = [panel for row in rows for panel in row if panel is not None]
    size = max(GRID, *(CELL * max(panel.cells.shape) for panel in panels))
    heights = [
        2 * CAPTION_LINE
        + GAP
        + max(size * len(each.cells) / max(*each.cells.shape, 1) for each in row if each)
        for row in rows
    ]
    tops = list(accumulate(heights, initial=MARGIN + CAPTION_LINE))
    width = 2 * MARGIN + max(
        round(LETTER * TITLE_SIZE * len(title)), *(len(row) * (size + GAP) - GAP for row in rows)
    )
    parts = [
        text(MARGIN, MARGIN + TITLE_SIZE, title, fill=colours.INK, font_size=TITLE_SIZE, font_weight=700)
    ]
    for row, top in zip(rows, tops, strict=False):
        parts += _row(row, top, size)
    marks = marks_of(panels)
    parts += _legend(panels[0].look, marks, tops[-1])
    return document(width, tops[-1] + LEGEND_LINE * len(marks) + MARGIN, title, parts)


def _row(row: Sequence[Panel | None], top: Length, size: int) -> Iterator[str]:
    """Caption, remark and grid of each panel."""
    for number, panel in enumerate(row):
        if panel is None:
            continue
        left, below = MARGIN + number * (size + GAP), top + 2 * CAPTION_LINE
        yield text(left, top + 18, panel.caption, fill=colours.INK, font_size=CAPTION_SIZE, font_weight=700)
        yield text(left, top + 35, panel.remark, fill=colours.FAINT_INK, font_size=REMARK_SIZE)
        if panel.cells.size:  # the empty grid that an ARC prediction may be
            yield grid_svg(panel, f"{panel.caption}: {panel.remark}", left, below, size)


def _legend(look: str, marks: Iterable[str], top: Length) -> Iterator[str]:
    for number, mark in enumerate(marks):
        middle = top + LEGEND_LINE * (number + 0.5)
        yield from _sample(look, mark, middle)
        yield text(MARGIN + 2 * SAMPLE, middle + 4, MEANINGS[mark], fill=colours.INK, font_size=REMARK_SIZE)


def _sample(look: str, mark: str, middle: Length) -> Iterator[str]:
    """What a mark looks like in the grids above."""
    left, top, half = MARGIN, middle - SAMPLE / 2, SAMPLE / 2
    if mark in LINES:
        yield path(f"M{left} {middle}h{SAMPLE}", fill="none", stroke=LINES[mark], stroke_width=5)
    elif mark in HATCHES:
        yield path(f"M{left} {top + SAMPLE}{HATCHES[mark]}", fill="none", stroke=colours.LINE, stroke_width=1)
    elif mark == "filled":
        yield text(left + 2, middle + 4, "5", fill=colours.FILLED, font_size=CAPTION_SIZE)
    elif mark == "missed":
        yield f'<circle cx="{left + half}" cy="{middle}" r="3" fill="{colours.PAPER}" stroke="{colours.FILLED}"/>'
    elif mark == "changed" and look != "maze":
        is_framed = look == "colours"
        paint = {"stroke": colours.INK, "fill": colours.PAPER} if is_framed else {"fill": colours.CHANGED}
        yield path(f"M{left} {top}h{SAMPLE}v{SAMPLE}z", **paint)
    elif mark == "wrong" and look == "colours":
        yield path(f"M{left + 2} {top + 2}l8 8m0 -8l-8 8", fill="none", stroke=colours.INK, stroke_width=2)
    else:
        fill = SQUARES.get(mark, colours.WRONG_TINT)
        yield rectangle(left, top, SAMPLE, SAMPLE, fill=fill, stroke=colours.LINE)
