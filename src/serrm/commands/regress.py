"""`serrm regress`: what moved in a profile's numbers since the committed expectations."""

import typer

from serrm.project import open_project


def regress(
    profile: str = typer.Option("ci", help="A file of profiles/."),
    is_update: bool = typer.Option(False, "--update", help="Expect from now on what was measured."),
) -> None:
    """Compare losses, scores and counts with regression/<profile>.json; exit code 1 if one is outside its tolerance."""
    from serrm.files import write_json
    from serrm.reporting import regression

    root = open_project(profile).root
    file, reports = root / "regression" / f"{profile}.json", root / "reports" / profile
    measured = regression.measure(reports / "metrics", reports / "training")
    worth = regression.worth_expecting(measured)
    num_values = sum(len(values) for kinds in worth.values() for values in kinds.values())
    if not (is_update or file.is_file()):
        raise ValueError(
            f"{file}: no expectations yet; `serrm regress --profile {profile} --update` writes them"
        )
    known = regression.read_expectations(file) if file.is_file() else regression.Expectations()
    changes = regression.compare(known, measured)
    if changes:
        typer.echo(regression.changes_table(changes))
    num_outside = sum(change.is_outside for change in changes)
    typer.echo(
        f"\n{len(worth)} cells, {num_values} values: {len(changes)} moved, {num_outside} outside their tolerance"
    )
    if is_update:
        write_json(file, known.model_copy(update={"cells": worth}).model_dump(mode="json"))
    elif num_outside:
        raise typer.Exit(1)
