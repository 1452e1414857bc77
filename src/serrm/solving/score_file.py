"""Any file of puzzles scored with a checkpoint, by the scorer of the evaluate stage."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import UInt8

from serrm.arrays.stream import PuzzleArrays
from serrm.inference.evaluate import model_info, score_set
from serrm.inference.predict import Predicted, Predictor, load_model, refusal
from serrm.inference.votes import count_votes, scored_set_of
from serrm.kernels.precision import supported
from serrm.models.layers import DTYPES
from serrm.puzzles.task import GridTask
from serrm.puzzles.tasks import TASKS, grid_task, question_task
from serrm.reading.question import Question
from serrm.reading.reader import read_file
from serrm.scoring.schema import RefusedSet, ScoredSet
from serrm.solving.solve import arc_evaluation, arc_refusal

BATCH_SIZE = {"cpu": 64, "cuda": 512}  # 9×9 puzzles per batch
NOTHING = "nothing_to_score"
NO_PUZZLE = "no puzzle with a blank cell and a solution"
# Fields of single puzzles, whose order in a file means nothing, and fields that only the pipeline's own sets need.
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
    """Scores of a checkpoint on the puzzles of a file, by size of grid, after 1, 2, 4, … and `steps` steps.

    A Sudoku or a maze without an answer is solved exactly, and left out if it has no solution. Test inputs of ARC
    tasks are left out if they have no answer or the model cannot answer them. What is left out is counted. The result
    has sets like those of an evaluation (`serrm.scoring.schema`) without the fields on single puzzles, a further status
    `nothing_to_score`, and the counts of what was left out.

    Raises ValueError for a damaged checkpoint, a malformed file, a puzzle of another task, a wrong answer, or a missing
    one in a task without exact method, and if nothing can be scored.
    """
    loaded, depths = load_model(checkpoint, device), depths_up_to(steps)
    dtype = DTYPES[supported(precision, device)]
    predictor = Predictor(loaded, batch_size or BATCH_SIZE[device.type], dtype)
    task, questions = loaded.settings.task, read_file(puzzles)
    for question in questions:
        if question.task != question_task(task):
            raise ValueError(
                f"{question.place}: the puzzle's task is {question.task}, but the checkpoint's task is {task}"
            )
    try:
        if isinstance(TASKS[task], GridTask):
            sets = {
                f"{side}x{side}": _score_size(
                    predictor, side, [question for question in questions if question.side == side], depths
                )
                for side in sorted({question.side for question in questions})
            }
        else:
            sets = {"arc": _score_votes(predictor, questions, depths)}
    except torch.OutOfMemoryError as error:
        raise ValueError(
            f"{device} has too little memory for {predictor.batch_size} puzzles at once; lower the batch size"
        ) from error
    if not any(entry["status"] == "scored" for entry in sets.values()):
        reasons = sorted({entry["reason"] for entry in sets.values()})
        raise ValueError(f"{puzzles}: nothing to score: {'; '.join(reasons)}")
    return {
        "checkpoint": str(checkpoint),
        "puzzles": str(puzzles),
        "model_info": model_info(loaded.config).model_dump(),
        "device": str(device),
        "precision": str(dtype).removeprefix("torch."),
        "sets": sets,
    }


def _score_size(
    predictor: Predictor, side: int, questions: Sequence[Question], depths: Sequence[int]
) -> dict[str, Any]:
    """Scores of the puzzles of one size, with the numbers of answers computed and of puzzles without a solution."""
    task = predictor.loaded.settings.task
    record, name = grid_task(task), f"{side}x{side}"
    if reason := refusal(predictor.loaded.model, side, record.alphabet(side).num_symbols):
        return {"status": "cannot_extrapolate", "reason": reason}
    layout = record.layout(side)
    pairs = [(question, _answer(question, record)) for question in questions]
    kept = [(question, answer) for question, answer in pairs if answer is not None]
    counts = {
        "num_answers_computed": sum(question.answer is None for question, _ in kept),
        "num_without_solution": len(questions) - len(kept),
        **({"layout": layout} if layout else {}),
    }
    tokens = np.array([question.cells.reshape(-1) for question, _ in kept], dtype=np.uint8)
    if not kept or not record.is_open(tokens).any():
        return {"status": NOTHING, "reason": ": ".join(filter(None, [NO_PUZZLE, layout])), **counts}
    labels = np.stack([answer for _, answer in kept])
    if (wrong := record.wrong_label(tokens, labels)) is not None:
        index, reason = wrong
        raise ValueError(
            ": ".join(filter(None, [kept[index][0].place, f"the given answer {reason}", layout]))
        )
    puzzles = PuzzleArrays(name, side, tokens, labels, task)
    nums = Counter[str]()  # of other solutions than the answer, by the number of steps

    def count_other_solutions(predicted: Predicted) -> None:
        if record.verify is not None and record.right_answers != "label":
            is_solution = record.obeys(predicted.batch.questions, predicted.predictions)
            is_other = (predicted.predictions != predicted.batch.answers).any(axis=1)
            nums[str(predicted.step)] += int((is_solution & is_other).sum())

    scores = score_set(predictor, puzzles, depths, take_batch=count_other_solutions)
    others = {"num_other_solutions": dict(nums)} if any(nums.values()) else {}
    return {**as_dict(scores), **counts, **others}


def _answer(question: Question, record: GridTask) -> UInt8[np.ndarray, " I"] | None:
    """The given answer of a puzzle or else its exact solution; None if it has no solution."""
    if question.answer is not None:
        return question.answer.reshape(-1)
    if record.solutions is None:
        raise ValueError(f"{question.place}: no answer, and {record.name} has no exact method that finds one")
    return record.solution(question.cells.reshape(-1))


def _score_votes(
    predictor: Predictor, questions: Sequence[Question], depths: Sequence[int]
) -> dict[str, Any]:
    """pass@k over ARC puzzles, by their test inputs that have an answer and fit; the others are counted as left out."""
    reasons = {
        id(question): arc_refusal(predictor.loaded, question)
        or ("no answer" if question.answer is None else "")
        for question in questions
    }
    kept = [question for question in questions if not reasons[id(question)]]
    if not kept:
        return {"status": NOTHING, "reason": sorted(reasons.values())[0]}
    evaluation = arc_evaluation(predictor.loaded, kept)
    scores = scored_set_of(evaluation, count_votes(predictor, evaluation, depths))
    return {**as_dict(scores), "num_left_out": len(questions) - len(kept)}


def as_dict(scores: ScoredSet | RefusedSet) -> dict[str, Any]:
    """The scores of a set as plain data."""
    return scores.model_dump(mode="json", exclude_none=True, exclude=LEFT_OUT)


def depths_up_to(steps: int) -> list[int]:
    """The powers of two below `steps`, and `steps`."""
    return sorted({2**power for power in range(steps.bit_length())} | {steps})
