"""The command `serrm`: everything except the stages of the pipeline.

Most commands are in `serrm.commands`, the others here. Errors that a user can cause are one line on stderr,
with exit code 2 for a usage error and 1 for a failure.
"""

import math
import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from serrm import command_line
from serrm.commands.ask import ask
from serrm.commands.compare import compare, effects, sweep
from serrm.commands.evaluate import evaluate
from serrm.commands.profile import forecast, rehearse, use
from serrm.commands.prune import prune
from serrm.commands.runs import runs
from serrm.commands.scores import headline, overview
from serrm.commands.show import show
from serrm.commands.solve import solve
from serrm.commands.track import track
from serrm.core.project import PAPER, find_root

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(is_requested: bool) -> bool:
    """Print the versions of the package and of PyTorch, and whether native kernels run; then exit."""
    if is_requested:
        from importlib.metadata import version

        import torch

        from serrm.kernels.cpu.build import has_kernels

        kernels = "native" if has_kernels(torch.float32) else "PyTorch alone"
        typer.echo(f"serrm {version('serrm')}, torch {torch.__version__}, kernels: {kernels}")
        raise typer.Exit
    return is_requested


@app.callback()
def options(
    is_version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the versions and exit."
    ),
) -> None:
    """Recurrent reasoning models: solve puzzles, score checkpoints, inspect and compare runs.

    Example: serrm solve 1......2..3.....
    """


@app.command()
def conformance(
    files: list[Path] = typer.Argument(..., metavar="FILE...", exists=True, dir_okay=False),
) -> None:
    """Compare our models with reference values from the authors' code (.npz files).

    Example: serrm conformance tests/vectors/trm_rope.npz
    """
    from serrm.drawing.terminal import console, table
    from serrm.published.conformance import check_conformance

    screen, is_ok = console(), True
    for file in files:
        try:
            checks = check_conformance(file)
        except ValueError as error:
            command_line.print_error(str(error))
            is_ok = False
            continue
        screen.print(str(file), markup=False, soft_wrap=True)
        results = table("quantity", "largest difference", "tolerance", "ok")
        for check in checks:
            word = "[green]yes[/]" if check.is_ok else "[red]no[/]"
            results.add_row(check.quantity, f"{check.difference:.1e}", f"{check.tolerance:.0e}", word)
        screen.print(results)
        is_ok = is_ok and all(check.is_ok for check in checks)
    if not is_ok:
        raise typer.Exit(1)


@app.command()
def import_checkpoint(
    file: Path = typer.Argument(..., metavar="FILE", exists=True, dir_okay=False, help="State dict (.pt)."),
    name: str = typer.Option(
        ..., "--run", metavar="RUN", help="Take the model's settings from this run, such as sudoku-se_rrm-s0."
    ),
    target: Path = typer.Option(..., "--out", metavar="DIR", help="Folder for the new checkpoint."),
    profile: str = typer.Option(PAPER, help="Profile of that run."),
) -> None:
    """Convert weights saved by the authors' code into a checkpoint.

    Example: serrm import-checkpoint trm.pt --run sudoku-trm-s0 --out data/imported/trm
    """
    from serrm.config import open_project
    from serrm.published.exchange import import_checkpoint

    params = open_project(profile).params
    if name not in params.runs:
        raise typer.BadParameter(f"{name!r} is not a run of profile {params.profile}", param_hint="--run")
    config = import_checkpoint(file, params.run_settings(name), target)
    typer.echo(f"{target}: {name} with {config.parameters:,} parameters")


@app.command()
def export_checkpoint(
    checkpoint: Path = typer.Argument(
        ..., metavar="DIR", exists=True, file_okay=False, help="Folder of a finished run."
    ),
    target: Path = typer.Argument(..., metavar="FILE", help="File for the state dict (.pt), in float32."),
) -> None:
    """Convert a checkpoint into weights for the authors' code, if that has all parts of the model.

    Example: serrm export-checkpoint data/imported/trm trm.pt
    """
    from serrm.published.exchange import export_checkpoint

    shapes = export_checkpoint(checkpoint, target)
    typer.echo(f"{target}: {len(shapes)} weights, {sum(map(math.prod, shapes.values())):,} numbers")


@app.command()
def ui(
    port: int = typer.Option(5000, min=1, max=65535),
    host: str = typer.Option("127.0.0.1", help="Address to listen on; 0.0.0.0 lets other machines connect."),
) -> None:
    """Start the MLflow UI for the project's runs, and print the address of each experiment's charts of scores.

    Example: serrm ui --port 5000
    """
    root = find_root(Path.cwd())
    from serrm.tracking import replace_process, tracking_uri, ui_command
    from serrm.tracking.background import mirror_meanwhile

    command = ui_command(tracking_uri(root), host, port)
    mirror_meanwhile(root)
    # Imported after the checks in `ui_command`, because MLflow is slow to import.
    from serrm.tracking.store import links

    address = f"http://{host}:{port}"
    for name, link in links(root, address):
        typer.echo(f"{name}: {link}")
    typer.echo(f"MLflow UI: {address} (ready in a few seconds, Ctrl-C ends it)")
    sys.stdout.flush()
    replace_process(root, command)


@app.command()
def demo(
    port: int = typer.Option(7860, min=1, max=65535),
    host: str = typer.Option("127.0.0.1", help="Address to listen on; 0.0.0.0 lets other machines connect."),
) -> None:
    """Serve a web page that solves a Sudoku or a maze step by step.

    Example: serrm demo --port 7860
    """
    from serrm.demo import LIMITS, page

    page().launch(server_name=host, server_port=port, **LIMITS)


for command in (
    ask,
    compare,
    effects,
    evaluate,
    forecast,
    headline,
    overview,
    prune,
    rehearse,
    runs,
    show,
    solve,
    sweep,
    track,
    use,
):
    app.command()(command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    return command_line.run(app, arguments)


if __name__ == "__main__":
    sys.exit(main())
