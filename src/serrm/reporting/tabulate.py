"""The last stage: from a profile's metric files to all tables and figures, and the page that holds them together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from serrm.reporting.claims import Claim, check_claims, claims_table
from serrm.reporting.curves import write_curves, write_scores
from serrm.reporting.demonstrations import demonstration_table
from serrm.reporting.efforts import effort_table
from serrm.reporting.evidence import Evidence
from serrm.reporting.examples import shown_examples
from serrm.reporting.figures.architecture import architecture_figure
from serrm.reporting.figures.compute import compute_figure, throughput_figure
from serrm.reporting.figures.curves import depth_figure, learning_curves_figure
from serrm.reporting.figures.equivariance import equivariance_figure
from serrm.reporting.figures.sizes import sizes_figure
from serrm.reporting.figures.style import svg_text
from serrm.reporting.files import write_whole
from serrm.reporting.hyperparameters import CellSettings, hyperparameter_table
from serrm.reporting.latex import to_latex
from serrm.reporting.page import Report, render_page
from serrm.reporting.paper import load_paper
from serrm.reporting.plain import PlainTable, plain_csv, plain_latex, plain_markdown
from serrm.reporting.render import to_csv, to_markdown
from serrm.reporting.results import Results, load_language_models, load_results
from serrm.reporting.runs import runs_table
from serrm.reporting.tables import Table, build_table

WRITERS = {"md": to_markdown, "csv": to_csv, "tex": to_latex}
PLAIN_WRITERS = {"md": plain_markdown, "csv": plain_csv, "tex": plain_latex}


@dataclass(frozen=True)
class Places:
    """Where a profile's metrics and examples are read, and its tables, figures, curves and page are written."""

    metrics: Path
    examples: Path
    tables: Path
    figures: Path
    page: Path

    @property
    def curves(self) -> Path:
        """The points of the curves, beside the figures."""
        return self.figures.with_name("curves")

    @classmethod
    def under(cls, reports: Path, examples: Path) -> "Places":
        """Where a folder of reports has them, with the folder of the examples."""
        return cls(
            reports / "metrics", examples, reports / "tables", reports / "figures", reports / "report.html"
        )


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
    results, asked = load_results(cells, places.metrics), load_language_models(places.metrics)
    for run in (run for seeds in [*results.values(), *asked.values()] for run in seeds):
        if run.profile != profile:
            raise ValueError(
                f"{places.metrics}: {run.task}-{run.model} is of profile {run.profile}, not {profile}"
            )
        if not run.is_asked and (run.task, run.model) not in settings.here:
            raise ValueError(f"no resolved settings of {run.task}-{run.model}")
    claims = check_claims(Evidence(results, settings))
    tables = build_tables(profile, results, settings, claims, asked)
    figures = build_figures(profile, results, settings, tables)
    _write_tables(tables, places.tables)
    write_curves(results, places.curves)
    write_scores(results, places.curves.with_name("scores.json"))
    places.figures.mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        write_whole(places.figures / f"{name}.svg", figure)
    examples = shown_examples(results, places.examples)
    report = Report(profile, results, tables, figures, claims, examples, provenance)
    write_whole(places.page, render_page(report))


def build_tables(
    profile: str,
    results: Results,
    settings: CellSettings,
    claims: Sequence[Claim],
    asked: Results | None = None,
) -> dict[str, Table | PlainTable]:
    """Every table by its number: the paper's, their extensions, the claims and the runs.

    Language models, `asked`, are rows of table 1 alone. A table of which nothing was run is there as well and says
    so: which tables there are is the same in every profile.
    """
    paper = load_paper()
    scores = paper.score_tables | paper.extension_tables
    tables: dict[str, Table | PlainTable] = {
        number: build_table(number, table, results | (asked or {}) if number == "1" else results)
        for number, table in scores.items()
    }
    for number, hyperparameters in paper.hyperparameter_tables.items():
        tables[number] = hyperparameter_table(number, profile, hyperparameters, settings, results)
    extras = (
        effort_table(results),
        demonstration_table(results),
        claims_table(claims),
        runs_table(results),
    )
    return tables | {extra.number: extra for extra in extras}


def build_figures(
    profile: str, results: Results, settings: CellSettings, tables: Mapping[str, Table | PlainTable]
) -> dict[str, str]:
    """Every figure that the results have data for, by name, as an SVG document."""
    sources = dict.fromkeys(run.data.source for seeds in results.values() for run in seeds)
    source = f"profile {profile}, {'; '.join(sources)}"
    sizes, depth = tables["1"], tables["2"]
    assert isinstance(sizes, Table) and isinstance(depth, Table)
    drawn = {
        "depth": depth_figure(depth, source) if depth.was_run else None,
        "sizes": sizes_figure(sizes, source) if sizes.was_run else None,
        "learning_curves": learning_curves_figure(results, source),
        "compute": compute_figure(results, settings.here, source),
        "throughput": throughput_figure(results),
    }
    figures = {name: svg_text(figure) for name, figure in drawn.items() if figure is not None}
    figures["architecture"] = architecture_figure(results, settings)
    equivariance = equivariance_figure(results)
    return figures if equivariance is None else figures | {"equivariance": equivariance}


def _write_tables(tables: Mapping[str, Table | PlainTable], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, table in tables.items():
        name = f"table{number}" if number[-1].isdigit() or "-" in number else number
        if isinstance(table, Table):
            written = {suffix: write(table) for suffix, write in WRITERS.items()}
        else:
            written = {suffix: write(table) for suffix, write in PLAIN_WRITERS.items()}
        for suffix, content in written.items():
            write_whole(folder / f"{name}.{suffix}", content)
