"""params.yaml → data/config/<profile>: one settings file for every stage and cell, which DVC tracks."""

import typer

from stages.layout import GRID, PARAMS, Layout


def resolve(profile: str = typer.Option(...)) -> None:
    """Compose variants, recipes and profile into what each cell depends on."""
    from serrm.config import read_params
    from serrm.grid_file import check
    from serrm.resolve import resolve as resolve_cells
    from serrm.resolve import write

    params = read_params(PARAMS)
    check(params, GRID)
    write(resolve_cells(params, profile), Layout(profile).config)
