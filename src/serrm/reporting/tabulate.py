"""The last stage: from a profile's metric files to all tables and figures, and the page that holds them together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from serrm.files import write_json, write_whole
from serrm.reporting.claims import claims_table
from serrm.reporting.diagrams import build_diagrams
from serrm.reporting.figures import build_curves
from serrm.reporting.names import METRIC_NAMES, metrics_of, model_name, set_name, task_name
from serrm.reporting.page import render_page
from serrm.reporting.results import Evaluation, Results, all_runs, load_results
from serrm.reporting.settings import CellSettings
from serrm.reporting.tables import Report, build_tables, notes, recipes, to_csv, to_latex, to_markdown


@dataclass(frozen=True)
class Places:
    """Where a profile's metrics and examples are read, and the folder of its tables, figures, curves and page."""

    reports: Path
    examples: Path


def tabulate(
    profile: str,
    cells: Sequence[tuple[str, str, int]],
    settings: CellSettings,
    places: Places,
    provenance: Mapping[str, str],
) -> None:
    """Write every table as .md, .csv and .tex, every figure that there is data for as .svg, and the page.

    The cells are the (task, model, seed) of the profile's runs; each must have its metric file, and each task and model
    its resolved settings. `provenance` is shown on the page as it is.

    Raises:
        ValueError: there is no run; a metric or example file is missing or malformed, or of another profile.
    """
    if not cells:
        raise ValueError(f"profile {profile} has no runs: nothing to report")
    folder = places.reports
    results = load_results(cells, folder / "metrics")
    for run in all_runs(results):
        if run.profile != profile:
            raise ValueError(f"{folder / 'metrics'}: {run.name} is of profile {run.profile}, not {profile}")
        if (run.task, run.model) not in settings.here:
            raise ValueError(f"no resolved settings of {run.task}-{run.model}")
    report = Report(profile, results, settings)
    tables = [*build_tables(report), claims_table(report)]
    figures = build_curves(report) | build_diagrams(report)
    for table in tables:
        for suffix, write in (("md", to_markdown), ("csv", to_csv), ("tex", to_latex)):
            write_whole(folder / "tables" / f"{table.name}.{suffix}", write(table))
    for name, title, lines in (
        ("notes", "How to read the tables", notes(results)),
        ("recipes", "Where runs differ from the paper's model of their family", recipes(report)),
    ):
        text = "\n".join([f"### {title}\n", *(f"- {line}" for line in lines), ""])
        write_whole(folder / "tables" / f"{name}.md", text)
    for name, figure in figures.items():
        write_whole(folder / "figures" / f"{name}.svg", figure)
    write_curves(results, folder)
    page = render_page(report, tables, figures, places.examples, provenance)
    write_whole(folder / "report.html", page)


def write_curves(results: Results, folder: Path) -> None:
    """Write curves/depth.csv and learning.csv for `dvc plots`, and scores.json for `dvc metrics`, all in percent.

    `solved` is the metric of tables 1 and 3. scores.json holds the rates after the last step, by run and set.
    """
    runs, last = all_runs(results), dict[str, dict[str, dict[str, float]]]()
    points: dict[str, list[dict[str, object]]] = {"depth": [], "learning": []}
    has_seeds = len({run.seed for run in runs}) > 1
    for run in runs:
        names = {
            "panel": task_name(run.task),
            "model": model_name(run.model) + f", seed {run.seed}" * has_seeds,
        }
        for point in run.learning_curve:
            at = {"step": int(point["step"]), "samples": int(point["samples"]), "loss": point["loss"]}
            points["learning"].append({**names, **at, **_rates(run, point)})
        for name, part in run.scored.items():
            panel = {**names, "panel": f"{task_name(run.task)} {set_name(name)}"}
            points["depth"] += [
                {**panel, "steps": steps, **_rates(run, each)} for steps, each in part.steps.items()
            ]
            scores = part.steps[max(part.steps)]
            rates = {metric: round(100 * scores[metric], 2) for metric in METRIC_NAMES if metric in scores}
            last.setdefault(run.name, {})[name] = rates
    for name, counts in (("depth", ["steps"]), ("learning", ["step", "samples", "loss"])):
        frame = pd.DataFrame(points[name], columns=["panel", "model", *counts, "solved", "gpa"])
        write_whole(folder / "curves" / f"{name}.csv", frame.to_csv(index=False, lineterminator="\n"))
    write_json(folder / "scores.json", last)


def _rates(run: Evaluation, scores: Mapping[str, float]) -> dict[str, float | None]:
    metrics = {"solved": metrics_of(run.task)[0], "gpa": "gpa"}
    return {name: round(100 * scores[each], 2) if each in scores else None for name, each in metrics.items()}
