"""The last stage: from a profile's metric files to the paper's Sudoku tables (1 and 2) and the figures."""

from collections.abc import Sequence
from pathlib import Path

from serrm.reporting.figures import depth_figure, learning_curves_figure, save_figure
from serrm.reporting.latex import to_latex
from serrm.reporting.paper import load_paper
from serrm.reporting.render import to_csv, to_markdown
from serrm.reporting.results import load_results
from serrm.reporting.tables import build_table

TABLES = ("1", "2")
WRITERS = {"md": to_markdown, "csv": to_csv, "tex": to_latex}


def tabulate(
    profile: str, cells: Sequence[tuple[str, str, int]], metrics: Path, tables: Path, figures: Path
) -> None:
    """Write tables/table1 and table2 as .md, .csv and .tex, and figures/depth.svg and learning_curves.svg.

    The cells are the (task, model variant, seed) that the profile holds; each must have its metric file.

    Raises:
        ValueError: a metric file is missing, malformed, or of another profile.
    """
    paper, results = load_paper(), load_results(cells, metrics)
    for run in (run for seeds in results.values() for run in seeds):
        if run.profile != profile:
            raise ValueError(f"{metrics}: {run.task}-{run.model} is of profile {run.profile}, not {profile}")
    built = {number: build_table(number, paper.score_tables[number], results) for number in TABLES}
    tables.mkdir(parents=True, exist_ok=True)
    figures.mkdir(parents=True, exist_ok=True)
    for number, table in built.items():
        for suffix, write in WRITERS.items():
            (tables / f"table{number}.{suffix}").write_text(write(table), encoding="utf-8")
    names = {row.variant: row.name for row in built["1"].rows if row.variant}
    sources = dict.fromkeys(run.data.source for seeds in results.values() for run in seeds)
    source = f"profile {profile}, {'; '.join(sources)}"
    save_figure(depth_figure(built["2"], source), figures / "depth.svg")
    save_figure(learning_curves_figure(results, "sudoku", names, source), figures / "learning_curves.svg")
