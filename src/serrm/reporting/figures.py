"""Figures as SVG: scores against steps (table 2), of single seeds, learning curves (figure A3), solved against compute,
permuted symbols (figures A1 and A2).

They show every family and the best other variant. Equal results give equal bytes. The module loads matplotlib,
which is slow, so it is imported where figures are made.
"""

import io
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from serrm.drawing import svg
from serrm.drawing.puzzles import DrawnPuzzle, Panel, as_tokens
from serrm.inference.settings import HEADLINE_STEPS
from serrm.puzzles.tasks import TASKS
from serrm.reporting.groups import group_score, groups_of
from serrm.reporting.other_tables import Search, searches_of
from serrm.reporting.paper import ScoreTable, data_set_name, load_paper, model_name, puzzle_set
from serrm.reporting.paper_tables import mean_blanks
from serrm.reporting.results import (
    Report,
    Score,
    all_runs,
    headline_score,
    in_percent,
    main_models,
    runs_on,
    score,
    training_flops,
)
from serrm.reporting.style import style
from serrm.scoring.metrics import MEAN, METRICS, Metric, metrics_of
from serrm.scoring.schema import Evaluation, PermutedPuzzle
from serrm.training.log import Record

K = TypeVar("K")
V = TypeVar("V")
DARK, MUTED = "#333333", "#595959"
LOOK: Final[dict[Any, Any]] = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "font.size": 10.5,
    "grid.color": "#e6e6e6",
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "serrm",
    "text.color": DARK,
}
BANDS: Final = "Bands are 95% intervals, of several seeds the range of the seeds' intervals."
# Sets whose permuted puzzles were given the task type of another puzzle, before a fault was corrected: their pictures
# are left out until the runs are scored again.
WITH_ANOTHER_TASK_TYPE: Final = ("6e02d71cdabf2506",)  # their `puzzles_digest`
LEFT, SIZE, GAP = 16, 190, 26  # pixels: the edge, a grid, between grids
SMALL: Final[dict[str, Any]] = {"font_size": 11.5, "fill": MUTED}


def build_figures(report: Report) -> dict[str, str]:
    """Draw every figure that the results have data for, by name, as an SVG document."""
    with matplotlib.rc_context(LOOK):
        plots = {
            "depth": depth(report),
            "seeds": seed_dots(report),
            "learning_curves": learning_curves(report),
            "learning_by_flops": learning_curves(report, by="flops"),
            "compute": compute(report),
            "groups": groups(report),
        }
        figures = {name: svg_text(plot) for name, plot in plots.items() if plot}
    for task in dict.fromkeys(run.task for run in all_runs(report.results)):
        if TASKS[task].has_permutations and (picture := permuted(report, task)):
            figures[f"permuted_{task}"] = picture
    return figures


def depth(report: Report) -> Figure | None:
    """Draw scores against supervision steps, a panel per data set; on 9×9 Sudoku the paper's are dashed."""
    main = main_models(report.results)
    panels: dict[tuple[str, str], dict[str, list[Evaluation]]] = {}
    for (data_set, variant), runs in report.results.items():
        test_set = "9x9" if "9x9" in runs[0].scored else runs[0].main_set
        if variant in main and test_set and len(runs[0].scored[test_set].steps) > 1:
            panels.setdefault((data_set, test_set), {})[variant] = runs
    paper_table = load_paper().score_tables["2"]
    task_of = {panel: next(iter(runs_of.values()))[0].task for panel, runs_of in panels.items()}
    with_paper = next((panel for panel in panels if (task_of[panel], panel[1]) == ("sudoku", "9x9")), None)

    def draw(axes: Axes, panel: tuple[str, str], runs_of: Mapping[str, list[Evaluation]]) -> None:
        metric, test_set = TASKS[task_of[panel]].main_metric, panel[1]
        for variant, runs in runs_of.items():
            steps = runs[0].scored[test_set].steps
            points = [(num, value) for num in steps if (value := score(runs, metric, test_set, num))]
            draw_scores(axes, points, model_name(variant), label=f"{model_name(variant)}, ours")
        if panel == with_paper:
            _draw_paper(axes, paper_table)
        axes.set_xscale("log", base=2)
        ticks = [column.steps for column in paper_table.columns.values()]
        axes.set_xticks(ticks, labels=map(str, ticks))
        axes.set(title=puzzle_set(*panel), xlabel="Supervision steps at inference")
        label_scores(axes, metrics_of(task_of[panel])[metric])

    remark = f"Profile {report.profile} (puzzles: notes.md). {BANDS}"
    if with_paper:
        sets = [runs[0].scored["9x9"] for runs in panels.get(("sudoku", "9x9"), {}).values()]
        blanks = mean_blanks("sudoku", sets)
        our_blanks = f", ours {' or '.join(map(str, blanks))}" if blanks else ""
        remark += f" Dashed: the paper, whose puzzles have about 56 blanks{our_blanks}."
    return figure_of(panels, draw, "Scores by supervision steps", remark)


def _draw_paper(axes: Axes, paper_table: ScoreTable) -> None:
    """Draw the paper's scores of table 2, dashed."""
    look = {"linestyle": "--", "markerfacecolor": "white", "linewidth": 1.4}
    for row in paper_table.rows:
        values = {
            column.steps: float(row.entries[key].numbers[0]) for key, column in paper_table.columns.items()
        }
        points = [(num, Score(value, value, value, 0)) for num, value in values.items()]
        draw_scores(axes, points, row.name, label=f"{row.name}, paper", **look)


def seed_dots(report: Report) -> Figure | None:
    """Draw the score of every seed as a dot, a panel per data set with several seeds and a row per variant."""
    panels: dict[str, list[list[Evaluation]]] = {}
    for (data_set, _), runs in report.results.items():
        if len(runs) > 1 and headline_score(runs):
            panels.setdefault(data_set, []).append(runs)

    def draw(axes: Axes, data_set: str, groups: Sequence[Sequence[Evaluation]]) -> None:
        for row, runs in enumerate(reversed(groups)):
            result, (colour, marker) = headline_score(runs), style(model_name(runs[0].variant))
            assert result is not None, "groups have scores"
            values = [value for value, *_ in result.seeds]
            look: dict[str, Any] = {"color": colour, "markersize": 6, "alpha": 0.6, "linestyle": ""}
            axes.plot(values, [row] * len(values), marker, **look)
            axes.plot([result.value], [row], "|", color=DARK, markersize=13)
        names = [model_name(runs[0].variant) for runs in reversed(groups)]
        axes.set_yticks(range(len(groups)), names, fontsize=8.5)
        example = groups[0][0]
        axes.set(title=puzzle_set(data_set, example.main_set), ylim=(-0.6, len(groups) - 0.4))
        label_scores(axes, metrics_of(example.task)[example.main_metric], axis="x")

    remark = f"A dot per seed; the line is their mean. Profile {report.profile}."
    height = 0.9 + 0.24 * max(map(len, panels.values()), default=0)
    return figure_of(panels, draw, "Scores of single seeds", remark, height)


def learning_curves(report: Report, by: str = "samples") -> Figure | None:
    """Draw scores against samples processed or training FLOPs: a panel per data set and metric, unless all are zero."""
    main = main_models(report.results)
    runs = [run for run in all_runs(report.results) if run.learning_curve and run.variant in main]
    panels = {
        (data_set, metric): members
        for data_set, members in by_data_set(runs).items()
        for metric in TASKS[members[0].task].curve_metrics
        if any(point.scores.get(metric) for run in members for point in run.learning_curve)
    }
    unit = "Samples processed" if by == "samples" else "Training FLOPs"

    def draw(axes: Axes, panel: tuple[str, str], members: Sequence[Evaluation]) -> None:
        data_set, metric = panel
        for run in members:
            flops_of_step = training_flops(run, report) / run.training.steps
            points = [
                (
                    point.samples if by == "samples" else point.step * flops_of_step,
                    Score(*in_percent(run.task, metric, point.scores), 0),
                )
                for point in run.learning_curve
                if metric in point.scores
            ]
            draw_scores(axes, points, model_name(run.variant), label=model_name(run.variant))
        axes.set(title=data_set_name(data_set), xlabel=unit)
        axes.set_xlim(0, None)
        axes.locator_params(axis="x", nbins=5)
        label_scores(axes, metrics_of(members[0].task)[metric])

    remark = (
        f"Profile {report.profile}. Scores of snapshots on the first test puzzles, a line per seed, with 95% "
        "intervals. FLOPs do not include those of a run's initial weights."
    )
    title = f"Learning curves by {'samples' if by == 'samples' else 'training FLOPs'}"
    return figure_of(panels, draw, title, remark)


def training_loss(report: Report, logs: Mapping[str, Sequence[Record]]) -> str:
    """Draw the training loss of the main models' runs against optimiser steps, a panel per data set.

    `logs` has the records of a training log by run. Empty without records.
    """
    main = main_models(report.results)
    runs = [run for run in all_runs(report.results) if run.variant in main and logs.get(run.name)]

    def draw(axes: Axes, data_set: str, members: Sequence[Evaluation]) -> None:
        for run in members:
            steps, losses = ([record[key] for record in logs[run.name]] for key in ("step", "loss"))
            name = model_name(run.variant)
            axes.plot(steps, losses, color=style(name)[0], linewidth=1.4, label=name)
        axes.set(title=data_set_name(data_set), xlabel="Optimiser steps", ylabel="Loss", yscale="log")
        axes.set_xlim(0, None)

    with matplotlib.rc_context(LOOK):
        figure = figure_of(by_data_set(runs), draw, "Training loss", f"Profile {report.profile}.")
        return svg_text(figure) if figure else ""


def by_data_set(runs: Sequence[Evaluation]) -> dict[str, list[Evaluation]]:
    """Group runs by data set."""
    data_sets: dict[str, list[Evaluation]] = {}
    for run in runs:
        data_sets.setdefault(run.data_set, []).append(run)
    return data_sets


def compute(report: Report) -> Figure | None:
    """Draw solved puzzles against FLOPs: one attempt up to its first verified answer, and beside it guesses."""
    panels: dict[tuple[str, str], dict[str, list[Search]]] = {}
    for (data_set, variant, method), searches in searches_of(report).items():
        panels.setdefault((data_set, method), {})[variant] = searches
    all_flops = [
        search.flops for models in panels.values() for searches in models.values() for search in searches
    ]

    def draw(axes: Axes, panel: tuple[str, str], models: Mapping[str, list[Search]]) -> None:
        for variant, searches in models.items():
            scores, name = [(search.flops, search.score) for search in searches], model_name(variant)
            draw_scores(axes, scores, name, label=name)
        data_set, method = panel
        axes.set(title=f"{data_set_name(data_set)}: {method}", xscale="log")
        axes.set_xlabel("FLOPs per puzzle, all attempts together")
        axes.set_xlim(min(all_flops) / 1.5, max(all_flops) * 1.5)
        label_scores(axes, METRICS["fsr"])

    remark = f"Test puzzles of the size trained on; profile {report.profile}. {BANDS}"
    return figure_of(panels, draw, "Test-time compute", remark)


def groups(report: Report) -> Figure | None:
    """Draw solved puzzles by family, grade and so on: a panel per data set and kind of group."""
    main = main_models(report.results)
    panels: dict[tuple[str, str], dict[str, Sequence[Evaluation]]] = {}
    names: dict[tuple[str, str], dict[str, int]] = {}  # of groups, with their numbers of puzzles
    for (data_set, variant), seeds in report.results.items():
        for kind, members in groups_of(seeds, seeds[0].main_set).items() if variant in main else ():
            panels.setdefault((data_set, kind), {})[variant] = seeds
            names.setdefault((data_set, kind), {name: group.num_puzzles for name, group in members.items()})
    if not panels:
        return None
    nums = [*map(len, names.values())]
    figure = Figure(figsize=(8.5, 0.45 * sum(nums) + 1.0 * len(nums) + 0.6), layout="constrained")
    axes_of = figure.subplots(len(panels), squeeze=False, height_ratios=[num + 1 for num in nums]).ravel()
    for axes, (panel, runs_of) in zip(axes_of, panels.items(), strict=True):
        data_set, kind = panel
        for number, (variant, runs) in enumerate(runs_of.items()):
            scores = [group_score(runs, runs[0].main_set, kind, name) for name in names[panel]]
            shift = 0.22 * (number - (len(runs_of) - 1) / 2)
            colour, marker = style(variant)
            ends = [
                [score.value - score.low for score in scores],
                [score.high - score.value for score in scores],
            ]
            values = [score.value for score in scores]
            heights = [height + shift for height in range(len(scores))]
            look = {"color": colour, "marker": marker, "linestyle": "none", "label": model_name(variant)}
            axes.errorbar(values, heights, xerr=ends, elinewidth=1.4, **look)
        axes.set_yticks(
            range(len(names[panel])), [f"{name} (n {num:,})" for name, num in names[panel].items()]
        )
        axes.set(title=f"{data_set_name(data_set)} by {kind}", xlim=(-2, 102), xlabel="Solved (%)")
        axes.invert_yaxis()
    remark = (
        "Test puzzles of the size trained on, with 95% intervals (of several seeds, the range of their intervals); "
        f"profile {report.profile}."
    )
    return framed(figure, "Solved by group of puzzles", remark)


def figure_of(
    panels: Mapping[K, V], draw: Callable[[Axes, K, V], None], title: str, remark: str, height: float = 3.6
) -> Figure | None:
    """Draw panels in rows of two, or one that is wider, in a frame; None without a panel.

    `height` is that of a row in inches.
    """
    if not panels:
        return None
    rows, columns = -(-len(panels) // 2), min(len(panels), 2)
    width = 8.5 if len(panels) == 1 else 10.8
    figure = Figure(figsize=(width, height * rows + 0.9), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for surplus in axes[len(panels) :]:
        surplus.remove()
    for panel_axes, (panel, content) in zip(axes, panels.items(), strict=False):
        draw(panel_axes, panel, content)
    return framed(figure, title, remark)


def draw_scores(axes: Axes, points: Sequence[tuple[float | int, Score]], model: str, **look: Any) -> None:
    """Draw a line through scores in a model's colour, with a band for the intervals."""
    if points:
        (colour, marker), (positions, scores) = style(model), zip(*points, strict=True)
        low, high = [score.low for score in scores], [score.high for score in scores]
        axes.fill_between(positions, low, high, color=colour, alpha=0.15, linewidth=0)
        axes.plot(positions, [score.value for score in scores], color=colour, marker=marker, **look)


def label_scores(axes: Axes, metric: Metric, axis: str = "y") -> None:
    """Name the metric on an axis, which shows all percentages if the metric is a rate."""
    is_rate = metric.statistic is not MEAN
    axes.set(**{f"{axis}label": f"{metric.name} (%)" if is_rate else metric.name})
    if is_rate:
        axes.set(**{f"{axis}lim": (-2, 102)})


def framed(figure: Figure, title: str, remark: str) -> Figure:
    """Add a title above, the legend beside, and a remark below, flush left."""
    entries: dict[str, Any] = {}  # one per label, which several panels may share
    for axes in figure.axes:
        handles, labels = axes.get_legend_handles_labels()
        entries |= zip([textwrap.fill(label, 24) for label in labels], handles, strict=True)
    figure.suptitle(title, x=0.01, ha="left", fontsize=12.5, fontweight="bold")
    figure.legend([*entries.values()], [*entries], loc="outside right upper", fontsize=9.5)
    text = textwrap.fill(remark, int(15 * figure.get_size_inches()[0]))
    figure.supxlabel(text, x=0.01, ha="left", fontsize=8.5, color=MUTED)
    return figure


def svg_text(figure: Figure) -> str:
    """Write a figure as an SVG document, without date and version: equal figures are equal texts.

    Matplotlib names a clipping path after its corners to the last bit, which differ between layouts of the same figure.
    Here clipping paths are numbered instead.
    """
    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    text = stream.getvalue()
    for number, name in enumerate(re.findall(r'<clipPath id="(\w+)"', text)):
        text = text.replace(f'"{name}"', f'"frame{number}"').replace(f"#{name})", f"#frame{number})")
    return text


def permuted(report: Report, task: str) -> str:
    """Draw a row of grids for each model: x, f(x), πx, and f(πx), marked where it is not πf(x); empty without example.

    Only comparisons of predictions in float32 are shown, because other arithmetic rounds x and πx differently.
    """
    main = main_models(report.results)
    runs = [run for variant in main for run in runs_on(report.results, task, variant)[:1]]
    runs = [
        run
        for run in runs
        if not any(scored_set.puzzles_digest in WITH_ANOTHER_TASK_TYPE for scored_set in run.scored.values())
    ]
    rows = [(run, run.equivariance) for run in runs if run.equivariance and run.equivariance.is_in_float32]
    others = [
        model_name(run.variant) for run in runs if run.equivariance and not run.equivariance.is_in_float32
    ]
    left_out = f" Not compared in float32, so not shown: {', '.join(others)}." if others else ""
    if not rows:
        return ""
    mark = "Cross:" if TASKS[task].look.has_crosses else "Orange:"
    about = (
        f"f: the model after {HEADLINE_STEPS} steps; x: a test puzzle of profile {report.profile}, with f(πx) ≠ πf(x) "
        f"if one was kept; π: a permutation of its symbols. {mark} f(πx) ≠ πf(x)."
        f"{TASKS[task].permutation_note}{left_out}"
    )
    title = TASKS[task].permutation_title
    elements, top = picture_heading(title, about)
    for run, result in rows:
        name, counts = model_name(run.variant), f"{result.num_identical:,} of {result.num_pairs:,}"
        heading = f"{name}, {data_set_name(run.data_set)}"
        elements.append(svg.text(LEFT, top + 14, heading, font_size=13.5, font_weight=700, fill=DARK))
        elements.append(svg.text(LEFT, top + 32, f"f(πx) = πf(x) for {counts} puzzles", **SMALL))
        for column, (symbol, panel) in enumerate(_grids(run, result.example).items()):
            left = LEFT + column * (SIZE + GAP)
            elements.append(svg.grid_svg(panel, f"{symbol}, {name}", left, top + 44, SIZE))
            caption = symbol if panel.cells.size else f"{symbol}: no grid"
            elements.append(svg.text(left, top + 62 + SIZE, caption, font_size=12, fill=DARK))
        top += SIZE + 92
    return svg.document(LEFT + 4 * (SIZE + GAP), top, title, elements)


def picture_heading(title: str, about: str) -> tuple[list[str], int]:
    """Write the title of a picture and the lines about it; returns them with the height that they take."""
    lines = textwrap.wrap(about, 135)
    elements = [svg.text(LEFT, 26, title, font_size=16, font_weight=700, fill=DARK)]
    elements += [svg.text(LEFT, 46 + 16 * index, line, **SMALL) for index, line in enumerate(lines)]
    return elements, 58 + 16 * len(lines)


def _grids(run: Evaluation, example: PermutedPuzzle) -> dict[str, Panel]:
    expected = as_tokens([example.permutation[token] for token in example.prediction])
    plain = DrawnPuzzle(run.task, example.side, as_tokens(example.question))
    permuted_puzzle = DrawnPuzzle(run.task, example.side, as_tokens(example.permuted_question), expected)
    return {
        "x": plain.question_panel(),
        "f(x)": plain.prediction_panel(as_tokens(example.prediction)),
        "πx": permuted_puzzle.question_panel(),
        "f(πx)": permuted_puzzle.prediction_panel(as_tokens(example.permuted_prediction)),
    }
