"""Scoring ARC-AGI: every test input is answered in each variant of its puzzle, and the answers vote.

Beside the score with each puzzle's own task type stand, where the settings ask for them, those with a blank one (all
zeros) and with that of another puzzle: what the model knows of a puzzle beyond the table's row. With its own type also
stands how many of the puzzles' demonstration pairs are reproduced. One checkpoint, one score, but for a switch that
pools snapshots. Paper: section "ARC-AGI", table 3.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from serrm.arrays.arc_demonstrations import open_arc_demonstrations
from serrm.arrays.arc_evaluation import ArcEvaluation, open_arc_evaluation
from serrm.arrays.stream import Examples
from serrm.config import EvaluateCell, TaskType
from serrm.inference.demonstrations import score_demonstrations
from serrm.inference.evaluate_sets import rows_at_once
from serrm.inference.gallery import Gallery
from serrm.inference.load import LoadedModel, load_snapshot
from serrm.inference.predict import predict_outputs
from serrm.kernels.accelerate import accelerate
from serrm.models.formulations import DTYPES
from serrm.models.halting import HALT
from serrm.models.recurrence import RecurrentModel
from serrm.progress import watch
from serrm.randomness import Purpose, keyed_rng
from serrm.scoring.arc import ArcTally
from serrm.scoring.submission import check_submission, submission
from serrm.training.device import supported
from serrm.training.processes import ALONE, Processes

Answers = dict[int, ArcTally]  # by number of supervision steps


def evaluate_arc(
    loaded: LoadedModel,
    arrays: Path,
    cell: EvaluateCell,
    device: torch.device,
    gallery: Gallery,
    is_curve: bool = False,
    processes: Processes = ALONE,
) -> dict[str, Any]:
    """Scores with each kind of task type: the set "evaluation" with the right one, "evaluation, blank" and so on.

    Where training puzzles are held out, the sets are called after those, "held_out" and so on.

    For a learning curve only the first test inputs are asked about. The gallery also takes the submission.
    """
    settings = cell.evaluate
    precision, compiles = supported(settings.precision, settings.compile, device)
    accelerate(loaded.model, compiles=compiles)
    num_variants = loaded.cell.arrays.num_augmentations + 1
    twice = loaded.cell.fidelity.identity_twice
    questions = open_arc_evaluation(arrays, num_variants, has_identity_twice=twice)
    if is_curve:
        questions = first_inputs(questions, settings.curve_puzzles)
    sets = {}
    for kind in settings.task_types:
        name = questions.set_name if kind == "right" else f"{questions.set_name}, {kind} task type"
        own = votes(loaded, questions, cell, DTYPES[precision], kind, gallery, processes)
        tallies = _included(processes.collect(own))
        gallery.share(questions.set_name, processes)
        if kind == "right":
            gallery.submission = checked_submission(tallies[max(tallies)])
        sets[name] = {
            "status": "scored",
            "num_puzzles": len(questions.answers()),
            "num_test_inputs": len(questions.arrays),
            "num_variants": questions.num_votes,
            "steps": {str(step): tally.scores() for step, tally in tallies.items()},
        }
    num = 0 if is_curve else settings.demonstration_pairs
    pairs = open_arc_demonstrations(arrays, num_variants, num, has_identity_twice=twice)
    if len(pairs) and questions.set_name in sets:
        found = score_demonstrations(loaded.model, pairs, settings, DTYPES[precision], processes)
        sets[questions.set_name]["demonstrations"] = found
    return sets


def first_inputs(questions: ArcEvaluation, num: int) -> ArcEvaluation:
    """The same questions about the first `num` test inputs only."""
    arrays = questions.arrays
    parts = ("questions", "answers", "question_sizes", "answer_sizes", "puzzles", "numbers")
    return replace(questions, arrays=replace(arrays, **{part: getattr(arrays, part)[:num] for part in parts}))


def votes(
    loaded: LoadedModel,
    questions: ArcEvaluation,
    cell: EvaluateCell,
    dtype: torch.dtype,
    kind: TaskType,
    gallery: Gallery,
    processes: Processes = ALONE,
) -> Answers:
    """The votes of the checkpoint, or of all its snapshots where that published fault is asked for.

    ValueError if it is, and there are none.
    """
    asked = (questions, cell, dtype, kind)
    if not cell.fidelity.aggregated_voting:
        return vote(loaded.model, *asked, gallery, processes)
    if not loaded.snapshots:
        raise ValueError("aggregated_voting: the checkpoint has no snapshots whose votes to pool")
    of_all = []
    for path in loaded.snapshots:
        load_snapshot(loaded.model, path)
        shown = gallery if path == loaded.snapshots[-1] else Gallery(cell.task, 0)
        of_all.append(vote(loaded.model, *asked, shown, processes))
    return _included(of_all)


def vote(
    model: RecurrentModel,
    questions: ArcEvaluation,
    cell: EvaluateCell,
    dtype: torch.dtype,
    kind: TaskType,
    gallery: Gallery,
    processes: Processes = ALONE,
) -> Answers:
    """The votes of all variants at every depth of the settings, of the batches that are this process's."""
    tallies = {step: ArcTally(questions.answers()) for step in cell.evaluate.steps}
    size = rows_at_once(questions.side, cell.evaluate.batch_size, questions.num_symbols)
    starts = range(processes.rank * size, questions.num_examples, processes.num * size)
    for start in watch(starts, "voting", len(starts), unit="batch", is_quiet=not processes.is_first):
        batch = questions.gather(start, min(size, questions.num_examples - start))
        tokens = torch.from_numpy(batch.questions.astype(np.int64)).to(model.initial.device)
        vectors = task_vectors(model, batch.task_types, kind, keyed_rng(cell.seed, Purpose.TASK_TYPE, start))
        for step, output in predict_outputs(
            model, tokens, questions.num_symbols, tuple(tallies), dtype, vectors, size
        ):
            logits = output.logits[: len(tokens)]
            predicted = logits.argmax(-1).cpu().numpy().astype(np.uint8)
            certain = confidences(logits)
            if cell.fidelity.ties_by_halting and output.halting is not None:
                certain = output.halting[: len(tokens), HALT].float().sigmoid()
            add_votes(tallies[step], questions, start, predicted, certain.tolist())
            if kind == "right":
                show(gallery, questions, start, batch, step, predicted)
    return tallies


def _included(of_all: Sequence[Answers]) -> Answers:
    """The votes of all processes, or snapshots."""
    first, *others = of_all
    for other in others:
        for step, tally in first.items():
            tally.include(other[step])
    return first


def add_votes(
    tally: ArcTally,
    questions: ArcEvaluation,
    start: int,
    predicted: np.ndarray,
    certain: list[float],
) -> None:
    """Count the predictions for the questions from `start` on."""
    inputs = questions.inputs(start, len(predicted))
    for (puzzle, test), grid, confidence in zip(
        inputs, questions.undo(start, predicted), certain, strict=True
    ):
        tally.add(puzzle, test, grid, confidence)


def confidences(logits: Float[Tensor, "B I K"]) -> Float[Tensor, " B"]:
    """How sure each prediction is: the smallest over positions of the largest softmax probability."""
    return logits.float().softmax(-1).amax(-1).amin(-1).clamp(0, 1)


def task_vectors(
    model: RecurrentModel, rows: Int64[np.ndarray, " B"], kind: TaskType, rng: np.random.Generator
) -> Float[Tensor, "B W"] | None:
    """Rows of the task-type table: the puzzles' own, zeros, or random ones; None for a model without a table."""
    if model.task_types is None:
        return None
    if kind == "random":
        rows = rng.integers(len(model.task_types), size=len(rows))
    vectors = model.task_vectors(torch.from_numpy(rows).to(model.initial.device))
    assert vectors is not None
    return torch.zeros_like(vectors) if kind == "blank" else vectors


def show(
    gallery: Gallery, questions: ArcEvaluation, start: int, batch: Examples, step: int, predicted: np.ndarray
) -> None:
    """Keep the predictions for the first test inputs, as they are asked first (the identity)."""
    for place, (puzzle, test) in enumerate(questions.inputs(start, len(predicted))):
        if (start + place) % questions.num_votes == 0:
            gallery.add(
                questions.set_name,
                questions.side,
                f"{puzzle}, test {test + 1}",
                batch.questions[place],
                batch.answers[place],
                step,
                predicted[place],
                start + place,
            )


def checked_submission(tally: ArcTally) -> dict[str, Any]:
    """Kaggle's submission.json of a tally, in the form its schema asks for."""
    content = submission(tally)
    check_submission(content, {puzzle: len(answers) for puzzle, answers in tally.answers.items()})
    return dict(content)
