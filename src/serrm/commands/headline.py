"""`serrm headline`: the table of scores that the pipeline left, on the terminal or in a page."""

import os
from pathlib import Path

import typer

from serrm.project import open_project

PAGE = typer.Option(
    None, "--write", exists=True, dir_okay=False, help="Also put the scores between the markers of this page."
)


def headline(
    profile: str | None = typer.Option(None, help="A file of profiles/. Default: that of params.yaml."),
    page: Path | None = PAGE,
) -> None:
    """Print the table of scores that the pipeline left, and say where the rest lies."""
    from serrm.files import write_whole
    from serrm.reporting.headline import in_terminal, replace_table
    from serrm.reporting.results import load_results
    from serrm.reporting.settings import CellSettings
    from serrm.reporting.tables import Report

    root, params = open_project(profile)
    reports = root / "reports" / params.profile
    report = Report(params.profile, load_results(params.cells(), reports / "metrics"), CellSettings())
    places = [place for name in ("tables", "figures", "report.html") if (place := reports / name).exists()]
    typer.echo(f"profile {params.profile}")
    for text in (*in_terminal(report), *map(os.path.relpath, places), "MLflow runs: make ui"):
        typer.echo(text)
    if page is not None:
        written = page.read_text(encoding="utf-8")
        write_whole(page, replace_table(written, report, os.path.relpath(page, root)))
        typer.echo(f"{page} holds the same numbers")
