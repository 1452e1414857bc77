"""The last stage: from a profile's metric files to all tables and figures, and the page that holds them together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from serrm.files import write_whole
from serrm.reporting.curves import write_curves, write_scores
from serrm.reporting.examples import shown_examples
from serrm.reporting.figures import build_figures
from serrm.reporting.page import render_page
from serrm.reporting.report import build_report
from serrm.reporting.results import all_runs, load_results
from serrm.reporting.settings import CellSettings
from serrm.reporting.writers import to_csv, to_latex, to_markdown

WRITERS: Final = {"md": to_markdown, "csv": to_csv, "tex": to_latex}


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

    The cells are the (task, model variant, seed) that the profile holds; each must have its metric file, and each
    task and variant its resolved settings. `provenance` is shown on the page as it is.

    Raises:
        ValueError: there is no cell; a metric or example file is missing or malformed, or of another profile.
    """
    if not cells:
        raise ValueError(f"profile {profile} has no cells: nothing to report")
    metrics, folder = places.reports / "metrics", places.reports
    results = load_results(cells, metrics)
    for run in all_runs(results):
        if run.profile != profile:
            raise ValueError(f"{metrics}: {run.task}-{run.model} is of profile {run.profile}, not {profile}")
        if (run.task, run.model) not in settings.here:
            raise ValueError(f"no resolved settings of {run.task}-{run.model}")
    for key, sentences in settings.deviations.items():
        results[key] = [run.model_copy(update={"deviations": tuple(sentences)}) for run in results[key]]
    report = build_report(profile, results, settings)
    figures = build_figures(report)
    examples = shown_examples(results, places.examples)
    for name in ("tables", "figures"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for number, table in report.tables.items():
        name = f"table{number}" if number[-1].isdigit() or "-" in number else number
        for suffix, write in WRITERS.items():
            write_whole(folder / "tables" / f"{name}.{suffix}", write(table))
    for name, figure in figures.items():
        write_whole(folder / "figures" / f"{name}.svg", figure)
    write_curves(results, folder / "curves")
    write_scores(results, folder / "scores.json")
    write_whole(folder / "report.html", render_page(report, figures, examples, provenance))
