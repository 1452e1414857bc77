"""`serrm rehearse`: the whole grid of a profile in miniature, and what the real run will take."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from serrm.commands.forecast import PROFILE, rate_of
from serrm.project import PARAMS, PIPELINE, STAGES, open_project

if TYPE_CHECKING:
    from serrm.planning.pool import Result


MIRROR = typer.Option(
    None,
    exists=True,
    file_okay=False,
    help="Take published puzzles from this folder, not from the publishers.",
)
ONLY = typer.Option(None, metavar="CELL", help="Only such cells: sudoku-se_rrm-s0, or 'maze-*'. Repeatable.")
TFLOPS = typer.Option(
    None, min=0.0, help="Tell the real run's time at this rate, in TFLOP/s, not a measured one."
)
KEEP = typer.Option(False, "--keep", help="Keep the folder of the rehearsal, with all that the stages made.")


def rehearse(
    profile: str | None = PROFILE,
    mirror: Path | None = MIRROR,
    only: list[str] | None = ONLY,
    tflops: float | None = TFLOPS,
    is_kept: bool = KEEP,
) -> None:
    """Run every stage of a profile with small models, few puzzles and few steps, and tell what the real run takes."""
    from serrm.display import console
    from serrm.planning.miniature import selected
    from serrm.planning.rate import words
    from serrm.planning.report import disk_words, needs_table
    from serrm.planning.workload import workload

    root, params, profile = open_project(profile)
    params = selected(params, profile, only or ())
    stages = workload(params, profile)
    rate = rate_of(stages, params, tflops)
    is_ok = _run_in_miniature(root, params, mirror, is_kept=is_kept)
    typer.echo("The real run:")
    console().print(needs_table(stages, rate))
    typer.echo(f"{words(profile, stages, rate)}; {disk_words(stages)}")
    if not is_ok:
        raise typer.Exit(1)


def _run_in_miniature(root: Path, params: dict[str, Any], mirror: Path | None, *, is_kept: bool) -> bool:
    """Run all stages in a folder of their own, and print how each went; whether all is well."""
    from serrm.config import parse, pipeline_commands
    from serrm.grid_file import grid_sections
    from serrm.planning.folder import PLACE, project
    from serrm.planning.miniature import compiling, miniature, mirrored
    from serrm.planning.pipeline import jobs
    from serrm.planning.pool import num_processes, run_all
    from serrm.planning.workload import workload
    from serrm.training.device import choose_device
    from serrm.training.settings import Execution

    compiled = compiling(params)
    is_on_cpu = choose_device(parse(Execution, params["execution"], "execution").device).type == "cpu"
    sourced = params if mirror is None else mirrored(params, mirror.resolve())
    small = miniature(sourced, in_float32=bool(compiled) and is_on_cpu)
    todo = jobs(pipeline_commands(root / PIPELINE), grid_sections(small))
    lengths = {(each.name, each.of): each.operations for each in workload(small, small["profile"])}
    with project(root / STAGES, small, root / PLACE, PARAMS, is_kept=is_kept) as folder:
        results = run_all(todo, num_processes(), folder, lengths, compiled)
        if is_kept:
            typer.echo(f"kept: {folder}")
    return _show(results, has_graphs=bool(compiled))


def _show(results: "Sequence[Result]", *, has_graphs: bool) -> bool:
    """Print how every stage went; whether all is well."""
    from serrm.display import console
    from serrm.planning.report import results_table

    console().print(results_table(results))
    num_failed = sum(result.error is not None for result in results)
    typer.echo(f"{len(results)} stages, {num_failed} failed or not run")
    if has_graphs:
        num_graphs, num_calls = sum(each.compiled for each in results), sum(each.calls for each in results)
        typer.echo(f"compiled: {num_graphs} graphs, called {num_calls:,} times")
    return not num_failed
