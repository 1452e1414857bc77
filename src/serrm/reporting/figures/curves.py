"""Accuracy by supervision steps (table 2), and learning curves against samples processed (figure A3)."""

from collections.abc import Sequence
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from serrm.reporting.figures.style import (
    LOOK,
    frame,
    panels,
    percent_axis,
    short_axis,
    styles_of,
)
from serrm.reporting.names import HEADLINE, METRIC_NAMES, model_name, task_name
from serrm.reporting.results import Evaluation, Results
from serrm.reporting.tables import Row, Table


def depth_figure(table: Table, source: str) -> Figure:
    """FSR against the number of supervision steps: ours with a band for the interval, the paper's dashed.

    The table is number 2, whose columns are numbers of steps; `source` says what ours were measured on.
    """
    steps = [int(column.name) for column in table.columns]
    styles = styles_of([row.variant for row in table.rows])
    with matplotlib.rc_context(LOOK):
        figure, (axes,) = panels(1, width=7.3, height=4.2)
        for row in table.rows:
            _draw_ours(axes, row, steps, *styles[row.variant])
        for row in table.rows:
            _draw_paper(axes, row, steps, *styles[row.variant])
        axes.set_xscale("log", base=2)
        axes.set_xticks(steps, labels=[str(number) for number in steps])
        axes.set(xlabel="Supervision steps at inference")
        percent_axis(axes, "Fully solved rate")
        frame(
            figure, table.title, f"Solid, with 95% intervals: {source}. Dashed: the paper.", [axes], columns=2
        )
    return figure


def learning_curves_figure(results: Results, source: str) -> Figure:
    """Scores against samples processed, a panel for each task's first score and for GPA on Sudoku.

    One line a model and seed, with the interval as a band.
    """
    wanted = [(task, metric) for task in _tasks(results) for metric in _metrics(task)]
    styles = styles_of([variant for _, variant in results])
    with matplotlib.rc_context(LOOK):
        figure, all_axes = panels(len(wanted))
        for axes, (task, metric) in zip(all_axes, wanted, strict=True):
            for variant, run in _runs(results, task):
                _draw_curve(axes, run.learning_curve, metric, model_name(variant), *styles[variant])
            axes.set_title(task_name(task))
            short_axis(axes, "Samples processed")
            percent_axis(axes, METRIC_NAMES[metric])
        frame(figure, "Learning curves", f"Ours, with 95% intervals: {source}.", all_axes)
    return figure


def _tasks(results: Results) -> list[str]:
    return list(dict.fromkeys(task for task, _ in results))


def _metrics(task: str) -> tuple[str, ...]:
    return ("fsr", "gpa") if task == "sudoku" else (HEADLINE.get(task, "fsr"),)


def _runs(results: Results, task: str) -> list[tuple[str, Evaluation]]:
    return [(variant, run) for (of, variant), seeds in results.items() if of == task for run in seeds]


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
        look: dict[str, Any] = {"markerfacecolor": "#ffffff", "linestyle": "--", "linewidth": 1.4}
        axes.plot(*zip(*points, strict=True), color=colour, marker=marker, label=f"{row.name}, paper", **look)


def _draw_curve(
    axes: Axes, curve: Sequence[dict[str, float]], metric: str, name: str, colour: str, marker: str
) -> None:
    points = [point for point in curve if metric in point]
    samples = [point["samples"] for point in points]
    keys = (f"{metric}_lo", metric, f"{metric}_hi")
    low, value, high = ([100 * point[key] for point in points] for key in keys)
    axes.fill_between(samples, low, high, color=colour, alpha=0.2, linewidth=0)
    axes.plot(samples, value, color=colour, marker=marker, label=name)
