"""`serrm rehearse`: the whole grid of a profile in miniature, and what the real run will take."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from serrm.planning.pool import Result
    from serrm.planning.workload import Stage
    from serrm.training.settings import Execution

PROFILE = typer.Option(None, help="An entry of `profiles` in params.yaml. Default: the active one.")
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
    from serrm.config import parse, pipeline_commands
    from serrm.grid_file import grid_sections
    from serrm.planning.folder import PLACE, project
    from serrm.planning.miniature import compiling, miniature, mirrored, selected
    from serrm.planning.pipeline import jobs
    from serrm.planning.pool import num_processes, run_all
    from serrm.planning.workload import workload
    from serrm.project import PARAMS, PIPELINE, STAGES, check_profile, find_root, project_params
    from serrm.training.device import choose_device
    from serrm.training.settings import Execution

    if tflops == 0:
        raise ValueError("--tflops 0: a rate above 0 is needed")
    params = project_params(root := find_root(Path.cwd()))
    if profile is not None:
        check_profile(profile, root)
    params = selected(params, profile or str(params["profile"]), only or ())
    stages, compiled = workload(params, params["profile"]), compiling(params)
    execution = parse(Execution, params["execution"], "execution")
    is_on_cpu = choose_device(execution.device).type == "cpu"
    sourced = params if mirror is None else mirrored(params, mirror.resolve())
    small = miniature(sourced, in_float32=bool(compiled) and is_on_cpu)
    todo = jobs(pipeline_commands(root / PIPELINE), grid_sections(small))
    lengths = {(each.name, each.of): each.operations for each in workload(small, small["profile"])}
    with project(root / STAGES, small, root / PLACE, PARAMS, is_kept=is_kept) as folder:
        results = run_all(todo, num_processes(), folder, lengths, compiled)
        if is_kept:
            typer.echo(f"kept: {folder}")
    is_ok = _tell(results, has_graphs=bool(compiled))
    _tell_needs(str(params["profile"]), stages, execution, tflops)
    if not is_ok:
        raise typer.Exit(1)


def _tell(results: "list[Result]", *, has_graphs: bool) -> bool:
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


def _tell_needs(profile: str, stages: "list[Stage]", execution: "Execution", tflops: float | None) -> None:
    """Print what the real run needs, cell by cell and in all."""
    from serrm.display import console
    from serrm.planning.rate import Rate, measured_rate, words
    from serrm.planning.report import disk_words, needs_table

    heaviest = max((stage for stage in stages if stage.name == "train"), key=lambda each: each.operations)
    rate = measured_rate(heaviest.product, execution) if tflops is None else Rate(1e12 * tflops)
    typer.echo("The real run:")
    console().print(needs_table(stages, rate))
    typer.echo(f"{words(profile, stages, rate)}; {disk_words(stages)}")
