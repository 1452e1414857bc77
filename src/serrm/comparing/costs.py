"""Scores against training FLOPs and against seconds of training, over all committed profiles and the paper's runs."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from typing import Final, NamedTuple

import matplotlib
from matplotlib.figure import Figure

from serrm.models.families import FAMILIES
from serrm.puzzles.tasks import TASKS
from serrm.reporting import figures
from serrm.reporting.paper import load_paper, model_name, paper_cost
from serrm.reporting.results import Report, headline_models, headline_score, total_flops, total_seconds
from serrm.reporting.style import style
from serrm.scoring.metrics import metrics_of

PAPERS: Final = "the paper"
SIGNS: Final = (*"sD^vP*Xd<>hp", (3, 1, 0), (4, 1, 0), "H", (8, 1, 0))  # markers of profiles, in their order
# Fillings of the markers of a profile's data sets of a task, in their order.
FILLINGS: Final = ("full", "none", "bottom", "left")


class CostPoint(NamedTuple):
    """The score of one seed, or of a run of the paper, in percent, with the cost of its training."""

    profile: str
    data_set: str
    task: str
    family: str
    flops: float
    seconds: float | None
    score: float


def points(reports: Mapping[str, Report]) -> list[CostPoint]:
    """Collect the headline models' seeds on the main sets of all profiles, and the paper's runs of tables 1 and 3."""
    seeds = [point for report in reports.values() for point in _of_profile(report)]
    return [*seeds, *_papers()]


def _of_profile(report: Report) -> Iterator[CostPoint]:
    for (_, variant), runs in report.results.items():
        if variant not in headline_models(report.results) or not (result := headline_score(runs)):
            continue
        for run, (value, *_) in zip(runs, result.seeds, strict=True):
            cost = float(total_flops(run, report)), total_seconds(run, report)
            yield CostPoint(report.profile, run.data_set, run.task, run.model_info.family, *cost, value)


def _papers() -> Iterator[CostPoint]:
    for number in ("1", "3"):
        table = load_paper().score_tables[number]
        for row in table.rows:
            for key, entry in row.entries.items():
                column, cost = table.columns[key], paper_cost(table.columns[key].task, row.variant_of(key))
                is_main = column.metric == TASKS[column.task].main_metric
                is_main &= number == "3" or column.set == "9x9"
                if cost and entry.numbers and is_main and row.variant in FAMILIES:
                    value = float(entry.numbers[0])
                    yield CostPoint(
                        PAPERS, column.task, column.task, row.variant, float(cost.flops), None, value
                    )


def picture(points: Sequence[CostPoint]) -> str:
    """Draw a row of two panels per task, as an SVG document: colours by family, markers by profile."""
    seeds = [point for point in points if point.profile != PAPERS]
    tasks = [task for task in TASKS if any(point.task == task for point in seeds)]
    profiles = dict.fromkeys(point.profile for point in seeds)
    signs = dict(zip(profiles, SIGNS, strict=False)) | {PAPERS: "o"}
    fillings = _fillings(points)
    with matplotlib.rc_context(figures.LOOK):
        figure = Figure(figsize=(10.8, 3.2 * len(tasks) + 1.2), layout="constrained")
        grid = figure.subplots(len(tasks), 2, squeeze=False)
        for task, row in zip(tasks, grid, strict=True):
            for axes, unit in zip(row, ("flops", "seconds"), strict=True):
                for point in points:
                    position = getattr(point, unit)
                    if point.task == task and position:
                        look = {"fillstyle": fillings[point.profile, point.data_set], "markersize": 6}
                        sign, colour = signs.get(point.profile, "o"), style(point.family)[0]
                        axes.plot(position, point.score, marker=sign, color=colour, alpha=0.7, **look)
                name = metrics_of(task)[TASKS[task].main_metric].name
                axes.set(xscale="log", ylim=(-3, 103), ylabel=f"{name} (%)", title=TASKS[task].name)
                axes.set_xlabel("Training FLOPs" if unit == "flops" else "Seconds of training")
        axes = grid[0][0]
        for family in FAMILIES:
            axes.plot([], [], "o", color=style(family)[0], label=f"colour: {model_name(family)}")
        for profile, sign in signs.items():
            axes.plot([], [], marker=sign, color=figures.MUTED, label=profile, linestyle="")
        for (profile, data_set), filling in fillings.items():
            if filling != FILLINGS[0]:
                look = {"marker": signs[profile], "fillstyle": filling, "linestyle": ""}
                axes.plot([], [], color=figures.MUTED, label=f"{profile}, {data_set}", **look)
        return figures.svg_text(figures.framed(figure, "Scores by cost of training", CAPTION))


def _fillings(points: Sequence[CostPoint]) -> dict[tuple[str, str], str]:
    """Choose the filling of a marker by profile and data set; the first data set of a task has a full one."""
    data_sets: dict[tuple[str, str], dict[str, None]] = {}
    for point in points:
        data_sets.setdefault((point.profile, point.task), {})[point.data_set] = None
    return {
        (profile, data_set): filling
        for (profile, _), names in data_sets.items()
        for data_set, filling in zip(names, cycle(FILLINGS), strict=False)
    }


CAPTION: Final = (
    "A point is one seed of a headline model on the main test set of a data set, or a run of the paper; hollow or "
    "half-filled markers are a profile's further data sets. Puzzles differ, so compare points with the same marker. "
    "Machines differ, and seconds are only comparable within a profile, too."
)
