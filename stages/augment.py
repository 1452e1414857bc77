"""data/raw → data/augmented/<profile>/<task>: seeded subsets as checked, typed Parquet, one file a set."""

import typer

from stages.layout import Layout


def augment(profile: str = typer.Option(...), task: str = typer.Option(...)) -> None:
    """Draw the training and test puzzles of a task and check every answer."""
    from serrm.config import read_cell
    from serrm.datasets.settings import AUGMENT
    from serrm.datasets.tasks import write_sets

    layout = Layout(profile)
    settings = read_cell(AUGMENT[task], layout.config / "augment" / f"{task}.json")
    write_sets(layout.raw / task, layout.augmented / task, task, settings)
