"""Scoring a checkpoint: what its task asks for at several depths, batch by batch in constant memory."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch

from serrm.config import HEADLINE_STEPS, EvaluateCell, Execution
from serrm.inference.evaluate_arc import evaluate_arc
from serrm.inference.evaluate_sets import evaluate_sets
from serrm.inference.gallery import Gallery
from serrm.inference.load import LoadedModel, load_model, load_snapshot
from serrm.inference.studies import studies
from serrm.kernels.accelerate import accelerate
from serrm.training.device import prepare_device
from serrm.training.launch import run_in_processes
from serrm.training.processes import ALONE, Processes, joined_by_torchrun, under_torchrun

Scores = dict[str, Any]

# (model, arrays, cell, device, gallery, whether for a learning curve, processes) → set name → scores
EVALUATE: dict[
    str, Callable[[LoadedModel, Path, EvaluateCell, torch.device, Gallery, bool, Processes], Scores]
] = {
    "sudoku": evaluate_sets,
    "maze": evaluate_sets,
    "arc_agi_1": evaluate_arc,
    "arc_agi_2": evaluate_arc,
}


def evaluate(
    checkpoint: Path,
    arrays: Path,
    cell: EvaluateCell,
    device: torch.device,
    gallery: Gallery | None = None,
    processes: Processes = ALONE,
    *,
    is_native: bool = True,
) -> Scores:
    """Score a checkpoint on every test set of `arrays`, and its snapshots for the learning curve.

    Several processes share the work and all have the same scores; native kernels run where they fit, if they may.
    Returns the metric file's content without the names of profile and cell; the gallery keeps what one may look at.
    """
    gallery = gallery or Gallery(cell.task, 0)
    loaded = load_model(checkpoint, device, has_dropout=cell.fidelity.dropout_at_evaluation)
    accelerate(loaded.model, is_native=is_native)
    torch.manual_seed(cell.seed)  # of the dropout, where it was asked for
    sets = EVALUATE[cell.task](loaded, arrays, cell, device, gallery, False, processes)
    return {
        **_facts(loaded, cell.source),
        "deviations": list(cell.deviations),
        "sets": sets,
        **studies(loaded, arrays, cell, device, processes),
        "learning_curve": list(learning_curve(loaded, arrays, cell, device, processes)),
    }


def _facts(loaded: LoadedModel, source: str) -> Scores:
    """What a metric file says of the model, its training and its puzzles."""
    config, training = loaded.config, loaded.config["training"]
    told = ("steps", "samples", "seconds", "final_loss", "device", "peak_memory_bytes")
    return {
        "model_info": {
            "family": loaded.cell.model.family,
            "parameters": config["parameters"],
            "parameters_with_task_types": config["parameters_with_task_types"],
        },
        "training": {
            **{name: training[name] for name in told},
            "puzzles_per_second": training["puzzle_steps_per_second"],
            "operations": training.get("operations"),  # not counted by older checkpoints
        },
        "data": {
            "source": source,
            "train_puzzles": training["train_puzzles"],
            "hash": config["data_hash"],
        },
    }


def evaluate_together(
    checkpoint: Path, arrays: Path, cell: EvaluateCell, execution: Execution
) -> tuple[Scores, Gallery]:
    """`evaluate` by the processes of the execution section: the scores, and what one may look at.

    The fault of dropout at evaluation draws its masks in the order of one process, which then works alone.
    """
    part = partial(_part, checkpoint, arrays, cell, execution)
    if execution.processes == 1 or under_torchrun() or cell.fidelity.dropout_at_evaluation:
        return part()
    found: tuple[Scores, Gallery] = run_in_processes(part, execution.processes)
    return found


def _part(
    checkpoint: Path, arrays: Path, cell: EvaluateCell, execution: Execution, *_: object
) -> tuple[Scores, Gallery]:
    with joined_by_torchrun(execution.device) as processes:
        device = prepare_device(execution, processes)
        gallery = Gallery(cell.task, cell.evaluate.examples)
        shared = ALONE if cell.fidelity.dropout_at_evaluation else processes
        scores = evaluate(checkpoint, arrays, cell, device, gallery, shared, is_native=execution.native)
    return scores, gallery


def learning_curve(
    loaded: LoadedModel,
    arrays: Path,
    cell: EvaluateCell,
    device: torch.device,
    processes: Processes = ALONE,
) -> Iterator[dict[str, float]]:
    """Scores of the snapshots on the first puzzles of the set trained for, against samples processed."""
    if cell.evaluate.curve_puzzles == 0:
        return
    settings = cell.evaluate.model_copy(update={"steps": (HEADLINE_STEPS,), "task_types": ("right",)})
    fidelity = cell.fidelity.model_copy(update={"aggregated_voting": False})
    headline = cell.model_copy(update={"evaluate": settings, "fidelity": fidelity})
    for path in loaded.snapshots:
        facts = load_snapshot(loaded.model, path)
        sets = EVALUATE[cell.task](loaded, arrays, headline, device, Gallery(cell.task, 0), True, processes)
        for scored in sets.values():
            yield {
                "step": int(facts["step"]),
                "samples": int(facts["samples"]),
                "loss": float(facts["loss"]),
                **scored["steps"][str(HEADLINE_STEPS)],
            }
