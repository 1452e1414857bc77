"""data/<profile>/puzzles → data/<profile>/arrays/<data_set>: memory-mapped tokens, to train and to be tested on."""

import typer

from serrm.core.project import Layout


def build_arrays(
    data_set: str = typer.Argument(..., metavar="DATA_SET", help="An entry of `data_sets` in params.yaml."),
) -> None:
    """Turn the puzzle sets of a data set into arrays.

    Example: python -m stages build_arrays sudoku
    """
    from serrm.arrays.build import build
    from stages.inputs import unedited

    with unedited("build_arrays", data_set) as inputs:
        layout = Layout(inputs.params.profile)
        build(
            layout.puzzles / data_set,
            layout.arrays / data_set,
            inputs.params.task_of(data_set),
            inputs.params.array_settings(data_set),
        )
