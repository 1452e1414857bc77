"""Scoring ARC-AGI: every test input is answered in each variant of its puzzle, and the answers vote.

Beside the score with each puzzle's own task type stand, where the settings ask for them, those with a blank one (all
zeros) and with that of another puzzle: what the model knows of a puzzle beyond the table's row. One checkpoint, one
score, but for a switch that pools snapshots. Paper: section "ARC-AGI", table 3.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from serrm.arrays.arc_stream import ArcEvaluation, open_arc_evaluation
from serrm.arrays.stream import Examples
from serrm.inference.gallery import Gallery
from serrm.inference.load import load_snapshot
from serrm.inference.predict import Predicted, Questions, Work, confidences, predict_batches
from serrm.inference.settings import EvaluateCell, TaskType
from serrm.models.halting import HALT
from serrm.models.recurrence import RecurrentModel
from serrm.randomness import Purpose, keyed_rng
from serrm.scoring.arc import ArcTally
from serrm.scoring.submission import submission

Answers = dict[int, ArcTally]  # by number of supervision steps


def evaluate_arc(
    work: Work, arrays: Path, cell: EvaluateCell, gallery: Gallery, is_curve: bool = False
) -> dict[str, Any]:
    """Scores with each kind of task type: the set "evaluation" with the right one, "evaluation, blank" and so on.

    Where training puzzles are held out, the sets are called after those, "held_out" and so on.

    For a learning curve only the first test inputs are asked about. The gallery also takes the submission.
    """
    settings, trained = work.settings, work.loaded.cell
    num_variants, twice = trained.arrays.num_augmentations + 1, trained.fidelity.identity_twice
    questions = open_arc_evaluation(arrays, num_variants, has_identity_twice=twice)
    if is_curve:
        questions = first_inputs(questions, settings.curve_puzzles)
    sets = {}
    for kind in settings.task_types:
        name = questions.set_name if kind == "right" else f"{questions.set_name}, {kind} task type"
        tallies = _pooled(work.processes.collect(votes(work, questions, cell, kind, gallery)))
        gallery.share(questions.set_name, work.processes)
        if kind == "right":
            gallery.submission = dict(submission(tallies[max(tallies)]))
        sets[name] = {
            "status": "scored",
            "num_puzzles": len(questions.answers()),
            "num_test_inputs": len(questions.arrays),
            "num_variants": questions.num_votes,
            "steps": {str(step): tally.scores() for step, tally in tallies.items()},
        }
    return sets


def first_inputs(questions: ArcEvaluation, num: int) -> ArcEvaluation:
    """The same questions about the first `num` test inputs only."""
    arrays = questions.arrays
    by_input = ("questions", "answers", "question_sizes", "answer_sizes", "puzzles", "numbers")
    first = {name: vars(arrays)[name][:num] for name in by_input}
    return replace(questions, arrays=replace(arrays, **first))


def votes(
    work: Work, questions: ArcEvaluation, cell: EvaluateCell, kind: TaskType, gallery: Gallery
) -> Answers:
    """The votes of the checkpoint, or of all its snapshots where that published fault is asked for.

    ValueError if it is, and there are none.
    """
    if not cell.fidelity.aggregated_voting:
        return vote(work, questions, cell, kind, gallery)
    snapshots = work.loaded.snapshots
    if not snapshots:
        raise ValueError("aggregated_voting: the checkpoint has no snapshots whose votes to pool")
    of_all = []
    for path in snapshots:
        load_snapshot(work.loaded.model, path)
        shown = gallery if path == snapshots[-1] else Gallery(cell.task, 0)
        of_all.append(vote(work, questions, cell, kind, shown))
    return _pooled(of_all)


def vote(
    work: Work, questions: ArcEvaluation, cell: EvaluateCell, kind: TaskType, gallery: Gallery
) -> Answers:
    """The votes of all variants at every depth of the settings, of the batches that are this process's."""
    tallies = {step: ArcTally(questions.answers()) for step in work.settings.steps}
    asked = Questions(questions.side, questions.num_symbols, questions.num_examples, questions.gather)
    vectors = partial(task_vectors, work.loaded.model, kind, cell.seed)
    for found in predict_batches(work, asked, "voting", vectors):
        inputs = questions.inputs(found.start, len(found.tokens))
        grids, certain = questions.undo(found.start, found.tokens), confidences(found.logits)
        if cell.fidelity.ties_by_halting and found.halting is not None:
            certain = found.halting[:, HALT].float().sigmoid()
        for (puzzle, test), grid, confidence in zip(inputs, grids, certain.tolist(), strict=True):
            tallies[found.step].add(puzzle, test, grid, confidence)
        if kind == "right":
            _show(gallery, questions, inputs, found)
    return tallies


def _show(
    gallery: Gallery, questions: ArcEvaluation, inputs: Sequence[tuple[str, int]], found: Predicted
) -> None:
    """Keep the predictions for the first test inputs, as they are asked first (the identity)."""
    for place, (puzzle, test) in enumerate(inputs):
        if (found.start + place) % questions.num_votes == 0:
            name, number = f"{puzzle}, test {test + 1}", found.start + place
            gallery.add(questions.set_name, questions.side, number, name, found, place)


def _pooled(of_all: Sequence[Answers]) -> Answers:
    """The votes of all processes, or snapshots."""
    first, *others = of_all
    for other in others:
        for step, tally in first.items():
            tally.include(other[step])
    return first


def task_vectors(
    model: RecurrentModel, kind: TaskType, seed: int, start: int, batch: Examples
) -> Float[Tensor, "B W"] | None:
    """Rows of the task-type table: the puzzles' own, zeros, or random ones; None for a model without a table."""
    if model.task_types is None:
        return None
    rows = batch.task_types
    if kind == "random":
        rng = keyed_rng(seed, Purpose.TASK_TYPE, start)
        rows = rng.integers(len(model.task_types), size=len(rows))
    vectors = model.task_vectors(torch.from_numpy(rows).to(model.initial.device))
    assert vectors is not None
    return torch.zeros_like(vectors) if kind == "blank" else vectors
