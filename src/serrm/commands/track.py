"""`serrm track`: what the files say of every run, told to MLflow again; a cell's model given a name in its registry."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from serrm.project import open_project, project_params

if TYPE_CHECKING:
    from serrm.reporting.results import Evaluation
    from serrm.tracking.sync import Settings

track = typer.Typer(
    help="MLflow: make the runs again from the files, give a model a name.", no_args_is_help=True
)


@track.callback()
def about() -> None:
    """MLflow: make the runs again from the files, give a model a name."""


@track.command()
def sync(
    profile: str | None = typer.Option(None, help="An entry of `profiles`. Default: all that have results."),
) -> None:
    """Bring MLflow up to what checkpoints, training logs, metrics and reports say; twice adds nothing."""
    from serrm.store import tracking_uri
    from serrm.tracking.files import cells_with_files, profiles_with_files
    from serrm.tracking.sync import sync as sync_profile

    _quieten()
    root = open_project(profile).root.resolve()
    profiles = profiles_with_files(root) if profile is None else [profile]
    if not any(cells_with_files(root, each) for each in profiles):
        raise ValueError(f"{root}: no results of {profile or 'any profile'}: `make repro` makes them")
    settings = _settings(root)
    for each in profiles:
        for synced in sync_profile(root, each, settings):
            without = f"; without {', '.join(synced.missing)}" if synced.missing else ""
            typer.echo(f"{each} {synced.name}: {synced.outcome}{without}")
    typer.echo(f"in {tracking_uri(root)}")


@track.command()
def register(
    cell: str = typer.Argument(..., metavar="CELL", help="Of a finished training, such as sudoku-se_rrm-s0."),
    profile: str | None = typer.Option(None, help="An entry of `profiles`. Default: the active one."),
    name: str | None = typer.Option(None, help="Of the registered model. Default: the cell's."),
    alias: str | None = typer.Option(
        None, help="That is to mean this training. Default: the profile's name."
    ),
) -> None:
    """Give the model of a cell a name and an alias in MLflow's registry; what others load it by."""
    from serrm.tracking.registry import register as register_cell

    _quieten()
    root, _, profile = open_project(profile)
    typer.echo(register_cell(root.resolve(), profile, cell, name or cell, alias or profile))


def _quieten() -> None:
    """MLflow's own words are none of ours."""
    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.WARNING)


def _settings(root: Path) -> "Settings":
    """What cells resolve to by params.yaml, as far as dvc.lock says that it is what they were trained with."""
    from hashlib import md5

    from serrm.config import locked_md5s
    from serrm.resolve import as_text, train_cell

    params, locked = project_params(root), locked_md5s(root / "dvc.lock")

    def of(run: "Evaluation") -> Mapping[str, Any] | None:
        try:
            cell = train_cell(params, run.profile, run.task, run.model, run.seed)
        except ValueError:
            return None
        digest = md5(as_text(cell).encode(), usedforsecurity=False).hexdigest()
        is_trained_so = digest == locked.get(f"data/config/{run.profile}/train/{run.name}.json")
        return cell.model_dump(mode="json") if is_trained_so else None

    return of
