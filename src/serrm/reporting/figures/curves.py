"""Accuracy by supervision steps (table 2), and learning curves against samples processed (figure A3)."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from serrm.reporting.figures.style import (
    Style,
    draw_band,
    frame,
    note_if_empty,
    panels,
    percent_axis,
    short_axis,
    styles_of,
)
from serrm.reporting.names import METRIC_NAMES, model_name, reported, task_name
from serrm.reporting.report import Report
from serrm.reporting.results import Evaluation, all_runs
from serrm.reporting.tables import Row


def depth_figure(report: Report) -> Figure | None:
    """FSR against the number of supervision steps, which are the columns of table 2: the paper's dashed."""
    table = report.tables["2"]
    if not table.was_run:
        return None
    steps = [int(column.name) for column in table.columns]
    styles = styles_of(row.variant for row in table.models)
    figure, (axes,) = panels(1, width=7.3, height=4.2)
    for row in table.models:
        _draw_ours(axes, row, steps, styles[row.variant])
    for row in table.models:
        _draw_paper(axes, row, steps, styles[row.variant])
    axes.set_xscale("log", base=2)
    axes.set_xticks(steps, labels=[str(number) for number in steps])
    axes.set(xlabel="Supervision steps at inference")
    percent_axis(axes, "Fully solved rate")
    remark = f"Solid, with 95% intervals: {report.source}. Dashed: the paper."
    frame(figure, table.title, remark, [axes], columns=2)
    return figure


def learning_curves_figure(report: Report) -> Figure:
    """Scores against samples processed, a panel for each task's first score and for GPA on Sudoku.

    One line a model and seed, with the interval as a band.
    """
    results = report.results
    wanted = [
        (task, metric)
        for task in dict.fromkeys(task for task, _ in results)
        for metric in reported(task).metrics
    ]
    styles = styles_of(variant for _, variant in results)
    figure, all_axes = panels(len(wanted))
    for axes, (task, metric) in zip(all_axes, wanted, strict=True):
        for run in all_runs(results):
            if run.task == task:
                draw_learning(axes, run, metric, styles[run.model])
        note_if_empty(axes)
        axes.set_title(task_name(task))
        short_axis(axes, "Samples processed")
        percent_axis(axes, METRIC_NAMES[metric])
    frame(figure, "Learning curves", f"Ours, with 95% intervals: {report.source}.", all_axes)
    return figure


def draw_learning(
    axes: Axes, run: Evaluation, metric: str, style: Style, count: str = "samples", factor: int = 1
) -> None:
    """The scores of a learning curve against a count of its points, times a factor."""
    points = [point for point in run.learning_curve if metric in point]
    draw_band(axes, [factor * point[count] for point in points], points, metric, style, model_name(run.model))


def _draw_ours(axes: Axes, row: Row, steps: Sequence[int], style: Style) -> None:
    pairs = [
        (step, cell.ours) for step, cell in zip(steps, row.cells, strict=True) if cell.ours.value is not None
    ]
    if pairs:
        at = [step for step, _ in pairs]
        ends = [(float(ours.lo or 0), float(ours.hi or 0)) for _, ours in pairs]
        low, high = (list(side) for side in zip(*ends, strict=True))
        axes.fill_between(at, low, high, color=style.colour, alpha=0.2, linewidth=0)
        values = [float(ours.value or 0) for _, ours in pairs]
        axes.plot(at, values, color=style.colour, marker=style.marker, label=f"{row.name}, ours", zorder=3)


def _draw_paper(axes: Axes, row: Row, steps: Sequence[int], style: Style) -> None:
    cells = [(step, cell.paper.value) for step, cell in zip(steps, row.cells, strict=True)]
    points = [(step, float(value)) for step, value in cells if value is not None]
    if points:
        look: dict[str, Any] = {"markerfacecolor": "#ffffff", "linestyle": "--", "linewidth": 1.4}
        look |= {"color": style.colour, "marker": style.marker, "label": f"{row.name}, paper"}
        axes.plot(*zip(*points, strict=True), **look)
