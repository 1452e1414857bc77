"""`serrm use`, `forecast` and `rehearse`: switch to a profile, and plan its runs."""

import shutil
from pathlib import Path
from tempfile import mkdtemp

import typer

from serrm.core.project import PARAMS, PROFILES, REHEARSALS, checked_git, find_root, profile_file

PROFILE_OPTION = typer.Option(None, help="Name of a file in profiles/. Default: params.yaml.")
TFLOPS = typer.Option(
    None, min=1e-6, help="Rate of the machine in TFLOP/s. Default: a measurement on this machine."
)
MIRROR = typer.Option(None, exists=True, file_okay=False, help="Take published puzzles from this folder.")
ONLY = typer.Option(
    ["*"],
    metavar="RUN",
    help="Rehearse only these runs, such as sudoku-se_rrm-s0 or 'maze-*'. Can be repeated.",
)
KEEP = typer.Option(False, "--keep", help="Keep the folder of the rehearsal.")


def use(
    name: str = typer.Argument(..., metavar="PROFILE", help="Name of a file in profiles/, such as ci."),
    is_forced: bool = typer.Option(
        False, "--force", help="Replace params.yaml even if its edits would be lost."
    ),
) -> None:
    """Switch to a profile: copy profiles/PROFILE.yaml to params.yaml.

    Example: serrm use ci
    """
    from serrm.config import read_params

    root = find_root(Path.cwd())
    source, target = profile_file(root, name, "PROFILE"), root / PARAMS
    num_runs = len(read_params(source).runs)
    if not (is_forced or is_kept_elsewhere(root, target)):
        raise ValueError(
            f"{PARAMS} has edits that are in no commit and no profile: commit them, "
            f"save them as {PROFILES}/NAME.yaml, or use --force"
        )
    shutil.copyfile(source, target)
    typer.echo(f"{PARAMS} is now profile {name} ({num_runs} runs); next: dvc repro")


def is_kept_elsewhere(root: Path, params: Path) -> bool:
    """True if a profile or a commit has the same params.yaml. ValueError with the reason if git fails."""
    content = params.read_bytes()
    if any(path.read_bytes() == content for path in (root / PROFILES).glob("*.yaml")):
        return True
    blob = checked_git(root, "hash-object", PARAMS)
    log = checked_git(root, "log", "--all", "-1", "--format=%h", f"--find-object={blob}", "--", PARAMS)
    return bool(log)


def forecast(
    profile: str | None = PROFILE_OPTION,
    tflops: float | None = TFLOPS,
    is_ready: bool = typer.Option(
        False,
        "--ready",
        help="Print the names of the unfinished runs that can start now, the longest first; the forecast goes to "
        "stderr.",
    ),
    is_by_run: bool = typer.Option(
        False, "--by-run", help="Print the FLOPs of every run of the profile as CSV, and forecast nothing."
    ),
    jobs: int = typer.Option(1, min=1, help="Number of runs at a time; the rate is that of one of them."),
) -> None:
    """Forecast the FLOPs and time of a profile's runs.

    Example: serrm forecast --profile paper

    Of the active profile only the unfinished runs count, unless --tflops is given, which needs no DVC to tell them.
    """
    if is_ready and tflops is not None:
        raise typer.BadParameter("give --ready or --tflops, not both", param_hint="--ready")
    from serrm.config import open_project, read_execution
    from serrm.planning.forecast import flops_by_run, rate_of, ready_runs, stages_of, still_to_do, summary

    root, params = open_project(profile)
    if is_by_run:
        typer.echo("run,steps,training FLOPs,with earlier trainings,limit on evaluation FLOPs")
        for run, steps, *flops in flops_by_run(params):
            typer.echo(",".join([run, str(steps), *(f"{number:.3g}" for number in flops)]))
        return
    stages = stages_of(params, root)
    if tflops is None and params.profile == open_project().params.profile:
        stages = still_to_do(stages, root)
    line = f"profile {params.profile}: everything is trained and scored"
    if stages:
        rate, source = rate_of(params, stages, read_execution(root), tflops)
        line = summary(params.profile, stages, rate, source, jobs)
    typer.echo(line, err=is_ready)
    for run in ready_runs(stages) if is_ready else ():
        typer.echo(run)


def rehearse(
    profile: str | None = PROFILE_OPTION,
    mirror: Path | None = MIRROR,
    only: list[str] = ONLY,
    tflops: float | None = TFLOPS,
    is_kept: bool = KEEP,
) -> None:
    """Run every stage of a profile with small models, few puzzles and few steps, and forecast the full profile.

    Example: serrm rehearse --profile paper --only 'maze-*'
    """
    from serrm.config import open_project, read_execution
    from serrm.planning.forecast import rate_of, stages_of, summary
    from serrm.planning.rehearse import miniature, selected
    from serrm.planning.rehearse import rehearse as run_rehearsal
    from serrm.tracking.background import without_mirror

    root, params = open_project(profile)
    params, execution = selected(params, only), read_execution(root)
    small = miniature(params, mirror and mirror.resolve(), execution.device)
    stages = stages_of(params, root)
    rate = rate_of(params, stages, execution, tflops)
    (root / REHEARSALS).mkdir(parents=True, exist_ok=True)
    folder = Path(mkdtemp(prefix=f"{params.profile}-", dir=root / REHEARSALS))
    try:
        with without_mirror(folder):
            results = run_rehearsal(small, root, folder, execution)
    finally:
        if not is_kept:
            shutil.rmtree(folder, ignore_errors=True)
    width, stage_width = (max(map(len, names)) for names in zip(*results, strict=True))
    typer.echo(f"{'run':{width}}  {'stage':{stage_width}}  {'time':>6}  result")
    for (run, stage), (failure, seconds) in results.items():
        typer.echo(f"{run:{width}}  {stage:{stage_width}}  {seconds:4.0f} s  {failure or 'ok'}")
    num_failed = sum(bool(failure) for failure, _ in results.values())
    kept = f", kept in {folder}" if is_kept else ""
    typer.echo(f"{len(results)} stages, {num_failed} failed or not run{kept}")
    typer.echo(f"in full size: {summary(params.profile, stages, *rate)}")
    raise typer.Exit(min(1, num_failed))
