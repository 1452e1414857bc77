"""Source → data/<profile>/raw/<data_set>: the publishers' files, or generated ones in forms that later stages read."""

import typer

from serrm.core.project import Layout


def download(
    data_set: str = typer.Argument(..., metavar="DATA_SET", help="An entry of `data_sets` in params.yaml."),
) -> None:
    """Fetch, copy or generate the raw puzzles of a data set, with a manifest of their hashes.

    Example: python -m stages download sudoku
    """
    from serrm.sources.download import fetch
    from stages.inputs import unedited

    with unedited("download", data_set) as inputs:
        layout, settings = Layout(inputs.params.profile), inputs.params.download_settings(data_set)
        fetch(
            inputs.params.task_of(data_set),
            settings.source,
            layout.raw / data_set,
            settings.seed,
            layout.scratch / "downloads" / data_set,  # data sets made at the same time may share a file
        )
