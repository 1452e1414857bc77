"""A file of puzzles scored with a checkpoint, as the stages `read_tests` and `evaluate` score one of `tests`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from serrm.arrays.file_sets import read_test_sets
from serrm.inference.evaluate import model_info, score_set
from serrm.inference.predict import Predictor, load_model
from serrm.inference.votes import count_votes, scored_set_of
from serrm.kernels.precision import supported
from serrm.models.layers import DTYPES
from serrm.puzzles.task import GridTask
from serrm.puzzles.tasks import TASKS
from serrm.reading.question import Question
from serrm.reading.reader import read_file
from serrm.scoring.schema import RefusedSet, ScoredSet
from serrm.solving.solve import arc_evaluation, arc_refusal

BATCH_SIZE = {"cpu": 64, "cuda": 512}  # 9×9 puzzles per batch
# Fields of single puzzles, and fields that only the pipeline's own sets need.
LEFT_OUT = {
    "task_type_row",
    "headline_steps",
    "num_puzzles_after",
    "puzzles_digest",
    "solved",
    "solved_after_most",
    "credits",
}


def score_file(
    checkpoint: Path,
    puzzles: Path,
    steps: int,
    device: torch.device,
    precision: str = "float32",
    batch_size: int | None = None,
) -> dict[str, Any]:
    """Score a checkpoint on the puzzles of a file, by size of grid, after 1, 2, 4, … and `steps` steps.

    The sets are those of an evaluation (`serrm.scoring.schema`) without the fields on single puzzles. Test inputs of
    ARC tasks are left out if they have no answer or the model cannot answer them.

    Raises ValueError for a damaged checkpoint, for a file that `read_test_sets` refuses, and if nothing can be scored.
    """
    loaded, depths = load_model(checkpoint, device), depths_up_to(steps)
    dtype = DTYPES[supported(precision, device)]
    predictor = Predictor(loaded, batch_size or BATCH_SIZE[device.type], dtype)
    task, sets = loaded.settings.task, dict[str, ScoredSet | RefusedSet]()
    try:
        if isinstance(TASKS[task], GridTask):
            for test_set in read_test_sets(puzzles, puzzles.stem, task):
                sets[test_set.name] = score_set(predictor, test_set, depths)
        else:
            sets[puzzles.stem] = _score_votes(predictor, read_file(puzzles), depths)
    except torch.OutOfMemoryError as error:
        raise ValueError(
            f"{device} has too little memory for {predictor.batch_size} puzzles at once; lower the batch size"
        ) from error
    reasons = {scores.reason for scores in sets.values() if isinstance(scores, RefusedSet)}
    if not any(isinstance(scores, ScoredSet) for scores in sets.values()):
        raise ValueError(f"{puzzles}: nothing to score: {'; '.join(sorted(reasons))}")
    return {
        "checkpoint": str(checkpoint),
        "puzzles": str(puzzles),
        "model_info": model_info(loaded.config).model_dump(),
        "device": str(device),
        "precision": str(dtype).removeprefix("torch."),
        "sets": {name: as_dict(scores) for name, scores in sets.items()},
    }


def _score_votes(predictor: Predictor, questions: Sequence[Question], depths: Sequence[int]) -> ScoredSet:
    """Compute pass@k over ARC puzzles, by their test inputs that have an answer and fit."""
    answerable, reasons = list[Question](), set[str]()
    for question in questions:
        reason = arc_refusal(predictor.loaded, question) or ("no answer" if question.answer is None else "")
        if reason:
            reasons.add(reason)
        else:
            answerable.append(question)
    if not answerable:
        raise ValueError(f"nothing to score: {min(reasons)}")
    evaluation = arc_evaluation(predictor.loaded, answerable)
    return scored_set_of(evaluation, count_votes(predictor, evaluation, depths))


def as_dict(scores: ScoredSet | RefusedSet) -> dict[str, Any]:
    """Convert the scores of a set to plain data."""
    return scores.model_dump(mode="json", exclude_none=True, exclude=LEFT_OUT)


def depths_up_to(steps: int) -> list[int]:
    """List the powers of two below `steps`, and `steps`."""
    return sorted({2**power for power in range(steps.bit_length())} | {steps})
