"""`serrm grid`: the cells of the active profile, for DVC."""

import typer

from serrm.project import open_project


def grid() -> None:
    """Write grid.yaml, the active profile's cells as DVC reads them, from params.yaml."""
    from serrm.grid_file import GRID, describe, refresh

    root, params, _ = open_project()
    verb = "now lists" if refresh(params, root / GRID) else "lists"
    typer.echo(f"{GRID} {verb} the {describe(params)}")
