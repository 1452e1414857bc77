"""`serrm grid`: the cells of the active profile, for DVC."""

from pathlib import Path

import typer


def grid() -> None:
    """Write grid.yaml, the active profile's cells as DVC reads them, from params.yaml."""
    from serrm.grid_file import GRID, describe, refresh
    from serrm.project import find_root, project_params

    root = find_root(Path.cwd())
    params = project_params(root)
    verb = "now lists" if refresh(params, root / GRID) else "lists"
    typer.echo(f"{GRID} {verb} the {describe(params)}")
