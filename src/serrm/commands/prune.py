"""`serrm prune`: remove the files and dvc.lock entries of runs and test sets that params.yaml no longer has.

It also lists unfinished trainings, and removes them if asked to.
"""

import os

import typer

from serrm.core.project import LOCK, Layout

UNFINISHED = typer.Option(False, "--unfinished", help="Remove all unfinished trainings, too.")


def prune(removes_unfinished: bool = UNFINISHED) -> None:
    """Remove scores, logs, predictions and test sets that params.yaml no longer has, and their entries in dvc.lock.

    Example: serrm prune

    Removes only what DVC's cache has: if a run comes back, `dvc repro` takes its results from there. Checkpoints stay.
    Unfinished trainings, such as those of code that has been edited since, are listed.
    """
    from serrm.config import open_project
    from serrm.core.files import remove_directory
    from serrm.planning.dvc import dvc
    from serrm.planning.leftovers import is_in_cache, leftovers, tidy_lock
    from serrm.training.identity import lock_folder, unfinished_trainings

    root, params = open_project()
    layout = Layout(params.profile, root)
    paths = leftovers(params, layout)
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
    for training in unfinished_trainings(layout.scratch):
        folder = os.path.relpath(training.folder, root)
        identity = training.identity
        description = (
            f"unfinished training of {identity.run} (profile {identity.profile}) at step {training.step}"
        )
        if removes_unfinished:
            with lock_folder(training.folder):
                remove_directory(training.folder)
        typer.echo(f"{folder}: {description}{' removed' if removes_unfinished else ''}")
