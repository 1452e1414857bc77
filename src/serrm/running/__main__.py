"""`python -m serrm.running [JOBS]`: the pipeline with several runs at a time; `--run RUN`: one run of it."""

import sys
from pathlib import Path

import typer

from serrm import command_line

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    jobs: int | None = typer.Argument(
        None, min=1, help="Runs at a time. Default: as many as the machine allows."
    ),
    run: str | None = typer.Option(None, "--run", metavar="RUN", help="Train and score only this run."),
) -> None:
    """Run all stages of params.yaml by DVC, several runs at a time; the same command continues what is unfinished.

    Example: python -m serrm.running 4

    With JOBS=1 every run has all threads and GPUs. OMP_NUM_THREADS sets another number of threads than one per run.
    """
    from serrm.core.project import find_root
    from serrm.running.side_by_side import reproduce, reproduce_run

    root = find_root(Path.cwd())
    raise typer.Exit(reproduce(root, jobs) if run is None else reproduce_run(root, run))


if __name__ == "__main__":
    sys.exit(command_line.run(app))
