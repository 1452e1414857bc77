"""Accuracy against compute, in training and at inference, and throughput: what a score costs."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from serrm.reporting.efforts import trained_set
from serrm.reporting.figures.style import (
    LOOK,
    frame,
    panels,
    percent_axis,
    short_axis,
    styles_of,
)
from serrm.reporting.hyperparameters import Cell
from serrm.reporting.names import HEADLINE, METRIC_NAMES, model_name, short_number, task_name
from serrm.reporting.results import Effort, Evaluation, Results
from serrm.reporting.setting_words import Settings


def compute_figure(results: Results, settings: Mapping[Cell, Settings], source: str) -> Figure:
    """A row a task: the first score against puzzle-steps of training, and against mean steps at inference."""
    tasks = list(dict.fromkeys(task for task, _ in results))
    styles = styles_of([variant for _, variant in results])
    with matplotlib.rc_context(LOOK):
        figure, all_axes = panels(2 * len(tasks))
        for number, task in enumerate(tasks):
            training, inference = all_axes[2 * number : 2 * number + 2]
            metric = HEADLINE.get(task, "fsr")
            for (of, variant), seeds in results.items():
                if of != task:
                    continue
                batch_size = int(settings[task, variant]["train"]["batch_size"])
                for run in seeds:
                    _draw_training(training, run, batch_size, metric, *styles[variant])
                    _draw_inference(inference, run, metric, *styles[variant])
            training.set_title(f"{task_name(task)}: training")
            inference.set_title(f"{task_name(task)}: inference")
            short_axis(training, "Puzzle-steps of training")
            short_axis(inference, "Mean supervision steps a puzzle")
            for axes in (training, inference):
                percent_axis(axes, METRIC_NAMES[metric])
        text = f"Ours: {source}. A puzzle-step is one supervision step of one puzzle; models differ in what it costs."
        if any(run.adaptive or run.breadth for seeds in results.values() for run in seeds):
            text += " Line: every puzzle at the same depth. Hollow: adaptive depth; with a dot: breadth."
        frame(figure, "Accuracy against compute", text, all_axes)
    return figure


def throughput_figure(results: Results) -> Figure | None:
    """Puzzle-steps a second in training, a bar a model and task; None where no metric file says."""
    runs = [run for seeds in results.values() for run in seeds[:1] if run.training.puzzles_per_second]
    if not runs:
        return None
    tasks = list(dict.fromkeys(run.task for run in runs))
    styles = styles_of([run.model for run in runs])
    with matplotlib.rc_context(LOOK):
        figure, (axes,) = panels(1, width=7.3, height=0.9 + 0.36 * len(runs))
        for place, run in enumerate(runs):
            speed = run.training.puzzles_per_second or 0.0
            axes.barh(place, speed, color=styles[run.model][0], height=0.62)
            label: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": 9.5}
            axes.annotate(short_number(speed), (speed, place), (5, 0), **label)
        names = [
            f"{model_name(run.model)}{f', {task_name(run.task)}' if len(tasks) > 1 else ''}" for run in runs
        ]
        axes.set_yticks(range(len(runs)), labels=names)
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        short_axis(axes, "Puzzle-steps a second")
        devices = ", ".join(dict.fromkeys(run.training.device or "a device not recorded" for run in runs))
        text = f"Forward and backward pass of one supervision step, measured in training, on {devices}."
        frame(figure, "Throughput", text)
    return figure


def _draw_training(
    axes: Axes, run: Evaluation, batch_size: int, metric: str, colour: str, marker: str
) -> None:
    points = [point for point in run.learning_curve if metric in point]
    steps = [point["step"] * batch_size for point in points]
    _draw_band(axes, steps, points, metric, colour, marker, model_name(run.model))


def _draw_inference(axes: Axes, run: Evaluation, metric: str, colour: str, marker: str) -> None:
    scored = trained_set(run)
    steps = {} if scored is None else {depth: part for depth, part in scored.steps.items() if metric in part}
    _draw_band(axes, [*map(float, steps)], [*steps.values()], metric, colour, marker, model_name(run.model))
    if metric == "fsr":
        _draw_efforts(axes, run.adaptive, colour, marker, "none")
        _draw_efforts(axes, run.breadth, colour, marker, colour)


def _draw_band(
    axes: Axes,
    at: Sequence[float],
    points: Sequence[Mapping[str, float]],
    metric: str,
    colour: str,
    marker: str,
    label: str,
) -> None:
    low, value, high = ([100 * point[f"{metric}{end}"] for point in points] for end in ("_lo", "", "_hi"))
    axes.fill_between(at, low, high, color=colour, alpha=0.2, linewidth=0)
    axes.plot(at, value, color=colour, marker=marker, label=label)


def _draw_efforts(axes: Axes, efforts: Sequence[Effort], colour: str, marker: str, dot: str) -> None:
    for effort in efforts:
        ends = (100 * effort.fsr_lo, 100 * effort.fsr_hi)
        axes.vlines(effort.mean_steps, *ends, color=colour, linewidth=1)
        at = effort.mean_steps, 100 * effort.fsr
        axes.plot(*at, marker, color=colour, markerfacecolor="#ffffff", markersize=8, zorder=4)
        if dot != "none":
            axes.plot(*at, ".", color=dot, markersize=5, zorder=5)
