"""Scoring a checkpoint: every test set of its task at several depths, its snapshots, and what else is measured."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from serrm.arrays.arc import open_arc_evaluation
from serrm.devices import prepare_device, supported
from serrm.inference.load import LoadedModel, fastest_arithmetic, load_model, load_snapshot
from serrm.inference.predict import Predictor, Questions
from serrm.inference.sets import (
    Gallery,
    arc_questions,
    of_trained_size,
    pooled,
    questions_of,
    score_set,
    score_sets,
    score_votes,
    vote,
)
from serrm.inference.settings import EvaluateCell
from serrm.inference.studies import equivariance
from serrm.kernels.accelerate import accelerate
from serrm.models.layers import DTYPES
from serrm.processes import ALONE, Processes, joined_by_torchrun
from serrm.puzzles.tasks import TASKS, GridTask
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
    gallery, settings = gallery or Gallery(cell.task, 0), cell.evaluate
    loaded = load_model(checkpoint, device, has_dropout=cell.fidelity.dropout_at_evaluation)
    if settings.precision == "auto":
        fastest = fastest_arithmetic(loaded.model, loaded.config, settings.compile, is_native=is_native)
        precision, compiles = processes.collect(fastest)[0]
    else:
        precision, compiles = supported(settings.precision, settings.compile, device)
    accelerate(loaded.model, is_native=is_native, compiles=compiles)
    torch.manual_seed(cell.seed)  # of the dropout, where it was asked for
    predictor = Predictor(loaded, settings.batch_size, DTYPES[precision], processes)
    score = score_votes if not isinstance(TASKS[cell.task], GridTask) else score_sets
    scores = {**_facts(loaded, cell.source), **score(predictor, arrays, cell, gallery)}
    gallery.share(processes)
    asked = symmetric_questions(loaded, arrays) if settings.equivariance_pairs else None
    if asked is not None:
        scores["equivariance"] = equivariance(predictor, *asked, settings.equivariance_pairs, cell.seed)
    return {**scores, "learning_curve": list(learning_curve(predictor, arrays, cell))}


def symmetric_questions(loaded: LoadedModel, arrays: Path) -> tuple[str, Questions] | None:
    """A set whose symbols may be exchanged for one another, by name; ARC's test inputs as they are. None without."""
    task = TASKS[loaded.cell.task]
    if not task.is_symmetric:
        return None
    if not isinstance(task, GridTask):
        inputs = open_arc_evaluation(arrays, num_variants=1)
        return inputs.set_name, Questions(inputs.side, inputs.num_symbols, inputs.num_examples, inputs.gather)
    puzzles = of_trained_size(loaded, arrays)
    return None if puzzles is None else (puzzles.name, questions_of(puzzles))


def learning_curve(predictor: Predictor, arrays: Path, cell: EvaluateCell) -> Iterator[dict[str, float]]:
    """Scores of the snapshots on the first puzzles of the set trained for, against samples processed."""
    num, step = cell.evaluate.curve_puzzles, cell.evaluate.curve_steps
    for path in predictor.loaded.snapshots if num else ():
        facts = load_snapshot(predictor.loaded.model, path)
        if not isinstance(TASKS[cell.task], GridTask):
            own = vote(predictor, arc_questions(predictor, arrays, num), (step,), cell)
            scores = pooled(predictor.processes.collect(own))[step].scores()
        elif (puzzles := of_trained_size(predictor.loaded, arrays)) is not None:
            scores = score_set(predictor, puzzles.first(num), (step,))["steps"][str(step)]
        else:
            return
        yield {
            "step": int(facts["step"]),
            "samples": int(facts["samples"]),
            "loss": float(facts["loss"]),
            **scores,
        }


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
    """`evaluate` as the execution section has it, together with the other processes under torchrun.

    Returns the scores, and what one may look at. The fault of dropout at evaluation draws its masks in the order of
    one process: each then does all the work.
    """
    with joined_by_torchrun(execution.device) as processes:
        device = prepare_device(execution.device, execution.threads, processes)
        gallery = Gallery(cell.task, cell.evaluate.examples)
        shared = ALONE if cell.fidelity.dropout_at_evaluation else processes
        scores = evaluate(checkpoint, arrays, cell, device, gallery, shared, is_native=execution.native)
    return scores, gallery
