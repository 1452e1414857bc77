"""data/<profile>/raw → data/<profile>/puzzles/<data_set>: seeded subsets as checked, typed Parquet.

Chooses the puzzles to train on and to score. There is one file per set; of ARC-AGI-1 or -2 one for the pairs of all
sets.
"""

from pathlib import Path

import typer

from serrm.core.project import PARAMS, Layout


def choose_puzzles(
    data_set: str = typer.Argument(..., metavar="DATA_SET", help="An entry of `data_sets` in params.yaml."),
) -> None:
    """Draw the training and test puzzles of a data set and check every answer.

    Example: python -m stages choose_puzzles sudoku
    """
    from serrm.config import read_params
    from serrm.datasets.sets import write_sets

    params = read_params(Path(PARAMS))
    layout = Layout(params.profile)
    write_sets(
        layout.raw / data_set,
        layout.puzzles / data_set,
        params.task_of(data_set),
        params.puzzle_settings(data_set),
    )
