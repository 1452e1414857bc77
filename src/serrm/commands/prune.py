"""`serrm prune`: remove what runs and test sets that params.yaml no longer has left in data/ and dvc.lock."""

import subprocess
import sys
from pathlib import Path

import typer

from serrm.core.project import Layout


def prune() -> None:
    """Remove scores, logs, predictions and test sets that params.yaml no longer has, and their entries in dvc.lock.

    Example: serrm prune

    Removes only what DVC's cache has: if a run comes back, `dvc repro` takes its results from there. Checkpoints stay.
    """
    from serrm.config import open_project
    from serrm.core.files import remove_directory
    from serrm.planning.leftovers import LOCK, is_in_cache, leftovers, tidy_lock

    root, params = open_project()
    paths = leftovers(params, Layout(params.profile, root))
    cache = cache_folder(root) if paths else root
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


def cache_folder(root: Path) -> Path:
    """The folder of DVC's cache. ValueError with DVC's reason if there is none."""
    command = [sys.executable, "-m", "dvc", "cache", "dir"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"dvc cache dir failed: {done.stderr.strip()}")
    return root / done.stdout.strip()
