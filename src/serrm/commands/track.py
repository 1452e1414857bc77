"""`serrm track`: mirror trainings and results in MLflow."""

from pathlib import Path

import typer

from serrm.core.project import find_root

PROFILES = typer.Option(
    None, "--profile", metavar="NAME", help="Only this profile; can be repeated. Default: the active one."
)


def track(
    profiles: list[str] | None = PROFILES,
    follows: bool = typer.Option(False, "--follow", help="Go on until nothing runs."),
) -> None:
    """Mirror the profile's trainings and results in MLflow; running it again adds nothing.

    Example: serrm track --follow

    A run that fails does not stop later ones, but the exit code is then 1.
    """
    from serrm.tracking import tracking_uri
    from serrm.tracking.background import OUTPUT
    from serrm.tracking.follow import active_profile, follow
    from serrm.tracking.follow import track as track_once

    root, failures, num_logged = find_root(Path.cwd()), dict[str, str](), 0
    news = follow(root, profiles or ()) if follows else track_once(root, profiles or [active_profile(root)])
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
