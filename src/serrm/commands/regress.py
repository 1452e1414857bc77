"""`serrm regress`: changes of a profile's numbers since the committed expectations."""

import typer

from serrm.project import open_project


def regress(
    profile: str = typer.Option("ci", help="A file of profiles/."),
    is_update: bool = typer.Option(
        False, "--update", help="Write the measured values as the new expectations."
    ),
) -> None:
    """Compare losses, scores and counts with regression/PROFILE.json; exit code 1 if one is outside its tolerance."""
    from serrm.files import write_json
    from serrm.reporting import regression

    root = open_project(profile).root
    file, reports = root / "regression" / f"{profile}.json", root / "reports" / profile
    measured = regression.measure(reports / "metrics", reports / "training")
    if not (is_update or file.is_file()):
        raise ValueError(f"{file}: no such file; `serrm regress --profile {profile} --update` writes it")
    known = regression.read_expectations(file) if file.is_file() else regression.Expectations()
    changes = regression.changes(known, measured)
    if len(changes):
        typer.echo(changes.to_markdown(index=False, tablefmt="github", floatfmt=".6g", missingval="none"))
    num_outside = int(changes["outside"].sum())
    num_runs = measured["run"].nunique()
    typer.echo(f"\n{num_runs} runs: {len(changes)} values moved, {num_outside} outside their tolerance")
    if is_update:
        new = known.model_copy(update={"runs": regression.expected_from(measured)})
        write_json(file, new.model_dump(mode="json"))
    elif num_outside:
        raise typer.Exit(1)
