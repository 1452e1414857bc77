"""data/augmented → data/arrays/<profile>/<task>: memory-mapped tokens and the index of augmentations."""

import typer

from stages.layout import Layout


def build_arrays(profile: str = typer.Option(...), task: str = typer.Option(...)) -> None:
    """Turn the puzzle sets of a task into arrays."""
    from serrm.arrays.build import build
    from serrm.arrays.settings import ArraySettings
    from serrm.config import read_cell

    layout = Layout(profile)
    settings = read_cell(ArraySettings, layout.config / "arrays" / f"{task}.json")
    build(layout.augmented / task, layout.arrays / task, task, settings)
