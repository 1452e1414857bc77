"""What was run, in one table: each cell's model, size, training and speed."""

from serrm.reporting.cells import DASH
from serrm.reporting.names import duration, model_name, task_name
from serrm.reporting.plain import PlainTable
from serrm.reporting.results import Evaluation, Results

HEADER = (
    *("Task", "Model", "Seed", "Parameters", "Training puzzles", "Steps", "Samples", "Operations", "Time"),
    *("Puzzle-steps a second", "Peak memory", "Last loss", "Device"),
)
CAPTION = (
    "One line a training. Parameters without the table of task-type embeddings, and what it adds; optimiser steps; "
    "operations: of all matrix products, two a multiply-add; a puzzle-step is one supervision step of one puzzle, "
    "forward and backward."
)


def runs_table(results: Results) -> PlainTable:
    """One line a cell of the profile."""
    rows = tuple(_row(run) for seeds in results.values() for run in seeds)
    return PlainTable("runs", "What was run", CAPTION, HEADER, rows)


def _row(run: Evaluation) -> tuple[str, ...]:
    info, training = run.model_info, run.training
    memory, rows = training.peak_memory_bytes, info.parameters_with_task_types - info.parameters
    return (
        task_name(run.task),
        model_name(run.model),
        str(run.seed),
        f"{info.parameters:,}" + (f" + {rows:,}" if rows else ""),
        f"{run.data.train_puzzles:,}",
        f"{training.steps:,}",
        f"{training.samples:,}",
        _number(training.operations, ".1e").replace("e+", "e"),
        duration(training.seconds),
        _number(training.puzzles_per_second, ",.0f"),
        DASH if memory is None else f"{memory / 2**30:.2f} GiB",
        _number(training.final_loss, ".3f"),
        training.device or DASH,
    )


def _number(value: int | float | None, form: str) -> str:
    return DASH if value is None else format(value, form)
