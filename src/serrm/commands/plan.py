"""`serrm forecast` and `serrm rehearse`: the time that a profile takes, and a small trial of all its stages."""

import shutil
from pathlib import Path
from tempfile import mkdtemp

import typer

from serrm.layout import REHEARSALS
from serrm.project import open_project

PROFILE = typer.Option(None, help="A file of profiles/. Default: the active one, params.yaml.")
TFLOPS = typer.Option(None, min=1e-6, help="Rate of this machine in TFLOP/s. Default: measured.")
MIRROR = typer.Option(None, exists=True, file_okay=False, help="Take published puzzles from this folder.")
ONLY = typer.Option(["*"], metavar="RUN", help="Only these runs: sudoku-se_rrm-s0, or 'maze-*'. Repeatable.")
KEEP = typer.Option(False, "--keep", help="Keep the folder of the rehearsal, with all that the stages made.")


def forecast(profile: str | None = PROFILE, tflops: float | None = TFLOPS) -> None:
    """Forecast the training runs, FLOPs and time that a profile still takes on this machine."""
    from serrm.config import read_execution
    from serrm.planning.forecast import rate_of, stages_of, still_to_do, summary

    root, params = open_project(profile)
    stages = stages_of(params)
    if tflops is None and params.profile == open_project().params.profile:
        stages = still_to_do(stages, root)
    if stages:
        typer.echo(summary(params.profile, stages, *rate_of(params, stages, read_execution(root), tflops)))
    else:
        typer.echo(f"profile {params.profile}: everything is trained and scored")


def rehearse(
    profile: str | None = PROFILE,
    mirror: Path | None = MIRROR,
    only: list[str] = ONLY,
    tflops: float | None = TFLOPS,
    is_kept: bool = KEEP,
) -> None:
    """Run every stage of a profile with small models, few puzzles and few steps, and forecast the full profile."""
    from serrm.config import read_execution
    from serrm.planning import rehearse as planning
    from serrm.planning.forecast import rate_of, stages_of, summary

    root, params = open_project(profile)
    params, execution = planning.selected(params, only), read_execution(root)
    small = planning.miniature(params, mirror and mirror.resolve(), execution.device)
    stages = stages_of(params)
    rate = rate_of(params, stages, execution, tflops)
    (root / REHEARSALS).mkdir(parents=True, exist_ok=True)
    folder = Path(mkdtemp(prefix=f"{params.profile}-", dir=root / REHEARSALS))
    try:
        results = planning.rehearse(small, root, folder, execution)
    finally:
        if not is_kept:
            shutil.rmtree(folder, ignore_errors=True)
    width = max(len(of) for of, _ in results)
    typer.echo(f"{'run':{width}}  {'stage':12}  {'time':>6}  result")
    for (of, stage), (failure, seconds) in results.items():
        typer.echo(f"{of:{width}}  {stage:12}  {seconds:4.0f} s  {failure or 'ok'}")
    num_failed = sum(bool(failure) for failure, _ in results.values())
    kept = f", kept in {folder}" if is_kept else ""
    typer.echo(f"{len(results)} stages, {num_failed} failed or not run{kept}")
    typer.echo(f"in full size: {summary(params.profile, stages, *rate)}")
    raise typer.Exit(min(1, num_failed))
