"""`serrm runs --grid`: write a baseline and its ablations, with several seeds, into params.yaml."""

import re
from typing import Any

import typer

from serrm.core.project import PARAMS


def runs(
    is_grid: bool = typer.Option(
        ..., "--grid", help="Add one run per seed without changes, and one per seed and named change."
    ),
    data_set: str = typer.Option(..., help="An entry of data_sets."),
    model: str = typer.Option(..., help="An entry of models."),
    seeds: str = typer.Option("0", metavar="SEEDS", help="Seeds with commas between them, such as 0,1,2."),
    change: list[str] = typer.Option(
        [],
        metavar="NAME:KEY=VALUE",
        help="A change by name, such as wide:model.width=96. Can be repeated, also with the same name and other keys.",
    ),
) -> None:
    """Add the runs of an ablation to params.yaml; all other lines of the file stay as they are.

    Example: serrm runs --grid --data-set sudoku --model trm --seeds 0,1,2 --change wide:model.width=96

    Runs that are there already stay. Nothing is written if a key or a value is refused.
    """
    grid_of = _parse_seeds(seeds), _parse_changes(change)
    from serrm.config import open_project
    from serrm.core.files import write_whole
    from serrm.planning.grid import Grid, missing_runs, with_runs

    root, params = open_project()
    grid = Grid(data_set, model, *grid_of)
    missing, path = missing_runs(params, grid), root / PARAMS
    write_whole(path, with_runs(path.read_text(encoding="utf-8"), missing, PARAMS))
    for name in missing:
        typer.echo(name)
    num_kept = len(grid.runs()) - len(missing)
    typer.echo(
        f"{PARAMS}: {len(missing)} runs added, {num_kept} were there; next: dvc repro && serrm effects"
    )


def _parse_seeds(text: str) -> list[int]:
    if not re.fullmatch(r"\d+(,\d+)*", text):
        raise typer.BadParameter(f"{text!r} is no list of seeds such as 0,1,2", param_hint="--seeds")
    return list(dict.fromkeys(map(int, text.split(","))))


def _parse_changes(texts: list[str]) -> dict[str, dict[str, Any]]:
    """Group the changes by name and key. A value is read as DVC reads YAML, so 1e-3 is a number."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    changes: dict[str, dict[str, Any]] = {}
    for text in texts:
        match = re.fullmatch(r"([A-Za-z0-9_-]+):([^=\s]+)=(.+)", text)
        if match is None:
            message = f"{text!r} is no NAME:KEY=VALUE such as wide:model.width=96"
            raise typer.BadParameter(message, param_hint="--change")
        name, key, value = match.groups()
        if key in changes.setdefault(name, {}):
            raise typer.BadParameter(f"{name} sets {key} twice (got {value!r})", param_hint="--change")
        try:
            changes[name][key] = YAML(typ="safe").load(value)
        except YAMLError as error:
            raise typer.BadParameter(f"{value!r} is not valid YAML", param_hint="--change") from error
    return changes
