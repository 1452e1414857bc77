"""`serrm forecast` and `serrm rehearse`: what a profile will take, and whether all of it runs."""

import shutil
from pathlib import Path
from tempfile import mkdtemp

import typer

from serrm.layout import REHEARSALS
from serrm.project import open_project

PROFILE = typer.Option(None, help="A file of profiles/. Default: the active one, params.yaml.")
TFLOPS = typer.Option(None, min=1e-6, help="All of it at this rate, in TFLOP/s, not at a measured one.")
MIRROR = typer.Option(None, exists=True, file_okay=False, help="Take published puzzles from this folder.")
ONLY = typer.Option(["*"], metavar="RUN", help="Only such runs: sudoku-se_rrm-s0, or 'maze-*'. Repeatable.")
KEEP = typer.Option(False, "--keep", help="Keep the folder of the rehearsal, with all that the stages made.")


def forecast(profile: str | None = PROFILE, tflops: float | None = TFLOPS) -> None:
    """Say what is still to do of a profile: trainings, FLOPs, and about how long they take here."""
    from serrm.config import read_execution
    from serrm.planning.forecast import rate_of, stages_of, still_to_do, words

    root, params = open_project(profile)
    stages = stages_of(params)
    if tflops is None and params.profile == open_project().params.profile:
        stages = still_to_do(stages, root)
    if stages:
        typer.echo(words(params.profile, stages, *rate_of(params, stages, read_execution(root), tflops)))
    else:
        typer.echo(f"profile {params.profile}: nothing is to be trained or scored")


def rehearse(
    profile: str | None = PROFILE,
    mirror: Path | None = MIRROR,
    only: list[str] = ONLY,
    tflops: float | None = TFLOPS,
    is_kept: bool = KEEP,
) -> None:
    """Run every stage of a profile with small models, few puzzles and few steps, and say what the real run takes."""
    from serrm.config import read_execution
    from serrm.planning import rehearse as planning
    from serrm.planning.forecast import rate_of, stages_of, with_prefix, words
    from serrm.progress import duration

    root, params = open_project(profile)
    params, execution = planning.selected(params, only), read_execution(root)
    small = planning.miniature(params, mirror and mirror.resolve(), execution.device)
    stages = stages_of(params)
    rate, pace = rate_of(params, stages, execution, tflops)
    (root / REHEARSALS).mkdir(parents=True, exist_ok=True)
    folder = Path(mkdtemp(prefix=f"{params.profile}-", dir=root / REHEARSALS))
    try:
        results = planning.rehearse(small, root, folder, execution)
    finally:
        if not is_kept:
            shutil.rmtree(folder, ignore_errors=True)
    width = max(len(of) for of, _ in results)
    typer.echo(f"{'run':{width}}  {'stage':12}  {'here':>6}  {'the real run':24}  result")
    for (of, stage), (failure, seconds) in results.items():
        flops = stages[name].flops if (name := f"{stage}@{of}") in stages else 0
        needs = f"{with_prefix(flops)}FLOP, {duration(flops / rate)}" if flops else ""
        typer.echo(f"{of:{width}}  {stage:12}  {seconds:4.0f} s  {needs:24}  {failure or 'ok'}")
    num_failed = sum(bool(failure) for failure, _ in results.values())
    kept = f", kept in {folder}" if is_kept else ""
    typer.echo(f"{len(results)} stages, {num_failed} failed or not run{kept}")
    typer.echo(f"the real run: {words(params.profile, stages, rate, pace)}")
    raise typer.Exit(min(1, num_failed))
