"""Predictions for every test puzzle after every scored number of steps, and ARC-AGI's submission, as files of a run."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import or_
from pathlib import Path
from typing import Any, Final

import numpy as np

from serrm.arrays.stream import PuzzleArrays
from serrm.core.files import new_directory
from serrm.inference import predict
from serrm.models.q_head import HALT, rounded_sigmoid
from serrm.puzzles.task import GridTask
from serrm.puzzles.tasks import grid_task
from serrm.scoring.metrics import Batch
from serrm.scoring.predictions import PREDICTIONS, Rows, SetPredictions, join_rows, write_predictions
from serrm.training.settings import RunSettings

SUBMISSION: Final = "submission.json"


@dataclass
class Predictions:
    """The predictions of a run for all sets that it scores, and on ARC-AGI the submission."""

    task: str  # a key of TASKS
    sets: list[SetPredictions] = field(default_factory=list)
    submission: dict[str, Any] | None = None

    def write(self, target: Path) -> None:
        """Write predictions.parquet, and submission.json where there is one, to a new folder `target`."""
        with new_directory(target) as folder:
            write_predictions(folder / PREDICTIONS, self.task, self.sets)
            if self.submission is not None:
                (folder / SUBMISSION).write_text(json.dumps(self.submission) + "\n", encoding="utf-8")


def predict_set(
    predictor: predict.Predictor,
    puzzles: PuzzleArrays,
    num_puzzles_after: Mapping[int, int],
    groups: Mapping[str, Sequence[str]] = {},
) -> SetPredictions:
    """Predict as many of the first puzzles of a set after a number of steps as `num_puzzles_after` says.

    All processes call this together, share the batches and return the same.
    """
    task, blocks = grid_task(puzzles.task), dict[tuple[int, int], Rows]()
    for start, end in pairwise((0, *sorted(set(num_puzzles_after.values())))):
        steps = [step for step, num in num_puzzles_after.items() if num >= end]
        for predicted in predictor.batches(puzzles.slice(start, end), steps, f"evaluating {puzzles.name}"):
            rows = rows_of(predicted, task, puzzles.side, predictor.loaded.settings)
            blocks[predicted.step, start + predicted.start] = rows
    blocks = predictor.processes.merge(blocks, or_)
    after = {
        step: join_rows([blocks[key] for key in sorted(blocks) if key[0] == step])
        for step in num_puzzles_after
    }
    names = [f"{puzzles.name} puzzle {number + 1}" for number in range(len(puzzles))]
    return SetPredictions(
        puzzles.name, puzzles.side, names, puzzles.questions, puzzles.answers, groups, after
    )


def rows_of(predicted: predict.Predicted, task: GridTask, side: int, run: RunSettings) -> Rows:
    """Make the rows of a batch on square grids.

    A model trained on larger grids may answer with symbols outside this size's alphabet; they become padding, 0. The Q
    head counts only where training taught it.
    """
    batch = Batch(predicted.batch.questions, predicted.predictions, predicted.batch.answers, task)
    num_symbols, halting = task.alphabet(side).num_symbols, None
    if run.train.halting.needs_q_head and predicted.halting is not None:
        halting = rounded_sigmoid(predicted.halting[:, HALT].float()).cpu().numpy()
    return Rows(
        solved=task.are_right(*batch[:3]),
        right=((batch.predictions == batch.answers) & batch.is_open).sum(axis=1),
        blank=batch.is_open.sum(axis=1),
        confidence=predict.confidences(predicted.logits, run.train.loss).float().cpu().numpy(),
        halting=halting,
        prediction=np.where(predicted.predictions < num_symbols, predicted.predictions, np.uint8(0)),
    )
