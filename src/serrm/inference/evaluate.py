"""Scoring a checkpoint: what its task asks for at several depths, batch by batch in constant memory."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from serrm.inference.evaluate_arc import evaluate_arc
from serrm.inference.evaluate_sets import evaluate_sets
from serrm.inference.gallery import Gallery
from serrm.inference.load import LoadedModel, load_model, load_snapshot
from serrm.inference.predict import Work
from serrm.inference.settings import EvaluateCell
from serrm.inference.studies import studies
from serrm.inference.tasks import TASKS
from serrm.kernels.accelerate import accelerate
from serrm.training.device import prepare_device
from serrm.training.launch import run_in_processes
from serrm.training.processes import ALONE, Processes, joined_by_torchrun, under_torchrun
from serrm.training.settings import Execution

Scores = dict[str, Any]


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
    work = Work.begin(loaded, cell.evaluate, device, processes)
    return {
        **_facts(loaded, cell.source),
        "sets": evaluate_task(work, arrays, cell, gallery),
        **studies(work, arrays, cell.seed),
        "learning_curve": list(learning_curve(work, arrays, cell)),
    }


def evaluate_task(
    work: Work, arrays: Path, cell: EvaluateCell, gallery: Gallery, is_curve: bool = False
) -> Scores:
    """Scores of every set of the task, by votes or by one answer a puzzle; fewer puzzles for a learning curve."""
    if TASKS[cell.task].tally is None:
        return evaluate_arc(work, arrays, cell, gallery, is_curve)
    return evaluate_sets(work, arrays, gallery, is_curve)


def _facts(loaded: LoadedModel, source: str) -> Scores:
    """What a metric file says of the model, its training and its puzzles."""
    config, training = loaded.config, loaded.config["training"]
    kept = ("steps", "samples", "seconds", "final_loss", "device", "peak_memory_bytes")
    return {
        "model_info": loaded.info,
        "training": {
            **{name: training[name] for name in kept},
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
    part = partial(_evaluate_here, checkpoint, arrays, cell, execution)
    if execution.processes == 1 or under_torchrun() or cell.fidelity.dropout_at_evaluation:
        return part()
    found: tuple[Scores, Gallery] = run_in_processes(part, execution.processes)
    return found


def _evaluate_here(
    checkpoint: Path, arrays: Path, cell: EvaluateCell, execution: Execution, *_: object
) -> tuple[Scores, Gallery]:
    with joined_by_torchrun(execution.device) as processes:
        device = prepare_device(execution, processes)
        gallery = Gallery(cell.task, cell.evaluate.examples)
        shared = ALONE if cell.fidelity.dropout_at_evaluation else processes
        scores = evaluate(checkpoint, arrays, cell, device, gallery, shared, is_native=execution.native)
    return scores, gallery


def learning_curve(work: Work, arrays: Path, cell: EvaluateCell) -> Iterator[dict[str, float]]:
    """Scores of the snapshots on the first puzzles of the set trained for, against samples processed."""
    if work.settings.curve_puzzles == 0:
        return
    num_steps = work.settings.curve_steps
    of_curve = {"steps": (num_steps,), "task_types": ("right",)}
    work = replace(work, settings=work.settings.model_copy(update=of_curve))
    fidelity = cell.fidelity.model_copy(update={"aggregated_voting": False})
    cell = cell.model_copy(update={"fidelity": fidelity})
    for path in work.loaded.snapshots:
        facts = load_snapshot(work.loaded.model, path)
        for scored in evaluate_task(work, arrays, cell, Gallery(cell.task, 0), is_curve=True).values():
            yield {
                "step": int(facts["step"]),
                "samples": int(facts["samples"]),
                "loss": float(facts["loss"]),
                **scored["steps"][str(num_steps)],
            }
