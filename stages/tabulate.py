"""reports/<profile>/metrics → tables and figures, ours beside the paper's."""

import typer

from stages.layout import Layout


def tabulate(profile: str = typer.Option(...)) -> None:
    """Build every table and figure of a profile from its metric files."""
    from serrm.config import Grid, read_cell
    from serrm.reporting.tabulate import tabulate as build

    layout = Layout(profile)
    cells = list(read_cell(Grid, layout.config / "tabulate.json").cells())
    reports = layout.reports
    build(profile, cells, reports / "metrics", reports / "tables", reports / "figures")
