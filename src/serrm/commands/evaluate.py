"""`serrm evaluate`: score a checkpoint on a file of puzzles."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Any

import typer

from serrm.commands.solve import CHECKPOINT_HELP, DEVICE

Dtype = StrEnum("Dtype", ["float32", "bfloat16"])


def evaluate(
    checkpoint: str = typer.Option(..., help=CHECKPOINT_HELP),
    puzzles: Path = typer.Option(
        ...,
        exists=True,
        help="File with Sudoku, mazes or ARC puzzles as CSV, TSV, JSON or plain lines, or a folder of JSON files.",
    ),
    steps: int = typer.Option(
        16, min=1, help="Number of supervision steps; the command scores after 1, 2, 4, … of them."
    ),
    batch_size: int | None = typer.Option(
        None,
        min=1,
        help="Batch size for 9×9 puzzles; larger grids get smaller batches. Default: 64, or 512 on a GPU.",
    ),
    device: str = DEVICE,
    precision: Dtype = typer.Option(Dtype.float32),
    target: Path | None = typer.Option(
        None, "--json", dir_okay=False, help="Also write the scores to this file."
    ),
) -> None:
    """Score a checkpoint on a file of puzzles of its task; grid sizes may be mixed.

    Example: serrm evaluate --checkpoint sudoku --puzzles puzzles.csv
    """
    from serrm.core.devices import choose_device, keep_memory
    from serrm.core.files import write_output
    from serrm.drawing.terminal import console, table, with_interval
    from serrm.puzzles.tasks import TASKS
    from serrm.scoring.metrics import metrics_of
    from serrm.solving.model import existing_folder_of
    from serrm.solving.score_file import score_file

    keep_memory()
    if target is not None:
        target.absolute().parent.mkdir(parents=True, exist_ok=True)
    torch_device = choose_device(device)
    scores = score_file(
        existing_folder_of(checkpoint), puzzles, steps, torch_device, precision.value, batch_size
    )
    if target is not None:
        write_output(target, json.dumps(scores, indent=2) + "\n")
    sets: dict[str, dict[str, Any]] = scores["sets"]
    score_names = {
        name for entry in sets.values() for values in entry.get("steps", {}).values() for name in values
    }
    metrics = {
        name: metric
        for task in TASKS
        for name, metric in metrics_of(task).items()
        if name in score_names and metric.is_listed
    }
    headings = [f"{metric.short} {metric.statistic.sign}".rstrip() for metric in metrics.values()]
    lines = table("set", "puzzles", "steps", *headings)
    for name, entry in sets.items():
        for step, values in entry.get("steps", {}).items():
            is_first = step == next(iter(entry["steps"]))
            texts = (
                with_interval(values, metric_name, metric.statistic)
                for metric_name, metric in metrics.items()
            )
            lines.add_row(*((name, str(entry["num_puzzles"])) if is_first else ("", "")), step, *texts)
        lines.add_section()
    screen = console()
    screen.print(f"{puzzles} with {checkpoint}: scores with 95% intervals", markup=False, soft_wrap=True)
    screen.print(lines)
    for name, entry in sets.items():
        if "reason" in entry:
            screen.print(f"{name}: left out: {entry['reason']}", markup=False, soft_wrap=True)
