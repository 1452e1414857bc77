"""Curves as SVG: solved against steps (table 2), learning curves (figure A3), solved against compute.

Equal results give equal bytes. Only this module imports matplotlib, which loads slowly.
"""

import io
import re
import textwrap
from collections.abc import Iterable, Sequence
from itertools import cycle
from typing import Any, Final

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from serrm.reporting.names import METRIC_NAMES, metrics_of, model_name, task_name
from serrm.reporting.paper import load_paper
from serrm.reporting.results import all_runs, score
from serrm.reporting.tables import Report, compute_points

INK, MUTED = "#333333", "#595959"
# The colours of Okabe and Ito, told apart by all common kinds of colour vision; markers for print in grey.
STYLES: Final = {"SE-RRM": ("#d55e00", "o"), "TRM": ("#0072b2", "s"), "HRM": ("#009e73", "^")}
OTHERS: Final = (("#cc79a7", "D"), ("#e69f00", "v"), ("#56b4e9", "P"), ("#666666", "X"), ("#8c564b", "*"))
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
    "text.color": INK,
}


def build_curves(report: Report) -> dict[str, str]:
    """Every figure that the results have data for, by name, as an SVG document."""
    with matplotlib.rc_context(LOOK):
        drawn = {
            "depth": depth(report),
            "learning_curves": learning_curves(report),
            "compute": compute(report),
        }
        return {name: svg_text(figure) for name, figure in drawn.items() if figure}


def depth(report: Report) -> Figure | None:
    """Solved 9×9 Sudoku against the number of supervision steps: ours solid, the paper's dashed."""
    ran = {model: runs for (task, model), runs in report.results.items() if "9x9" in runs[0].scored}
    if not ran:
        return None
    figure, (axes,) = _panels(1)
    styles = _styles(report)
    for model, runs in ran.items():
        scores = {
            steps: each for steps in runs[0].scored["9x9"].steps if (each := score(runs, "fsr", "9x9", steps))
        }
        values = [(each.low, each.value, each.high) for each in scores.values()]
        _draw(axes, [*scores], values, styles[model_name(model)], label=f"{model_name(model)}, ours")
    printed = load_paper().score_tables["2"]
    for row in printed.rows:
        points = {column.steps: float(row.cells[key].numbers[0]) for key, column in printed.columns.items()}
        values = [(value,) * 3 for value in points.values()]
        look = {
            "linestyle": "--",
            "markerfacecolor": "white",
            "linewidth": 1.4,
            "label": f"{row.name}, paper",
        }
        _draw(axes, [*points], values, STYLES[row.name], **look)
    axes.set_xscale("log", base=2)
    axes.set_xticks(ticks := [column.steps for column in printed.columns.values()], labels=map(str, ticks))
    axes.set_xlabel("Supervision steps at inference")
    _percent(axes, "fsr")
    remark = f"Solid, with 95% intervals: {_data(report, ['sudoku'])}. Dashed: the paper."
    return _framed(figure, printed.title, remark)


def learning_curves(report: Report) -> Figure | None:
    """Scores against samples processed, a panel for each score of a task whose snapshots were scored."""
    runs = [run for run in all_runs(report.results) if run.learning_curve]
    asked = dict.fromkeys((run.task, metric) for run in runs for metric in metrics_of(run.task))
    if not asked:
        return None
    figure, panels = _panels(len(asked))
    styles = _styles(report)
    for axes, (task, metric) in zip(panels, asked, strict=True):
        for run in runs:
            points = [point for point in run.learning_curve if metric in point] if run.task == task else []
            values = [tuple(100 * point[f"{metric}{end}"] for end in ("_lo", "", "_hi")) for point in points]
            _draw(
                axes,
                [point["samples"] for point in points],
                values,
                styles[model_name(run.model)],
                label=model_name(run.model),
            )
        axes.set(title=task_name(task), xlabel="Samples processed")
        axes.set_xlim(0, None)
        _percent(axes, metric)
    data = _data(report, [task for task, _ in asked])
    return _framed(figure, "Learning curves", f"Ours, with 95% intervals: {data}.")


def compute(report: Report) -> Figure | None:
    """Solved puzzles against FLOPs: one attempt up to its first verified answer, and attempts with guesses."""
    if not (points := compute_points(report)):
        return None
    figure, (axes,) = _panels(1)
    for (model, way), group in points.items():
        values = [(100 * each.fsr_lo, 100 * each.fsr, 100 * each.fsr_hi) for _, each in group]
        line = ":" if way == "guesses" else "-"
        _draw(
            axes,
            [flops for flops, _ in group],
            values,
            _styles(report)[model],
            label=f"{model}, {way}",
            linestyle=line,
        )
    axes.set_xscale("log")
    axes.set_xlabel("FLOPs a puzzle, all attempts together")
    _percent(axes, "fsr")
    return _framed(figure, "Test-time compute", f"With 95% intervals: {_data(report, ['sudoku'])}.")


def _panels(num: int) -> tuple[Figure, list[Axes]]:
    """Axes in rows of two, or one that is wider."""
    rows, columns = -(-num // 2), min(num, 2)
    figure = Figure(figsize=(8.5 if num == 1 else 10.8, 3.6 * rows + 0.9), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for surplus in axes[num:]:
        surplus.remove()
    return figure, axes[:num]


def _styles(report: Report) -> dict[str, tuple[str, str]]:
    """A colour and a marker for each model, the same in every figure."""
    names = [model_name(model) for model in dict.fromkeys(model for _, model in report.results)]
    others = dict(zip([name for name in names if name not in STYLES], cycle(OTHERS), strict=False))
    return STYLES | others


def _draw(
    axes: Axes,
    at: Sequence[float | int],
    values: Sequence[Sequence[float]],
    style: tuple[str, str],
    **look: Any,
) -> None:
    """A line through (low, value, high) with a band for the intervals."""
    if values:
        low, value, high = zip(*values, strict=True)
        axes.fill_between(at, low, high, color=style[0], alpha=0.15, linewidth=0)
        axes.plot(at, value, color=style[0], marker=style[1], **look)


def _percent(axes: Axes, metric: str) -> None:
    axes.set(ylabel=f"{METRIC_NAMES[metric]} (%)", ylim=(-2, 102))


def _data(report: Report, tasks: Iterable[str]) -> str:
    """Where the puzzles of some tasks come from; 16×16 ones are in no figure."""
    sources = dict.fromkeys(run.data.source for run in all_runs(report.results) if run.task in tasks)
    parts = [part for source in sources for part in source.split("; ") if not part.startswith("16×16")]
    return f"profile {report.profile}, {'; '.join(parts)}"


def _framed(figure: Figure, title: str, remark: str) -> Figure:
    """A title above, the legend beside, and a remark below, flush left."""
    entries: dict[str, Any] = {}  # one a name, though several panels may share it
    for axes in figure.axes:
        entries |= {
            textwrap.fill(label, 24): handle
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
    figure.suptitle(title, x=0.01, ha="left", fontsize=12.5, fontweight="bold")
    figure.legend([*entries.values()], [*entries], loc="outside right upper", fontsize=9.5)
    words = textwrap.fill(remark, int(15 * figure.get_size_inches()[0]))
    figure.supxlabel(words, x=0.01, ha="left", fontsize=8.5, color=MUTED)
    return figure


def svg_text(figure: Figure) -> str:
    """A figure as an SVG document, without date and version: equal figures are equal texts.

    Matplotlib names a clipping frame after its corners to the last bit, which the layout does not always find alike; so
    frames are numbered.
    """
    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    text = stream.getvalue()
    for number, name in enumerate(re.findall(r'<clipPath id="(\w+)"', text)):
        text = text.replace(f'"{name}"', f'"frame{number}"').replace(f"#{name})", f"#frame{number})")
    return text
