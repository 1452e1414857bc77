"""`serrm evaluate`: a checkpoint's scores on any file of puzzles."""

from enum import StrEnum
from pathlib import Path
from typing import Any

import typer

from serrm.commands.solve import A_CHECKPOINT, DEVICE
from serrm.files import write_json

Precision = StrEnum("Precision", ["float32", "bfloat16"])
METRICS = {"fsr": "FSR", "gpa": "GPA", "valid": "valid path", "pass_at_1": "pass@1", "pass_at_2": "pass@2"}
REMARKS = {
    "num_answers_computed": "without an answer in the file, solved exactly",
    "num_without_solution": "left out because they have no solution",
    "num_left_out": "test inputs left out, without an answer or a task type",
}


CHECKPOINT = typer.Option(..., help=A_CHECKPOINT)
PUZZLES = typer.Option(
    ..., exists=True, help="Sudoku, mazes or ARC tasks: CSV, TSV, JSON (or a folder of it), or plain lines."
)
STEPS = typer.Option(16, min=1, help="Supervision steps; scores are given at 1, 2, 4, … of them.")
BATCH_SIZE = typer.Option(
    None, min=1, help="9×9 puzzles at once, larger grids fewer. Default: 64, on a GPU 512."
)
PRECISION = typer.Option(Precision.float32)
TARGET = typer.Option(None, "--json", dir_okay=False, help="Also write the scores to this file.")


def evaluate(
    checkpoint: str = CHECKPOINT,
    puzzles: Path = PUZZLES,
    steps: int = STEPS,
    batch_size: int | None = BATCH_SIZE,
    device: str = DEVICE,
    precision: Precision = PRECISION,
    target: Path | None = TARGET,
) -> None:
    """Score a checkpoint on a file of puzzles of its task, of any sizes."""
    from serrm.devices import choose_device, keep_memory
    from serrm.drawing.terminal import console, percent, table
    from serrm.solving.model import folder_of
    from serrm.solving.score_file import score_file

    keep_memory()
    if target is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
    where = choose_device(device)
    scores = score_file(folder_of(checkpoint), puzzles, steps, where, precision.value, batch_size)
    if target is not None:
        write_json(target, scores)
    sets: dict[str, dict[str, Any]] = scores["sets"]
    found = {name for entry in sets.values() for values in entry.get("steps", {}).values() for name in values}
    metrics = [name for name in METRICS if name in found]
    lines, remarks = table("grid", "puzzles", "steps", *(METRICS[name] for name in metrics)), []
    for name, entry in sets.items():
        for step, values in entry.get("steps", {}).items():
            is_first = step == next(iter(entry["steps"]))
            rates = (percent(values, metric) for metric in metrics)
            lines.add_row(*((name, str(entry["num_puzzles"])) if is_first else ("", "")), step, *rates)
        lines.add_section()
        remarks += [f"{name}: left out: {entry['reason']}"] if "reason" in entry else []
        remarks += [f"{name}: {words}: {entry[key]}" for key, words in REMARKS.items() if entry.get(key)]
    screen = console()
    screen.print(f"{puzzles} with {checkpoint}: percent (95% interval)", markup=False, soft_wrap=True)
    screen.print(lines)
    for remark in remarks:
        screen.print(remark, markup=False, soft_wrap=True)
