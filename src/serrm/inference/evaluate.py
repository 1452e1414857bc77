"""Scoring a checkpoint on sets of puzzles: FSR and GPA at several depths, batch by batch in constant memory."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import UInt8
from safetensors import safe_open
from tqdm import tqdm

from serrm.config import EvaluateCell, EvaluateSettings
from serrm.data.arrays import PuzzleArrays, evaluation_sets, open_arrays
from serrm.inference.load import LoadedModel, load_model
from serrm.inference.predict import predict
from serrm.models.recurrence import CannotExtrapolate, RecurrentModel
from serrm.scoring.metrics import SudokuTally
from serrm.training.device import supported
from serrm.training.loop import DTYPES

Grids = UInt8[np.ndarray, "N I"]
HEADLINE_STEPS = 16  # supervision steps of the paper's tables and of the learning curves


def evaluate(checkpoint: Path, arrays: Path, cell: EvaluateCell, device: torch.device) -> dict[str, Any]:
    """Score a checkpoint on every test set of `arrays`, and its snapshots for the learning curve.

    Returns the metric file's content without the names of profile and cell.
    """
    loaded = load_model(checkpoint, device, has_dropout=cell.fidelity.dropout_at_evaluation)
    torch.manual_seed(cell.seed)  # of the dropout, where it was asked for
    sets = {
        name: score_set(loaded, open_arrays(arrays, name), cell.evaluate, device)
        for name in evaluation_sets(arrays)
    }
    config, training = loaded.config, loaded.config["training"]
    return {
        "model_info": {
            "family": loaded.cell.model.family,
            "parameters": config["parameters"],
            "parameters_with_task_types": config["parameters_with_task_types"],
        },
        "training": {
            "steps": training["steps"],
            "samples": training["samples"],
            "seconds": training["seconds"],
            "puzzles_per_second": training["puzzle_steps_per_second"],
            "final_loss": training["final_loss"],
        },
        "data": {
            "source": cell.source,
            "train_puzzles": training["train_puzzles"],
            "hash": config["data_hash"],
        },
        "deviations": list(cell.deviations),
        "sets": sets,
        "learning_curve": list(learning_curve(checkpoint, loaded, arrays, cell, device)),
    }


def score_set(
    loaded: LoadedModel, puzzles: PuzzleArrays, settings: EvaluateSettings, device: torch.device
) -> dict[str, Any]:
    """Scores of one set at every depth of the settings, or the reason why the model cannot take its size."""
    try:
        tallies = score_batches(
            loaded, _batches(puzzles, settings.batch_size), puzzles.side, settings, device
        )
    except CannotExtrapolate as error:
        return {"status": "cannot_extrapolate", "reason": str(error)}
    return scored(tallies)


def score_batches(
    loaded: LoadedModel,
    batches: Iterable[tuple[Grids, Grids]],
    side: int,
    settings: EvaluateSettings,
    device: torch.device,
) -> dict[int, SudokuTally]:
    """A tally for every depth over batches of (questions, answers), tokens of one size of grid."""
    precision, compiles = supported(settings.precision, settings.compile, device)
    if compiles:
        loaded.model.compile_networks()
    tallies = {step: SudokuTally() for step in settings.steps}
    for questions, answers in batches:
        add_batch(tallies, loaded.model, questions, answers, side, DTYPES[precision])
    return tallies


def add_batch(
    tallies: Mapping[int, SudokuTally],
    model: RecurrentModel,
    questions: Grids,
    answers: Grids,
    side: int,
    dtype: torch.dtype,
) -> None:
    """Predict one batch of tokens, all of one size of grid, and count it in the tally of every depth."""
    tokens = torch.from_numpy(questions.astype(np.int64)).to(model.initial.device)
    for step, predicted in predict(model, tokens, side + 2, tuple(tallies), dtype):
        tallies[step].add(questions, predicted.cpu().numpy().astype(np.uint8), answers)


def scored(tallies: Mapping[int, SudokuTally]) -> dict[str, Any]:
    """The entry of a scored set in a metric file."""
    some = next(iter(tallies.values()))
    return {
        "status": "scored",
        "num_puzzles": some.num_puzzles,
        "num_blank": some.num_blank,
        "steps": {str(step): tally.scores() for step, tally in tallies.items()},
    }


def learning_curve(
    checkpoint: Path, loaded: LoadedModel, arrays: Path, cell: EvaluateCell, device: torch.device
) -> Iterator[dict[str, float]]:
    """Scores of the snapshots on the first puzzles of the size trained on, against samples processed."""
    side, num = loaded.config["side"], cell.evaluate.curve_puzzles
    name = f"{side}x{side}"
    if num == 0 or name not in evaluation_sets(arrays):
        return
    puzzles = open_arrays(arrays, name)
    first = PuzzleArrays(name, side, puzzles.questions[:num], puzzles.answers[:num])
    settings = cell.evaluate.model_copy(update={"steps": (HEADLINE_STEPS,)})
    for path in sorted((checkpoint / "snapshots").glob("*.safetensors")):
        with safe_open(path, "pt") as file:
            facts = file.metadata()
            loaded.model.load_state_dict({key: file.get_tensor(key) for key in file.keys()})  # noqa: SIM118
        scores = score_set(loaded, first, settings, device)["steps"][str(HEADLINE_STEPS)]
        yield {
            "step": int(facts["step"]),
            "samples": int(facts["samples"]),
            "loss": float(facts["loss"]),
            **scores,
        }


def _batches(puzzles: PuzzleArrays, batch_size: int) -> Iterator[tuple[Grids, Grids]]:
    """Batches of about the memory that `batch_size` 9×9 puzzles need."""
    size = rows_at_once(puzzles.side, batch_size)
    starts = range(0, len(puzzles), size)
    for start in tqdm(starts, desc=f"evaluating {puzzles.name}", disable=None, leave=False):
        rows = slice(start, start + size)
        yield np.asarray(puzzles.questions[rows]), np.asarray(puzzles.answers[rows])


def rows_at_once(side: int, batch_size: int) -> int:
    """How many puzzles of a side need the memory of `batch_size` 9×9 ones: attention grows with I²K."""
    return max(1, batch_size * 9**5 // side**5)
