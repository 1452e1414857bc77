"""`serrm forecast`: what a profile will take on this machine, in a line, before anything is run."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from serrm.project import open_project

if TYPE_CHECKING:
    from serrm.planning.rate import Rate
    from serrm.planning.workload import Stage

PROFILE = typer.Option(None, help="An entry of `profiles` in params.yaml. Default: the active one.")
TFLOPS = typer.Option(
    None, min=0.0, help="Take this rate, in TFLOP/s, not a measurement; then the whole profile counts."
)


def forecast(profile: str | None = PROFILE, tflops: float | None = TFLOPS) -> None:
    """Say what is still to do of a profile: trainings, operations, and about how long they take here."""
    from serrm.config import locked_md5s
    from serrm.planning.done import still_to_do
    from serrm.planning.rate import words
    from serrm.planning.workload import workload

    root, params, profile = open_project(profile)
    stages = left = workload(params, profile)
    if tflops is None:
        left = list(still_to_do(stages, profile, locked_md5s(root / "dvc.lock"), root))
    if left:
        typer.echo(words(profile, left, rate_of(left, params, tflops)))
    else:
        typer.echo(f"profile {profile}: done with these settings; only a change of code re-runs anything")


def rate_of(stages: "Sequence[Stage]", params: Mapping[str, Any], tflops: float | None) -> "Rate":
    """The rate that was given, or measured here by trials of the trainings."""
    from serrm.config import parse
    from serrm.planning.rate import Rate, measured_rate
    from serrm.training.settings import Execution

    if tflops == 0:
        raise ValueError("--tflops 0: a rate above 0 is needed")
    if tflops is not None:
        return Rate(1e12 * tflops)
    return measured_rate(stages, parse(Execution, params["execution"], "execution"))
