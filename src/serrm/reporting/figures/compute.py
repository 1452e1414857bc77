"""Accuracy against compute, in training and at inference: what a score costs."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from serrm.reporting.figures.curves import draw_learning
from serrm.reporting.figures.style import (
    SURFACE,
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
from serrm.reporting.results import Effort, Evaluation, all_runs

EXPLAINED = "A puzzle-step is one supervision step of one puzzle; models differ in what it costs."
# What stands in the hollow mark of an effort of each kind, and its name.
MARKS = {
    "adaptive depth": ("", "hollow"),
    "restarts": (".", "with a dot"),
    "symmetries": ("+", "with a plus"),
    "guesses": ("x", "with a cross"),
}


def compute_figure(report: Report) -> Figure:
    """A row a task: the first score against puzzle-steps of training, and against mean steps at inference."""
    runs = all_runs(report.results)
    tasks, styles = list(dict.fromkeys(run.task for run in runs)), styles_of(run.model for run in runs)
    figure, all_axes = panels(2 * len(tasks))
    for task, training, inference in zip(tasks, all_axes[::2], all_axes[1::2], strict=True):
        metric = reported(task).headline
        for run in (run for run in runs if run.task == task):
            batch_size = int(report.settings.here[task, run.model]["train"]["batch_size"])
            draw_learning(training, run, metric, styles[run.model], "step", batch_size)
            _draw_inference(inference, run, metric, styles[run.model])
        note_if_empty(training)
        training.set_title(f"{task_name(task)}: training")
        inference.set_title(f"{task_name(task)}: inference")
        short_axis(training, "Puzzle-steps of training")
        short_axis(inference, "Mean supervision steps a puzzle", is_log=True)
        for axes in (training, inference):
            percent_axis(axes, METRIC_NAMES[metric])
    text = f"Ours: {report.source}. {EXPLAINED}"
    if kinds := {effort.kind for run in runs for effort in run.efforts}:
        shown = "; ".join(f"{name}: {kind}" for kind, (_, name) in MARKS.items() if kind in kinds)
        text += f" Line: every puzzle at the same depth; {shown}."
    frame(figure, "Accuracy against compute", text, all_axes)
    return figure


def _draw_inference(axes: Axes, run: Evaluation, metric: str, style: Style) -> None:
    steps = {float(depth): scores for depth, scores in run.trained_steps.items() if metric in scores}
    draw_band(axes, [*steps], [*steps.values()], metric, style, model_name(run.model))
    if metric == "fsr":
        _draw_efforts(axes, run.efforts, style)


def _draw_efforts(axes: Axes, efforts: Sequence[Effort], style: Style) -> None:
    """A hollow mark an effort, the kind in it."""
    for effort in efforts:
        ends = (100 * effort.fsr_lo, 100 * effort.fsr_hi)
        axes.vlines(effort.mean_steps, *ends, color=style.colour, linewidth=1)
        at = effort.mean_steps, 100 * effort.fsr
        axes.plot(*at, style.marker, color=style.colour, markerfacecolor=SURFACE, markersize=8, zorder=4)
        axes.plot(*at, MARKS[effort.kind][0], color=style.colour, markersize=5, zorder=5)
