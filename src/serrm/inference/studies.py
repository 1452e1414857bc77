"""Further measurements of a checkpoint on puzzles of the size trained on: test-time compute and equivariance.

Test-time compute is an extension; equivariance is the paper's section on symbol-equivariant models.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from serrm.arrays.arc import ArcEvaluation, open_arc_evaluation
from serrm.arrays.stream import Examples, PuzzleArrays, Stream, open_arrays, set_of_side
from serrm.core.processes import ALONE
from serrm.core.progress import with_progress
from serrm.core.randomness import Purpose, keyed_rng
from serrm.inference import predict
from serrm.inference.methods import method_points
from serrm.inference.search import Limits, Search, search
from serrm.inference.settings import HEADLINE_STEPS, ComputeSettings, ScoringSettings
from serrm.puzzles.arc.grids import PADDING, decoded_sizes
from serrm.puzzles.task import GridTask
from serrm.puzzles.tasks import TASKS, alphabet
from serrm.scoring.metrics import rates
from serrm.scoring.schema import ComputePoint, Equivariance, PermutedPuzzle


def puzzles_of_trained_size(loaded: predict.LoadedModel, arrays: Path) -> PuzzleArrays | None:
    """The test puzzles of the size trained on; None if the data set's arrays have no such set."""
    name = set_of_side(arrays, loaded.config.side)
    return None if name is None else open_arrays(arrays, name)


def compute_points(
    predictor: predict.Predictor, arrays: Path, run: ScoringSettings
) -> tuple[tuple[ComputePoint, ...], tuple[ComputePoint, ...]]:
    """The points of test-time compute on the test puzzles of the size trained on.

    Empty without such settings, and for a task that has no rule to verify answers by.
    """
    settings = run.evaluate.test_time_compute
    if settings is None or TASKS[run.task].verify is None:
        return (), ()
    puzzles = puzzles_of_trained_size(predictor.loaded, arrays)
    return ((), ()) if puzzles is None else search_points(predictor, puzzles, settings)


def compute_by_method(
    predictor: predict.Predictor, arrays: Path, run: ScoringSettings
) -> dict[str, tuple[ComputePoint, ...]] | None:
    """The points of further methods by name, on the first test puzzles of the size trained on; None without any."""
    settings = run.evaluate.test_time_compute
    puzzles = puzzles_of_trained_size(predictor.loaded, arrays) if settings and settings.methods else None
    if settings is None or puzzles is None:
        return None
    first = puzzles.first(settings.num_puzzles)
    points = {name: method_points(predictor, first, method) for name, method in settings.methods.items()}
    return {name: of_method for name, of_method in points.items() if of_method} or None


def search_points(
    predictor: predict.Predictor, puzzles: PuzzleArrays, settings: ComputeSettings
) -> tuple[tuple[ComputePoint, ...], tuple[ComputePoint, ...]]:
    """FSR against mean supervision steps per puzzle, on the first puzzles of a set, by two searches.

    Returns a point per limit of steps, where every puzzle stops at its first verified answer, and a point per limit of
    attempts, where attempts after the first have guesses.
    """
    puzzles, attempt_steps = puzzles.first(settings.num_puzzles), settings.attempt_steps
    numbers_of_attempts = () if TASKS[puzzles.task].allows is None else sorted(settings.attempts)
    first_verified, attempts = list[ComputePoint](), list[ComputePoint]()
    outcomes = _search_all(predictor, puzzles, Limits(max(settings.max_steps)))
    for most in sorted(settings.max_steps):
        num_right = sum(outcome.is_right and outcome.steps <= most for outcome in outcomes)
        first_verified.append(_point(outcomes, Limits(most), num_right))
    if numbers_of_attempts:
        outcomes = _search_all(predictor, puzzles, Limits(attempt_steps, max(numbers_of_attempts) - 1))
    for num in numbers_of_attempts:
        num_right = sum(outcome.is_right and outcome.attempts <= num for outcome in outcomes)
        attempts.append(_point(outcomes, Limits(attempt_steps, num - 1), num_right))
    return tuple(first_verified), tuple(attempts)


class Outcome(NamedTuple):
    """The result of a puzzle's search; `is_right` if the answer is verified and right."""

    steps: int
    attempts: int
    is_right: bool


def _search_all(predictor: predict.Predictor, puzzles: PuzzleArrays, limits: Limits) -> list[Outcome]:
    """Search for an answer to every puzzle; processes share the puzzles in turn."""
    model, processes = predictor.loaded.model, predictor.processes
    task, num_symbols = TASKS[puzzles.task], puzzles.num_symbols
    numbers = range(processes.rank, len(puzzles), processes.num)
    searches = with_progress(
        [Search(number, puzzles.questions[number]) for number in numbers],
        "test-time compute",
        unit="puzzle",
        is_quiet=not processes.is_first,
    )
    batch_size, outcomes = predictor.puzzles_at_once(puzzles.side, num_symbols), list[Outcome]()
    loss = predictor.loaded.settings.train.loss
    for puzzle in search(model, searches, num_symbols, task, limits, batch_size, loss, predictor.dtype):
        assert puzzle.answer is not None
        grids = puzzle.question[None], puzzle.answer[None], puzzles.answers[puzzle.key][None]
        is_right = puzzle.is_verified and bool(task.are_right(*grids)[0])
        outcomes.append(Outcome(puzzle.steps, puzzle.attempts, is_right))
    return [outcome for of_process in processes.collect(outcomes) for outcome in of_process]


def _point(outcomes: Sequence[Outcome], limits: Limits, num_right: int) -> ComputePoint:
    mean = sum(min(outcome.steps, limits.budget) for outcome in outcomes) / len(outcomes)
    scores = rates({"fsr": (num_right, len(outcomes))})
    return ComputePoint(
        num_attempts=limits.more_attempts + 1,
        max_steps=limits.max_steps,
        num_puzzles=len(outcomes),
        mean_steps=mean,
        **scores,
    )


def symmetric_questions(loaded: predict.LoadedModel, arrays: Path) -> PuzzleArrays | ArcEvaluation | None:
    """A set of puzzles whose symbols may be permuted, or ARC's test inputs as they are; None if there is none."""
    task = TASKS[loaded.settings.task]
    if not task.has_permutations:
        return None
    if isinstance(task, GridTask):
        return puzzles_of_trained_size(loaded, arrays)
    return replace(open_arc_evaluation(arrays, loaded.settings.arrays.num_augmentations + 1), num_votes=1)


def equivariance(
    predictor: predict.Predictor, questions: PuzzleArrays | ArcEvaluation, num: int, seed: int
) -> Equivariance:
    """Compare f(πx) with πf(x): predictions for permuted puzzles, and permuted predictions for the puzzles.

    Both are those after 16 supervision steps, or after the most that the family scores; headline steps have no effect.
    They have no dropout, even if `fidelity.dropout_at_evaluation` is on, because the two would have different masks.
    The example is the first pair that differs, or the first pair if none differs.

    In ARC-AGI only the colours of the decoded grid are compared, and task types that hold colours are permuted too.
    """
    model, usual = predictor.loaded.model, alphabet(predictor.loaded.settings.task, questions.side).usual
    permutation = np.arange(questions.num_symbols, dtype=np.uint8)
    permutation[list(usual)] = keyed_rng(seed, Purpose.PERMUTATION).permutation(usual)

    def permuted(start: int, num_examples: int) -> Examples:
        batch = questions.gather(start, num_examples)
        return batch._replace(questions=permutation[batch.questions])

    def permuted_vectors(_: int, batch: Examples) -> Float[Tensor, "B W"] | None:
        rows = model.task_vectors(torch.from_numpy(batch.task_types).to(model.initial.device))
        moved = torch.from_numpy(permutation).long().to(model.initial.device)
        return None if rows is None else model.embedding.permuted(rows, moved)

    num = min(num, questions.num_examples)
    # Streams stand for their first `num` questions (`Questions`).
    plain = _predict_alone(
        predictor, Stream(questions.side, questions.num_symbols, num, questions.gather), HEADLINE_STEPS
    )
    after = _predict_alone(
        predictor,
        Stream(questions.side, questions.num_symbols, num, permuted),
        HEADLINE_STEPS,
        permuted_vectors,
    )
    is_identical = (permutation[plain] == after).all(axis=1)
    shown = int(np.argmin(is_identical))
    question = questions.gather(shown, 1).questions[0]
    return Equivariance(
        num_pairs=num,
        num_identical=int(is_identical.sum()),
        precision="float32",
        example=PermutedPuzzle(
            side=questions.side,
            permutation=permutation.tolist(),
            question=question.tolist(),
            prediction=plain[shown].tolist(),
            permuted_question=permutation[question].tolist(),
            permuted_prediction=after[shown].tolist(),
        ),
    )


def _predict_alone(
    predictor: predict.Predictor,
    questions: Stream,
    step: int,
    task_vectors_of: predict.TaskVectorsOf | None = None,
) -> UInt8[np.ndarray, "N I"]:
    """Predictions by this process alone, in float32 and without dropout: equivariance holds only up to rounding.

    In ARC-AGI all cells outside the decoded grid are padding.
    """
    alone, model = replace(predictor, dtype=torch.float32, processes=ALONE), predictor.loaded.model
    is_training = model.training  # True with `fidelity.dropout_at_evaluation`
    model.eval()
    batches = alone.batches(questions, (step,), "permuted symbols", task_vectors_of)
    tokens = np.concatenate([part.predictions for part in batches])
    model.train(is_training)
    if isinstance(TASKS[predictor.loaded.settings.task], GridTask):
        return tokens
    rows, columns = decoded_sizes(tokens, questions.side).T[..., None]
    row, column = np.divmod(np.arange(questions.side**2), questions.side)
    return np.where((row < rows) & (column < columns), tokens, PADDING).astype(np.uint8)
