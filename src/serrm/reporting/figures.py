"""Figures as SVG or PNG: accuracy by supervision steps (table 2 of the paper), learning curves (figure A3).

Only the tabulate stage imports this module, for matplotlib loads slowly. Same input, same bytes.
"""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MultipleLocator

from serrm.reporting.results import Results
from serrm.reporting.tables import Row, Table

# The colours of Okabe and Ito, told apart by all common kinds of colour vision; markers for print in grey.
STYLES = {"se_rrm": ("#D55E00", "o"), "trm": ("#0072B2", "s"), "hrm": ("#009E73", "^")}
OTHER_STYLES = [("#CC79A7", "D"), ("#E69F00", "v"), ("#56B4E9", "P"), ("#000000", "X"), ("#7F7F7F", "*")]

LOOK: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 12,
    "font.size": 11,
    "grid.color": "#E6E6E6",
    "legend.frameon": False,
    "lines.linewidth": 2,
    "lines.markersize": 6,
    "svg.hashsalt": "serrm",
}
METADATA: dict[str, dict[str, Any]] = {".svg": {"Date": None, "Creator": None}, ".png": {"Software": None}}


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure in the format of its suffix, without date and version: equal figures are equal files.

    Raises:
        ValueError: a suffix other than .svg and .png.
    """
    if path.suffix not in METADATA:
        raise ValueError(f"{path}: a figure is written as {' or '.join(METADATA)}")
    with matplotlib.rc_context(LOOK):
        figure.savefig(path, dpi=150, metadata=METADATA[path.suffix])


def depth_figure(table: Table, source: str) -> Figure:
    """FSR against the number of supervision steps: ours with a band for the interval, the paper's dashed.

    The table is number 2, whose columns are numbers of steps; `source` says what ours were measured on.
    """
    steps = [int(column.name) for column in table.columns]
    styles = _styles([row.variant for row in table.rows])
    with matplotlib.rc_context(LOOK):
        figure = Figure(figsize=(9, 5), layout="constrained")
        axes = figure.add_subplot()
        for row in table.rows:
            _draw_ours(axes, row, steps, *styles[row.variant])
            _draw_paper(axes, row, steps, *styles[row.variant])
        axes.set_xscale("log", base=2)
        axes.set_xticks(steps, labels=[str(number) for number in steps])
        axes.set(xlabel="Supervision steps at inference")
        _percent_axis(axes, "Fully solved rate")
        _caption(figure, table.title, f"Solid, with 95% intervals: {source}. Dashed: the paper.")
        _legend_beside(figure, axes)
    return figure


def learning_curves_figure(results: Results, task: str, names: dict[str, str], source: str) -> Figure:
    """FSR and GPA against the samples processed, one line a model and seed, with the interval as a band."""
    runs = [(variant, run) for (of, variant), seeds in results.items() if of == task for run in seeds]
    styles = _styles([variant for variant, _ in runs])
    with matplotlib.rc_context(LOOK):
        figure = Figure(figsize=(10, 4.8), layout="constrained")
        panels = figure.subplots(1, 2, sharex=True, squeeze=False)[0]
        metrics = (("fsr", "Fully solved rate"), ("gpa", "Grid-point accuracy"))
        for axes, (metric, label) in zip(panels, metrics, strict=True):
            for variant, run in runs:
                name = names.get(variant, variant)
                _draw_curve(axes, run.learning_curve, metric, name, *styles[variant])
            axes.set(xlabel="Samples processed", xlim=(0, None))
            axes.xaxis.set_major_formatter(FuncFormatter(lambda samples, _: _short(samples)))
            _percent_axis(axes, label)
        _caption(figure, "Learning curves", f"Ours, with 95% intervals: {source}.")
        _legend_beside(figure, panels[0])
    return figure


def _draw_ours(axes: Axes, row: Row, steps: Sequence[int], colour: str, marker: str) -> None:
    cells = [(step, cell.ours) for step, cell in zip(steps, row.cells, strict=True)]
    points = [
        (step, float(reading.value), float(reading.lo), float(reading.hi))
        for step, reading in cells
        if reading.value is not None and reading.lo is not None and reading.hi is not None
    ]
    if points:
        at, values, low, high = (list(part) for part in zip(*points, strict=True))
        axes.fill_between(at, low, high, color=colour, alpha=0.2, linewidth=0)
        axes.plot(at, values, color=colour, marker=marker, label=f"{row.name}, ours", zorder=3)


def _draw_paper(axes: Axes, row: Row, steps: Sequence[int], colour: str, marker: str) -> None:
    cells = [(step, cell.paper.value) for step, cell in zip(steps, row.cells, strict=True)]
    points = [(step, float(value)) for step, value in cells if value is not None]
    if points:
        look: dict[str, Any] = {"markerfacecolor": "white", "linestyle": "--", "linewidth": 1.4}
        axes.plot(*zip(*points, strict=True), color=colour, marker=marker, label=f"{row.name}, paper", **look)


def _draw_curve(
    axes: Axes, curve: Sequence[dict[str, float]], metric: str, name: str, colour: str, marker: str
) -> None:
    samples = [point["samples"] for point in curve]
    keys = (f"{metric}_lo", metric, f"{metric}_hi")
    low, value, high = ([100 * point[key] for point in curve] for key in keys)
    axes.fill_between(samples, low, high, color=colour, alpha=0.2, linewidth=0)
    axes.plot(samples, value, color=colour, marker=marker, label=name)


def _styles(variants: Sequence[str | None]) -> dict[str | None, tuple[str, str]]:
    """A colour and a marker for each variant: the paper's three keep theirs in every figure."""
    others = [variant for variant in dict.fromkeys(variants) if variant not in STYLES]
    styles = {variant: OTHER_STYLES[place % len(OTHER_STYLES)] for place, variant in enumerate(others)}
    return styles | dict(STYLES.items())


def _percent_axis(axes: Axes, label: str) -> None:
    axes.set(ylabel=f"{label} (%)", ylim=(-2, 102))
    axes.yaxis.set_major_locator(MultipleLocator(20))


def _caption(figure: Figure, title: str, text: str) -> None:
    lines = textwrap.fill(text, 105)
    figure.suptitle(title, x=0.01, ha="left", fontsize=13, fontweight="bold")
    figure.supxlabel(lines, x=0.01, ha="left", fontsize=9, color="#555555")


def _legend_beside(figure: Figure, axes: Axes) -> None:
    """One entry a name, though several seeds may share it."""
    handles, labels = axes.get_legend_handles_labels()
    by_label = dict(zip(labels, handles, strict=True))
    if by_label:
        figure.legend(list(by_label.values()), list(by_label), loc="outside right upper")


def _short(number: float) -> str:
    """1200 as 1.2k and 3000000 as 3M, for the ticks of an axis."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:g}{unit}"
    return f"{number:g}"
