"""ARC-AGI's scores: the answers to all variants of a test input vote.

Where the settings ask for it, ARC-AGI is also scored with blank (all zeros) and random rows of the task-type table,
which shows how the model solves a puzzle without its row. (Table 3 and the section "ARC-AGI" of the paper.)
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from serrm.arrays.arc import ArcEvaluation, open_arc_evaluation
from serrm.arrays.stream import Examples
from serrm.core.randomness import Purpose, keyed_rng
from serrm.inference import predict
from serrm.inference.predictions import Predictions
from serrm.inference.settings import ScoringSettings, usual_headline_steps
from serrm.models.recurrence import RecurrentModel
from serrm.puzzles.arc.grids import encode
from serrm.scoring.groups import group_scores
from serrm.scoring.metrics import NUM_ANSWERS_ALLOWED
from serrm.scoring.predictions import Rows, SetPredictions
from serrm.scoring.schema import RefusedSet, ScoredSet, TaskTypeRow, digest
from serrm.scoring.tally import ArcTally, submission

Tallies = dict[int, ArcTally]  # by number of supervision steps


def score_arc(
    predictor: predict.Predictor, arrays: Path, run: ScoringSettings, predictions: Predictions
) -> dict[str, ScoredSet | RefusedSet]:
    """Score ARC-AGI by task type: sets "evaluation" with the right ones, "evaluation, blank task type" and so on.

    If training puzzles are held out, the names of the sets begin with "held_out" instead. `predictions` takes those
    with the right task types, and the submission.
    """
    questions, sets = arc_questions(predictor.loaded, arrays), dict[str, ScoredSet | RefusedSet]()
    for task_type in run.evaluate.task_types:
        name = questions.name if task_type == "right" else f"{questions.name}, {task_type} task type"
        tallies = count_votes(predictor, questions, run.evaluate.steps, task_type=task_type, seed=run.seed)
        if task_type == "right":
            predictions.submission = dict(submission(tallies[max(tallies)]))
            predictions.sets.append(vote_winners(questions, tallies))
        sets[name] = scored_set_of(questions, tallies, task_type, run.evaluate.steps_of_headline)
    return sets


def scored_set_of(
    questions: ArcEvaluation, tallies: Tallies, task_type: TaskTypeRow = "right", headline: int | None = None
) -> ScoredSet:
    """Score the votes, with the credit of every puzzle after `headline` steps (by default the usual number)."""
    steps_of_headline = headline or usual_headline_steps(tallies)
    credits = tuple(tallies[steps_of_headline].credits(NUM_ANSWERS_ALLOWED).values())
    groups = questions.groups
    return ScoredSet(
        side=questions.side,
        num_puzzles=len(questions.answers()),
        task_type_row=task_type,
        num_test_inputs=len(questions.arrays),
        num_votes=questions.num_votes,
        steps={step: tally.scores() for step, tally in tallies.items()},
        headline_steps=steps_of_headline,
        puzzles_digest=digest(questions.arrays.questions, questions.arrays.answers),
        credits=credits,
        groups=None if groups is None else group_scores(np.array(credits, dtype=np.float64), *groups),
    )


def vote_winners(questions: ArcEvaluation, tallies: Tallies) -> SetPredictions:
    """Take the answer to every test input that has most votes, after each number of steps."""
    inputs = [questions.inputs(number * questions.num_votes, 1)[0] for number in range(len(questions.arrays))]
    indices = {name: index for index, name in enumerate(questions.answers())}

    def rows(tally: ArcTally) -> Rows:
        best = [tally.best(*test_input) for test_input in inputs]
        return Rows(
            solved=np.array([tally.is_solved(*test_input, NUM_ANSWERS_ALLOWED) for test_input in inputs]),
            right=None,
            blank=None,
            confidence=np.array([confidence for _, confidence in best], dtype=np.float32),
            halting=None,
            prediction=np.stack([encode(grid, questions.side) for grid, _ in best]),
        )

    groups = {} if questions.groups is None else questions.groups.groups
    return SetPredictions(
        questions.name,
        questions.side,
        [f"{puzzle}, test {test + 1}" for puzzle, test in inputs],
        np.asarray(questions.arrays.questions),
        np.asarray(questions.arrays.answers),
        {kind: [names[indices[puzzle]] for puzzle, _ in inputs] for kind, names in groups.items()},
        {step: rows(tally) for step, tally in tallies.items()},
    )


def arc_questions(loaded: predict.LoadedModel, arrays: Path, num: int | None = None) -> ArcEvaluation:
    """Open the test inputs, or the first `num` of them, in the variants that the model was trained on."""
    questions = open_arc_evaluation(arrays, loaded.settings.arrays.num_augmentations + 1)
    return questions if num is None else replace(questions, arrays=questions.arrays.first(num))


def count_votes(
    predictor: predict.Predictor,
    questions: ArcEvaluation,
    steps: Sequence[int],
    *,
    task_type: TaskTypeRow = "right",
    seed: int = 0,
) -> Tallies:
    """Count the votes of all variants after each number of steps; processes share the batches.

    The confidence of a vote, which orders answers with equal votes, is that of its least certain cell.
    `seed` draws random task types.
    """
    tallies = {step: ArcTally(questions.answers(), questions.units()) for step in steps}
    task_vectors_of = partial(vectors_for_task_type, predictor.loaded.model, task_type, seed)
    loss = predictor.loaded.settings.train.loss

    for predicted in predictor.batches(questions, steps, "voting", task_vectors_of):
        inputs = questions.inputs(predicted.start, len(predicted.predictions))
        grids = questions.undo(predicted.start, predicted.predictions)
        confidences = predict.confidences(predicted.logits, loss).tolist()
        for (puzzle, test), grid, confidence in zip(inputs, grids, confidences, strict=True):
            tallies[predicted.step].add(puzzle, test, grid, confidence)
    return predictor.processes.merge(tallies, add_votes)


def add_votes(first: Tallies, other: Tallies) -> Tallies:
    """Add the votes of another process to those of the first."""
    for step, tally in first.items():
        tally.include(other[step])
    return first


def vectors_for_task_type(
    model: RecurrentModel, task_type: TaskTypeRow, seed: int, start: int, batch: Examples
) -> Float[Tensor, "B W"] | None:
    """Choose the task vectors: those of the puzzles, zeros, or random rows; None for a model without a table."""
    if model.task_types is None:
        return None
    rows = batch.task_types
    if task_type == "random":
        rng = keyed_rng(seed, Purpose.TASK_TYPE, start)
        rows = rng.integers(len(model.task_types), size=len(rows))
    vectors = model.task_vectors(torch.from_numpy(rows).to(model.initial.device))
    assert vectors is not None
    return torch.zeros_like(vectors) if task_type == "blank" else vectors
