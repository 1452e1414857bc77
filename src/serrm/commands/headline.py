"""`serrm headline`: the table of scores that the pipeline left, on the terminal or in a page."""

import os
import shutil
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
    from rich.console import Console

    from serrm.files import write_whole
    from serrm.reporting.headline import headline_table, replace_table

    root, params = open_project(profile)
    profile, cells = params.profile, params.cells()
    reports = root / "reports" / profile
    scores, notes = headline_table(profile, cells, reports / "metrics")
    width = max(110, shutil.get_terminal_size((110, 0)).columns)  # narrower, it would lose numbers
    Console(width=width, highlight=False).print(scores)
    places = [place for name in ("tables", "figures", "report.html") if (place := reports / name).exists()]
    for line in (*notes, *map(os.path.relpath, places), "MLflow runs: make ui"):
        typer.echo(f"  {line}")
    if page is not None:
        written = page.read_text(encoding="utf-8")
        target = os.path.relpath(page, root)
        write_whole(page, replace_table(written, profile, cells, reports / "metrics", target))
        typer.echo(f"  {page} holds the same numbers")
