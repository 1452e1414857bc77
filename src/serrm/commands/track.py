"""`serrm track`: log runs to MLflow, register a model, serve it."""

from pathlib import Path

import typer

from serrm.commands.profile import PROFILE_OPTION
from serrm.core.project import Layout, find_root

track = typer.Typer(
    help="Log runs to MLflow, register a model, serve it.\n\nExample: serrm track sync", no_args_is_help=True
)


@track.command()
def sync(
    profile: str | None = typer.Option(None, help="Only this profile. Default: all profiles with results."),
) -> None:
    """Log runs to MLflow from their checkpoints, logs and scores; running it again adds nothing.

    Example: serrm track sync --profile laptop

    A run that fails does not stop later ones, but the exit code is then 1.
    """
    from serrm.tracking import tracking_uri
    from serrm.tracking.runs import runs_with_results, sync_run

    root = find_root(Path.cwd())
    runs = runs_with_results(root, profile or "*")
    if not runs:
        raise ValueError(f"{root}: no results of {profile or 'any profile'}: `make repro` makes them")
    num_failed = 0
    for run_profile, name in runs:
        try:
            sync_run(Layout(run_profile, root), name)
            typer.echo(f"{run_profile} {name}")
        except ValueError as error:
            num_failed += 1
            typer.echo(f"{run_profile} {name}: {error}", err=True)
    typer.echo(f"{len(runs) - num_failed} of {len(runs)} runs logged to {tracking_uri(root)}")
    raise typer.Exit(min(1, num_failed))


@track.command()
def register(
    run: str = typer.Argument(..., metavar="RUN", help="A finished run, such as sudoku-se_rrm-s0."),
    profile: str | None = PROFILE_OPTION,
    name: str | None = typer.Option(None, help="Name of the registered model. Default: the run's."),
) -> None:
    """Register a run's model in MLflow as the newest version of a name.

    Example: serrm track register sudoku-se_rrm-s0 --name sudoku
    """
    from serrm.config import open_project
    from serrm.tracking.registry import register as register_run

    root, params = open_project(profile)
    typer.echo(register_run(Layout(params.profile, root), run, name or run))


@track.command()
def serve(
    name: str = typer.Argument(
        ..., metavar="NAME", help="Name of a registered model; its newest version is served."
    ),
    port: int = typer.Option(5001, min=1, max=65535),
    host: str = typer.Option("127.0.0.1", help="Address to listen on; 0.0.0.0 lets other machines connect."),
) -> None:
    """Serve a registered model over HTTP; it takes puzzles and returns answers.

    Example: serrm track serve sudoku --port 5001
    """
    from serrm.tracking import replace_process, server_command
    from serrm.tracking.runs import open_store

    root = find_root(Path.cwd())
    with open_store(root) as client:
        client.get_registered_model(name)
    # From this environment, which has all packages that the model needs.
    command = ["models", "serve", "--model-uri", f"models:/{name}/latest", "--env-manager", "local"]
    replace_process(root, server_command(command, host, port))
