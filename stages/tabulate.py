"""reports/<profile>/metrics, data/predictions → tables, figures and report.html, ours beside the paper's."""

from datetime import date
from importlib.metadata import version

import typer

from stages.layout import PARAMS, ROOT, Layout


def tabulate(profile: str = typer.Option(...)) -> None:
    """Build every table and figure of a profile, and the page that holds them."""
    from serrm.config import read_cell, read_params
    from serrm.grid import Grid
    from serrm.reporting.settings import CellSettings
    from serrm.reporting.tabulate import Places
    from serrm.reporting.tabulate import tabulate as build
    from serrm.resolve import deviations, paper_cell
    from serrm.training.settings import TrainCell

    layout, params = Layout(profile), read_params(PARAMS)
    cells = read_cell(Grid, layout.config / "tabulate.json").cells()
    of = {(t, m): read_cell(TrainCell, layout.config / "train" / f"{t}-{m}-s{s}.json") for t, m, s in cells}
    here = {key: cell.model_dump(mode="json") for key, cell in of.items()}
    differences = {key: list(deviations(params, profile, cell)) for key, cell in of.items()}
    paper = {k: p.model_dump(mode="json") for k, c in of.items() if (p := paper_cell(params, c))}
    places = Places(layout.reports, layout.predictions)
    build(profile, cells, CellSettings(here, paper, differences), places, provenance())


def provenance() -> dict[str, str]:
    """When the page was made, of which commit, and with what."""
    from serrm.project import current_commit

    commit, has_changes = current_commit(ROOT)
    made = {"date": f"{date.today():%d %B %Y}".lstrip("0"), "commit": commit + ", with changes" * has_changes}
    return made | {name: version(name) for name in ("serrm", "torch", "numpy")}
