"""`serrm track`: log runs to MLflow from their files, register a run's model, serve it."""

from pathlib import Path

import typer

from serrm.layout import Layout
from serrm.project import find_root, open_project

track = typer.Typer(help="Log runs to MLflow, register a model, serve it.", no_args_is_help=True)


@track.command()
def sync(
    profile: str | None = typer.Option(None, help="Only this profile. Default: all that have results."),
) -> None:
    """Log to MLflow what checkpoints, training logs and metric files contain; twice adds nothing."""
    from serrm.tracking.runs import runs_with_results, sync_run
    from serrm.tracking.server import tracking_uri

    root = find_root(Path.cwd())
    runs = runs_with_results(root, profile or "*")
    if not runs:
        raise ValueError(f"{root}: no results of {profile or 'any profile'}: `make repro` makes them")
    for of_profile, name in runs:
        sync_run(Layout(of_profile, root), name)
        typer.echo(f"{of_profile} {name}")
    typer.echo(f"{len(runs)} runs logged to {tracking_uri(root)}")


@track.command()
def register(
    run: str = typer.Argument(..., metavar="RUN", help="A finished run, such as sudoku-se_rrm-s0."),
    profile: str | None = typer.Option(None, help="A file of profiles/. Default: params.yaml."),
    name: str | None = typer.Option(None, help="Name of the registered model. Default: that of the run."),
) -> None:
    """Register a run's model with MLflow: the newest version of a name, by which others load and serve it."""
    from serrm.tracking.registry import register as register_run

    root, params = open_project(profile)
    typer.echo(register_run(Layout(params.profile, root), run, name or run))


@track.command()
def serve(
    name: str = typer.Argument(..., metavar="NAME", help="A registered model; its newest version is served."),
    port: int = typer.Option(5001, min=1, max=65535),
    host: str = typer.Option("127.0.0.1", help="0.0.0.0 serves other machines too."),
) -> None:
    """Serve a registered model over HTTP: puzzles in, answers out."""
    from serrm.tracking.runs import open_store
    from serrm.tracking.server import become, model_command

    root = find_root(Path.cwd())
    with open_store(root) as client:
        client.get_registered_model(name)
    become(root, model_command(f"models:/{name}/latest", host, port))
