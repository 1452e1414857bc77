"""data/augmented → data/arrays/<profile>/<task>: memory-mapped tokens and the index of augmentations."""

import typer

from stages.layout import Layout


def build_arrays(profile: str = typer.Option(...), task: str = typer.Option(...)) -> None:
    """Turn the puzzle sets of a task into arrays."""
    from serrm.config import ArraySettings, read_cell
    from serrm.data.arrays import build_arrays as build

    layout = Layout(profile)
    settings = read_cell(ArraySettings, layout.config / "arrays" / f"{task}.json")
    num_prebuilt = settings.num_augmentations if settings.prebuilt else 0
    build(layout.augmented / task, layout.arrays / task, seed=settings.seed, num_prebuilt=num_prebuilt)
