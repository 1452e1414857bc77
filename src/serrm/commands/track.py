"""`serrm track`: log runs to MLflow again from their files; name a run's model in its registry, and serve it."""

import logging
from pathlib import Path

import typer

from serrm.project import find_root, open_project

track = typer.Typer(
    help="MLflow: log the runs again from their files, name a model, serve it.", no_args_is_help=True
)


@track.callback()
def about() -> None:
    """MLflow: log the runs again from their files, name a model, serve it."""
    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.WARNING)


@track.command()
def sync(
    profile: str | None = typer.Option(None, help="Only this one. Default: all that have results."),
) -> None:
    """Log to MLflow what checkpoints, training logs and metrics hold; twice adds nothing."""
    from serrm.tracking.runs import RunFiles, sync_run
    from serrm.tracking.server import tracking_uri

    root = find_root(Path.cwd()).resolve()
    found = RunFiles.found(root, profile or "*")
    if not found:
        raise ValueError(f"{root}: no results of {profile or 'any profile'}: `make repro` makes them")
    for files in found:
        _, outcome = sync_run(files)
        missing = [path.relative_to(root).as_posix() for path in files.all if not path.is_file()]
        without = f"; without {', '.join(missing)}" if missing else ""
        typer.echo(f"{files.profile} {files.name}: {outcome}{without}")
    typer.echo(f"in {tracking_uri(root)}")


@track.command()
def register(
    run: str = typer.Argument(..., metavar="RUN", help="A finished training, such as sudoku-se_rrm-s0."),
    profile: str | None = typer.Option(None, help="A file of profiles/. Default: that of params.yaml."),
    name: str | None = typer.Option(None, help="Of the registered model. Default: the run's."),
) -> None:
    """Make a run's model the newest version of a name in MLflow's registry; what others load and serve it by."""
    from serrm.tracking.registry import register as register_run
    from serrm.tracking.runs import RunFiles

    root, params = open_project(profile)
    typer.echo(register_run(RunFiles(root.resolve(), params.profile, run), name or run))


@track.command()
def serve(
    name: str = typer.Argument(
        ..., metavar="NAME", help="Of a registered model, whose newest version answers."
    ),
    port: int = typer.Option(5001, min=1, max=65535),
    host: str = typer.Option("127.0.0.1", help="0.0.0.0 serves other machines too."),
) -> None:
    """Answer puzzles over HTTP with a registered model."""
    from serrm.tracking.registry import newest_version
    from serrm.tracking.server import become, model_command

    root = find_root(Path.cwd()).resolve()
    become(root, model_command(newest_version(root, name), host, port))
