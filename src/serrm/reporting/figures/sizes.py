"""Extrapolation to other sizes (table 1): FSR and GPA by size of grid, ours beside the paper's."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from serrm.reporting.cells import CANNOT_EXTRAPOLATE, Reading
from serrm.reporting.figures.style import LINE, MUTED, SURFACE, Style, frame, panels, percent_axis, styles_of
from serrm.reporting.names import METRIC_NAMES
from serrm.reporting.report import Report
from serrm.reporting.tables import Row

SPREAD = 0.13  # at most, between neighbouring marks at one size
BREADTH = 0.86  # of all marks at one size, of the distance to the next size


def sizes_figure(report: Report) -> Figure | None:
    """Marks with 95% intervals by size, filled for ours and hollow for the paper; a cross where a model cannot go.

    Of table 1, whose columns are FSR and GPA of each size.
    """
    table = report.tables["1"]
    if not table.was_run:
        return None
    groups = list(dict.fromkeys(column.group for column in table.columns))
    rows = [row for row in table.models if row.variant]
    styles = styles_of(row.variant for row in rows)
    marked = [(row, side) for row in rows for side in ("ours", "paper") if _has_mark(row, side)]
    spread = min(SPREAD, BREADTH / max(1, len(marked)))
    figure, all_axes = panels(2)
    for axes, metric in zip(all_axes, ("FSR", "GPA"), strict=True):
        places = [i for i, column in enumerate(table.columns) if column.name == metric]
        for number, (row, side) in enumerate(marked):
            shift = (number - (len(marked) - 1) / 2) * spread
            _draw_row(axes, row, side, places, shift, styles[row.variant])
        axes.set_xticks(range(len(groups)), labels=[group.split()[0] for group in groups])
        axes.set_xlim(-0.6, len(groups) - 0.4)
        axes.grid(visible=False, axis="x")
        for border in range(1, len(groups)):
            axes.axvline(border - 0.5, color=LINE, linewidth=0.8, zorder=0)
        axes.set_xlabel("Size of the grid")
        percent_axis(axes, METRIC_NAMES[metric.lower()])
    text = (
        f"Filled, with 95% intervals: {report.source}. Hollow: the paper. Cross: ours cannot take the size."
    )
    frame(figure, "Other sizes than the one trained on", text, all_axes[:1], columns=4)
    return figure


def _readings(row: Row, side: str) -> list[Reading]:
    return [cell.ours if side == "ours" else cell.paper for cell in row.cells]


def _has_mark(row: Row, side: str) -> bool:
    return any(one.value is not None or one.words == CANNOT_EXTRAPOLATE for one in _readings(row, side))


def _draw_row(axes: Axes, row: Row, side: str, places: Sequence[int], shift: float, style: Style) -> None:
    fill, line = (style.colour, style.colour) if side == "ours" else (SURFACE, MUTED)
    readings = _readings(row, side)
    for at, place in enumerate(places):
        reading = readings[place]
        if side == "ours" and reading.words == CANNOT_EXTRAPOLATE:
            axes.plot(at + shift, 1.5, "x", color=style.colour, markersize=5, markeredgewidth=1.5, zorder=2)
        _draw_mark(axes, at + shift, reading, style, fill, line)
    # An entry of the legend even where the first size has no number.
    axes.plot([], [], style.marker, color=style.colour, markerfacecolor=fill, label=f"{row.name}, {side}")


def _draw_mark(axes: Axes, at: float, reading: Reading, style: Style, fill: str, line: str) -> None:
    if reading.value is None:
        return
    value = float(reading.value)
    low, high = (float(value if end is None else end) for end in (reading.lo, reading.hi))
    axes.vlines(at, low, high, color=line, linewidth=1.4, zorder=2)
    axes.plot(at, value, style.marker, color=style.colour, markerfacecolor=fill, zorder=3)
