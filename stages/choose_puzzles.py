"""data/<profile>/raw → data/<profile>/puzzles/<data_set>: seeded subsets as checked, typed Parquet.

Chooses the puzzles to train on and to score. There is one file per set; of ARC-AGI-1 or -2 one for the pairs of all
sets.
"""

import typer

from serrm.core.project import Layout


def choose_puzzles(
    data_set: str = typer.Argument(..., metavar="DATA_SET", help="An entry of `data_sets` in params.yaml."),
) -> None:
    """Draw the training and test puzzles of a data set and check every answer.

    Example: python -m stages choose_puzzles sudoku
    """
    from serrm.datasets.sets import write_sets
    from stages.inputs import unedited

    with unedited("choose_puzzles", data_set) as inputs:
        layout = Layout(inputs.params.profile)
        write_sets(
            layout.raw / data_set,
            layout.puzzles / data_set,
            inputs.params.task_of(data_set),
            inputs.params.puzzle_settings(data_set),
        )
