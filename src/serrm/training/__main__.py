"""`python -m serrm.training`: one training run with the required dependencies alone, without DVC and MLflow.

The exit code is 0 if it finished, 75 if it stopped early and the same command continues it, 1 after a failure.
"""

import json
import sys
from pathlib import Path

import typer

from serrm import command_line

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
SETTINGS = typer.Argument(
    ..., exists=True, dir_okay=False, help="The run's settings, the file settings.json of its scratch folder."
)
ARRAYS = typer.Argument(..., exists=True, file_okay=False, help="Folder of the data set's arrays.")
TARGET = typer.Argument(..., help="Folder for the finished checkpoint.")
SCRATCH = typer.Option(Path("data/scratch"), help="Folder of unfinished runs.")
DEVICE = typer.Option("auto", help="auto, cpu, cuda, cuda:1, …")
SECONDS = typer.Option(None, help="Stop with a checkpoint after this many seconds; by default never.")


@app.command()
def main(
    settings: Path = SETTINGS,
    arrays: Path = ARRAYS,
    target: Path = TARGET,
    scratch: Path = SCRATCH,
    device: str = DEVICE,
    seconds: float | None = SECONDS,
) -> None:
    """Train a run without DVC and MLflow, continuing from its newest checkpoint in the scratch folder.

    Example: python -m serrm.training settings.json data/laptop/arrays/sudoku checkpoint --seconds 3600
    """
    from serrm.core.execution import Execution
    from serrm.core.settings import parse
    from serrm.training.run import moved_run, train
    from serrm.training.settings import RunSettings

    # Only the seconds can be refused: every text is a device until training prepares it.
    execution = parse(Execution, {"device": device, "max_seconds": seconds}, lambda _: "--seconds")
    run = parse(RunSettings, json.loads(settings.read_text(encoding="utf-8")), settings.name)
    train(run, arrays, target, scratch, execution, pipeline_run=moved_run(settings))


if __name__ == "__main__":
    sys.exit(command_line.run(app))
