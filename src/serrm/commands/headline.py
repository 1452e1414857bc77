"""`serrm headline`: the main scores of a profile, on the terminal or in a page."""

import os
from pathlib import Path

import typer

from serrm.project import open_project

PAGE = typer.Option(None, "--write", help="Also write the table between the markers of this page.")


def headline(
    profile: str | None = typer.Option(None, help="A file of profiles/. Default: that of params.yaml."),
    page: Path | None = PAGE,
) -> None:
    """Print a profile's scores as one small table, and where its other results are."""
    from serrm.files import between_markers, write_whole
    from serrm.reporting import tables
    from serrm.reporting.results import load_results

    root, params = open_project(profile)
    reports = root / "reports" / params.profile
    results = load_results(params.run_keys(), reports / "metrics")
    init = {(run.task, params.variant(name)): Path(run.init).name for name, run in params.runs.items()}
    folders = [path for name in ("tables", "figures", "report.html") if (path := reports / name).exists()]
    typer.echo(f"profile {params.profile}\n{tables.headline_text(results, init, 'simple')}")
    typer.echo("\n".join([*map(os.path.relpath, folders), "MLflow runs: make ui"]))
    if page is not None:
        table, text = tables.headline_text(results, init, "github"), page.read_text(encoding="utf-8")
        begin, end = (marker.format(params.profile) for marker in (tables.BEGIN, tables.END))
        write_whole(page, between_markers(text, begin, end, table))
        typer.echo(f"{page}: table of profile {params.profile} replaced")
