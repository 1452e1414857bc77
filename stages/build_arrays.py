"""data/<profile>/puzzles → data/<profile>/arrays/<data_set>: memory-mapped tokens, to train and to be tested on."""

from pathlib import Path

import typer

from serrm.core.project import PARAMS, Layout


def build_arrays(
    data_set: str = typer.Argument(..., metavar="DATA_SET", help="An entry of `data_sets` in params.yaml."),
) -> None:
    """Turn the puzzle sets of a data set into arrays.

    Example: python -m stages build_arrays sudoku
    """
    from serrm.arrays.build import build
    from serrm.config import read_params

    params = read_params(Path(PARAMS))
    layout = Layout(params.profile)
    build(
        layout.puzzles / data_set,
        layout.arrays / data_set,
        params.task_of(data_set),
        params.array_settings(data_set),
    )
