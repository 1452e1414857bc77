"""`serrm use`, `forecast`, `rehearse`, `headline` and `track`: commands on a whole profile and its runs."""

import os
import shutil
from pathlib import Path
from tempfile import mkdtemp

import typer

from serrm.core.project import (
    PAPER,
    PARAMS,
    PROFILES,
    REGRESSION,
    REHEARSALS,
    Layout,
    find_root,
    git,
    profile_file,
)

PROFILE = typer.Option(None, help="Name of a file in profiles/. Default: params.yaml.")
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
PAGE = typer.Option(
    None,
    "--write",
    help="Also replace the table in this file, between the comments `serrm headline PROFILE: begin` and `end`.",
)


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
    """True if the content of params.yaml is also that of a profile, or in a commit."""
    content = params.read_bytes()
    if any(path.read_bytes() == content for path in (root / PROFILES).glob("*.yaml")):
        return True
    blob = git(root, "hash-object", PARAMS)
    return bool(
        blob and git(root, "log", "--all", "-1", "--format=%h", f"--find-object={blob}", "--", PARAMS)
    )


def forecast(
    profile: str | None = PROFILE,
    tflops: float | None = TFLOPS,
    is_list: bool = typer.Option(
        False,
        "--ready",
        help="Print only the names of the unfinished runs that can start now, the longest first.",
    ),
    jobs: int = typer.Option(1, min=1, help="Number of runs at a time; the rate is that of one of them."),
) -> None:
    """Forecast the FLOPs and time of a profile's runs (for the active profile, only of its unfinished runs).

    Example: serrm forecast --profile paper
    """
    from serrm.config import open_project, read_execution
    from serrm.planning.forecast import rate_of, ready_runs, stages_of, still_to_do, summary

    root, params = open_project(profile)
    stages = stages_of(params)
    if tflops is None and params.profile == open_project().params.profile:
        stages = still_to_do(stages, root)
    if is_list:
        for run in ready_runs(stages):
            typer.echo(run)
    elif stages:
        rate, source = rate_of(params, stages, read_execution(root), tflops)
        typer.echo(summary(params.profile, stages, rate, source, jobs))
    else:
        typer.echo(f"profile {params.profile}: everything is trained and scored")


def rehearse(
    profile: str | None = PROFILE,
    mirror: Path | None = MIRROR,
    only: list[str] = ONLY,
    tflops: float | None = TFLOPS,
    is_kept: bool = KEEP,
) -> None:
    """Run every stage of a profile with small models, few puzzles and few steps, and forecast the full profile.

    Example: serrm rehearse --profile paper --only 'maze-*'
    """
    from serrm.config import open_project, read_execution
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


def headline(profile: str | None = PROFILE, page: Path | None = PAGE) -> None:
    """Print a profile's main scores as a table, and the paths of its other results.

    Example: serrm headline --profile laptop
    """
    from serrm.config import open_project
    from serrm.core.files import between_markers, write_whole
    from serrm.reporting import tables
    from serrm.reporting.results import make_report, read_committed

    root, params = open_project(profile)
    layout = Layout(params.profile, root)
    reports, runs = layout.reports, read_committed(params, layout.metrics)
    report = make_report(params, open_project(PAPER).params, runs)
    folders = [path for name in ("tables", "figures", "report.html") if (path := reports / name).exists()]
    scores = tables.headline(report)
    typer.echo("\n\n".join([f"profile {params.profile}\n{scores.text('simple')}", *scores.omitted]))
    typer.echo("\n".join([*map(os.path.relpath, folders), "MLflow runs: make ui"]))
    if page is not None:
        begin, end = (marker.format(params.profile) for marker in (tables.BEGIN, tables.END))
        text = between_markers(page.read_text(encoding="utf-8"), begin, end, scores.text("github"))
        write_whole(page, text)
        typer.echo(f"{page}: table of profile {params.profile} replaced")


def overview() -> None:
    """Write reports/README.md and its picture anew: the claims and the paper's tables over all committed profiles.

    Example: serrm overview
    """
    from serrm.core.files import between_markers, write_whole
    from serrm.reporting import overview as page

    root = find_root(Path.cwd())
    file = root / "reports" / "README.md"
    for name, text in committed_overview(root).items():
        if name == file.name:
            text = between_markers(file.read_text(encoding="utf-8"), page.BEGIN, page.END, text)
        write_whole(file.with_name(name), text)
        typer.echo(os.path.relpath(file.with_name(name)))


def committed_overview(root: Path) -> dict[str, str]:
    """The files of the overview by name, from the committed profiles except `ci`; of README.md the generated part.

    Profile `ci` trains for a few steps, so its scores are compared with those of a commit, not with the paper's.
    """
    from serrm.config import read_params, read_yaml
    from serrm.reporting import hard_sudoku
    from serrm.reporting.overview import PICTURE, overview
    from serrm.reporting.results import make_report, read_committed

    known = git(root, "ls-files", "reports/*/metrics.json").splitlines()
    papers = read_params(profile_file(root, PAPER, ""))
    reports = {}
    for name in sorted({Path(path).parts[1] for path in known} - {REGRESSION}):
        file = root / PROFILES / f"{name}.yaml"
        if not file.is_file():
            is_active = (read_yaml(root / PARAMS) or {}).get("profile") == name
            if not is_active:
                typer.echo(f"{file.relative_to(root)}: no such file, so profile {name} is left out", err=True)
                continue
            file = root / PARAMS
        params = read_params(file)
        runs = read_committed(params, Layout(name, root).metrics)
        reports[name] = make_report(params, papers, runs)
    found = hard_sudoku.points(reports[hard_sudoku.PROFILE], root)
    page = overview([*reports.values()], hard_sudoku.caption(found))
    return {
        "README.md": page,
        "hard_sudoku.csv": hard_sudoku.to_csv(found),
        PICTURE: hard_sudoku.picture(found),
    }


track = typer.Typer(
    help="Log runs to MLflow, register a model, serve it.\n\nExample: serrm track sync", no_args_is_help=True
)


@track.command()
def sync(
    profile: str | None = typer.Option(None, help="Only this profile. Default: all profiles with results."),
) -> None:
    """Log runs to MLflow from their checkpoints, logs and scores; running it again adds nothing.

    Example: serrm track sync --profile laptop

    A run that fails does not stop later ones, but the exit code is then 1.
    """
    from serrm.tracking import tracking_uri
    from serrm.tracking.runs import runs_with_results, sync_run

    root = find_root(Path.cwd())
    runs = runs_with_results(root, profile or "*")
    if not runs:
        raise ValueError(f"{root}: no results of {profile or 'any profile'}: `make repro` makes them")
    num_failed = 0
    for of_profile, name in runs:
        try:
            sync_run(Layout(of_profile, root), name)
            typer.echo(f"{of_profile} {name}")
        except ValueError as error:
            num_failed += 1
            typer.echo(f"{of_profile} {name}: {error}", err=True)
    typer.echo(f"{len(runs) - num_failed} of {len(runs)} runs logged to {tracking_uri(root)}")
    raise typer.Exit(min(1, num_failed))


@track.command()
def register(
    run: str = typer.Argument(..., metavar="RUN", help="A finished run, such as sudoku-se_rrm-s0."),
    profile: str | None = typer.Option(None, help="Name of a file in profiles/. Default: params.yaml."),
    name: str | None = typer.Option(None, help="Name of the registered model. Default: the run's."),
) -> None:
    """Register a run's model in MLflow as the newest version of a name.

    Example: serrm track register sudoku-se_rrm-s0 --name sudoku
    """
    from serrm.config import open_project
    from serrm.tracking.registry import register as register_run

    root, params = open_project(profile)
    typer.echo(register_run(Layout(params.profile, root), run, name or run))


@track.command()
def serve(
    name: str = typer.Argument(
        ..., metavar="NAME", help="Name of a registered model, of which the newest version is served."
    ),
    port: int = typer.Option(5001, min=1, max=65535),
    host: str = typer.Option("127.0.0.1", help="Address to listen on; 0.0.0.0 lets other machines connect."),
) -> None:
    """Serve a registered model over HTTP; it takes puzzles and returns answers.

    Example: serrm track serve sudoku --port 5001
    """
    from serrm.tracking import become, server_command
    from serrm.tracking.runs import open_store

    root = find_root(Path.cwd())
    with open_store(root) as client:
        client.get_registered_model(name)
    # From this environment, which has all that the model needs.
    command = ["models", "serve", "--model-uri", f"models:/{name}/latest", "--env-manager", "local"]
    become(root, server_command(command, host, port))
