"""`serrm track`: log runs to MLflow, register a model, serve it."""

from pathlib import Path

import typer
from typer.main import get_current_context  # type: ignore[attr-defined]  # typer.Context is not its class

from serrm.commands.profile import PROFILE_OPTION
from serrm.core.project import Layout, find_root

track = typer.Typer(add_completion=False)
PROFILES = typer.Option(
    None, "--profile", metavar="NAME", help="Only this profile; can be repeated. Default: the active one."
)


@track.callback(invoke_without_command=True)
def mirror(
    profiles: list[str] | None = PROFILES,
    follows: bool = typer.Option(False, "--follow", help="Go on until nothing runs."),
) -> None:
    """Mirror the profile's trainings and results in MLflow; running it again adds nothing.

    Example: serrm track --follow

    A run that fails does not stop later ones, but the exit code is then 1.
    """
    if get_current_context().invoked_subcommand is not None:
        return
    from serrm.tracking import tracking_uri
    from serrm.tracking.background import OUTPUT
    from serrm.tracking.follow import active_profile, follow, track

    root, failures, num_logged = find_root(Path.cwd()), dict[str, str](), 0
    news = follow(root, profiles or ()) if follows else track(root, profiles or [active_profile(root)])
    for label, failure in news:
        if failure is None:
            failures.pop(label, None)
            num_logged += 1
            typer.echo(label)
        else:
            failures[label] = failure
            typer.echo(f"{label}: {failure}", err=True)
    typer.echo(f"{num_logged} runs in {tracking_uri(root)}")
    if failures:
        raise typer.Exit(1)
    (root / OUTPUT).unlink(missing_ok=True)


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
    from serrm.tracking.store import open_store

    root = find_root(Path.cwd())
    with open_store(root) as client:
        client.get_registered_model(name)
    # From this environment, which has all packages that the model needs.
    command = ["models", "serve", "--model-uri", f"models:/{name}/latest", "--env-manager", "local"]
    replace_process(root, server_command(command, host, port))
