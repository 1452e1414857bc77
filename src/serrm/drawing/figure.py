"""Panels as a figure, and figures as PNG or SVG files: rows of panels under their captions, a legend below.

For `serrm show`, for what evaluations log, and for the report; only they wait for matplotlib. Same panels, same
bytes. (After the paper's figures of its tasks.)
"""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib
from matplotlib.figure import Figure

from serrm.drawing.axes import draw_panel
from serrm.drawing.colours import FAINT_INK, INK, PAPER
from serrm.drawing.layout import (
    CAPTION_HEIGHT,
    CAPTION_SIZE,
    DPI,
    LEGEND_SIZE,
    MARGIN,
    REMARK_SIZE,
    TITLE_SIZE,
    Layout,
    Rows,
    header_height,
    lay_out,
)
from serrm.drawing.legend import sample
from serrm.drawing.marks import MEANINGS, marks_of
from serrm.drawing.panels import Panel
from serrm.files import new_file

LOOK: Final[dict[Any, Any]] = {"hatch.linewidth": 0.6, "svg.hashsalt": "serrm"}
METADATA: Final[dict[str, dict[str, Any]]] = {
    ".svg": {"Date": None, "Creator": None},
    ".png": {"Software": None},
}
"""By the suffix of a file what is left out of it: date and version."""


def draw_figure(rows: Rows, title: str = "") -> Figure:
    """The panels of one task in rows, flush left in common columns.

    Raises:
        ValueError: there is no panel.
    """
    panels = [panel for row in rows for panel in row if panel is not None]
    if not panels:
        raise ValueError("a picture needs at least one panel")
    marks = marks_of(panels)
    layout = lay_out(rows, title, [MEANINGS[name] for name in marks])
    with matplotlib.rc_context(LOOK):
        figure = Figure(figsize=(layout.width / DPI, layout.height / DPI), dpi=DPI, facecolor=PAPER)
        _write(figure, layout, MARGIN, MARGIN, title, size=TITLE_SIZE, weight="bold")
        for row, top in zip(rows, layout.tops, strict=True):
            for panel, left in zip(row, layout.lefts, strict=False):
                if panel is not None:
                    _place_panel(figure, layout, panel, left, top, header_height(row))
        _place_legend(figure, layout, panels[0].task, marks)
    return figure


def save_figure(figure: Figure, path: Path) -> None:
    """Write a picture in the format of its suffix, .svg or .png; the file appears whole or not at all.

    Raises:
        ValueError: another suffix.
    """
    content = figure_bytes(figure, path.suffix)
    with new_file(path) as partial:
        partial.write_bytes(content)


def figure_bytes(figure: Figure, suffix: str) -> bytes:
    """The file that a picture makes, by its suffix. ValueError for one other than .svg and .png."""
    if suffix not in METADATA:
        raise ValueError(f"a picture is written as {' or '.join(METADATA)}, not as {suffix!r}")
    stream = io.BytesIO()
    with matplotlib.rc_context(LOOK):
        figure.savefig(stream, format=suffix.removeprefix("."), dpi=DPI, metadata=METADATA[suffix])
    return stream.getvalue()


def _place_panel(figure: Figure, layout: Layout, panel: Panel, left: int, top: int, header: int) -> None:
    """Caption and remark from the top, and the grid below the header."""
    _write(figure, layout, left, top, panel.caption, size=CAPTION_SIZE, weight="bold")
    _write(figure, layout, left, top + CAPTION_HEIGHT - 4, panel.remark, size=REMARK_SIZE, color=FAINT_INK)
    width, height = (max(number, 1) * layout.cell for number in (panel.num_columns, panel.num_rows))
    bottom = layout.height - top - header - height
    bounds = (
        left / layout.width,
        bottom / layout.height,
        width / layout.width,
        height / layout.height,
    )
    draw_panel(figure.add_axes(bounds), panel, layout.cell * 72 / DPI)


def _place_legend(figure: Figure, layout: Layout, task: str, marks: Sequence[str]) -> None:
    if marks:
        figure.legend(
            [sample(task, name) for name in marks],
            [MEANINGS[name] for name in marks],
            loc="upper left",
            bbox_to_anchor=((MARGIN - 4) / layout.width, 1 - layout.legend_top / layout.height),
            ncols=layout.num_legend_columns,
            borderaxespad=0,
            borderpad=0,
            columnspacing=1.6,
            handlelength=1.6,
            fontsize=LEGEND_SIZE,
            labelcolor=INK,
            frameon=False,
        )


def _write(figure: Figure, layout: Layout, left: int, top: int, text: str, **look: Any) -> None:
    if text:
        place = left / layout.width, 1 - top / layout.height
        figure.text(*place, text, va="top", parse_math=False, **({"color": INK} | look))
