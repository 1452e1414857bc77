"""`serrm prune`: remove the files and dvc.lock entries of runs and test sets that params.yaml no longer has."""

import typer

from serrm.core.project import LOCK, Layout


def prune() -> None:
    """Remove scores, logs, predictions and test sets that params.yaml no longer has, and their entries in dvc.lock.

    Example: serrm prune

    Removes only what DVC's cache has: if a run comes back, `dvc repro` takes its results from there. Checkpoints stay.
    """
    from serrm.config import open_project
    from serrm.core.files import remove_directory
    from serrm.planning.dvc import dvc
    from serrm.planning.leftovers import is_in_cache, leftovers, tidy_lock

    root, params = open_project()
    paths = leftovers(params, Layout(params.profile, root))
    cache = root / dvc(root, "cache", "dir").strip() if paths else root
    for path in paths:
        name = path.relative_to(root)
        if not is_in_cache(path, cache):
            typer.echo(f"{name}: stays, because DVC's cache does not have it", err=True)
            continue
        if path.is_dir():
            remove_directory(path)
        else:
            path.unlink()
        typer.echo(f"{name}: removed, no longer in params.yaml")
    if (root / LOCK).is_file() and (num := tidy_lock(params, root)):
        typer.echo(
            f"{LOCK}: {num} {'entry' if num == 1 else 'entries'} removed of stages no longer in params.yaml"
        )
