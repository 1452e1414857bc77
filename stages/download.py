"""Source → data/raw/<profile>/<task>: the publishers' files, or generated ones in the same formats."""

import typer

from stages.layout import ROOT, Layout


def download(profile: str = typer.Option(...), task: str = typer.Option(...)) -> None:
    """Fetch, copy or generate the raw puzzles of a task, with a manifest of their hashes."""
    from serrm.config import read_cell
    from serrm.sources.fetch import fetch
    from serrm.sources.settings import DOWNLOAD

    layout = Layout(profile)
    settings = read_cell(DOWNLOAD[task], layout.config / "download" / f"{task}.json")
    source = settings.source
    if source.kind == "mirror":
        source = source.model_copy(update={"root": ROOT / source.root})
    fetch(task, source, layout.raw / task, settings.seed, layout.scratch / "downloads")
