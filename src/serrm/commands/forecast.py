"""`serrm forecast`: what a profile will take on this machine, in a line, before anything is run."""

from pathlib import Path

import typer

PROFILE = typer.Option(None, help="An entry of `profiles` in params.yaml. Default: the active one.")
TFLOPS = typer.Option(
    None, min=0.0, help="Take this rate, in TFLOP/s, not a measurement; then the whole profile counts."
)


def forecast(profile: str | None = PROFILE, tflops: float | None = TFLOPS) -> None:
    """Say what is still to do of a profile: trainings, operations, and about how long they take here."""
    from serrm.config import locked_md5s, parse
    from serrm.planning.done import still_to_do
    from serrm.planning.rate import Rate, measured_rate, words
    from serrm.planning.workload import workload
    from serrm.project import check_profile, find_root, project_params
    from serrm.training.settings import Execution

    root = find_root(Path.cwd())
    params = project_params(root)
    if profile is not None:
        check_profile(profile, root)
    profile = profile or str(params["profile"])
    stages = workload(params, profile)
    if tflops is not None:
        if tflops == 0:
            raise ValueError("--tflops 0: a rate above 0 is needed")
        typer.echo(words(profile, stages, Rate(1e12 * tflops)))
        return
    left = list(still_to_do(stages, profile, locked_md5s(root / "dvc.lock"), root))
    if not left:
        typer.echo(f"profile {profile}: done with these settings; only a change of code re-runs anything")
        return
    heaviest = max((stage for stage in stages if stage.name == "train"), key=lambda each: each.operations)
    execution = parse(Execution, params["execution"], "execution")
    typer.echo(words(profile, left, measured_rate(heaviest.product, execution)))
