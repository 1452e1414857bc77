"""Further measurements of a checkpoint on puzzles of the size trained on: test-time compute and equivariance.

Test-time compute is an extension; equivariance is the paper's section on symbol-equivariant models.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from serrm.arrays.arc import ArcEvaluation, open_arc_evaluation
from serrm.arrays.stream import Examples, PuzzleArrays, Stream, open_arrays, trained_size
from serrm.core.processes import ALONE
from serrm.core.progress import watch
from serrm.core.randomness import Purpose, keyed_rng
from serrm.inference import predict
from serrm.inference.search import Limits, Search, search
from serrm.inference.settings import HEADLINE_STEPS, ComputeSettings, ScoringSettings
from serrm.puzzles.arc.grids import PADDING, decoded_sizes
from serrm.puzzles.task import GridTask
from serrm.puzzles.tasks import TASKS, alphabet
from serrm.scoring.schema import Equivariance, PermutedPuzzle
from serrm.scoring.schema import Search as SearchScores
from serrm.scoring.tally import rates


def of_trained_size(loaded: predict.LoadedModel, arrays: Path) -> PuzzleArrays | None:
    """The test puzzles of the size trained on; None if the task's arrays have no such set."""
    name = trained_size(arrays, loaded.config["side"])
    return None if name is None else open_arrays(arrays, name)


def compute_points(
    predictor: predict.Predictor, arrays: Path, run: ScoringSettings
) -> tuple[tuple[SearchScores, ...], tuple[SearchScores, ...]]:
    """The points of test-time compute on the test puzzles of the size trained on.

    None if the settings do not ask for them, or if the task has no rule to verify answers by.
    """
    settings = run.evaluate.test_time_compute
    if settings is None or TASKS[run.kind].verify is None:
        return (), ()
    puzzles = of_trained_size(predictor.loaded, arrays)
    return ((), ()) if puzzles is None else search_points(predictor, puzzles, settings)


def search_points(
    predictor: predict.Predictor, puzzles: PuzzleArrays, settings: ComputeSettings
) -> tuple[tuple[SearchScores, ...], tuple[SearchScores, ...]]:
    """FSR against mean supervision steps per puzzle, on the first puzzles of a set, by two searches.

    Returns a point per limit of steps, each puzzle up to its first verified answer, and a point per limit of attempts,
    of which those after the first have guesses.
    """
    puzzles, first = puzzles.first(settings.num_puzzles), settings.attempt_steps
    limits = () if TASKS[puzzles.task].allows is None else sorted(settings.guesses)
    early_stopping, guesses = list[SearchScores](), list[SearchScores]()
    found = _searched(predictor, puzzles, Limits(max(settings.max_steps)))
    for most in sorted(settings.max_steps):
        num_right = sum(is_right and steps <= most for steps, _, is_right in found)
        early_stopping.append(_point(found, Limits(most), num_right))
    if limits:
        found = _searched(predictor, puzzles, Limits(first, max(limits) - 1))
    for num in limits:
        num_right = sum(is_right and attempts <= num for _, attempts, is_right in found)
        guesses.append(_point(found, Limits(first, num - 1), num_right))
    return tuple(early_stopping), tuple(guesses)


def _searched(
    predictor: predict.Predictor, puzzles: PuzzleArrays, limits: Limits
) -> list[tuple[int, int, bool]]:
    """Each puzzle's steps, attempts, and whether its answer is verified and right; processes take turns."""
    model, processes = predictor.loaded.model, predictor.processes
    task, num_symbols = TASKS[puzzles.task], puzzles.num_symbols
    own = [Search(n, puzzles.questions[n]) for n in range(processes.rank, len(puzzles), processes.num)]
    asked = watch(own, "test-time compute", unit="puzzle", is_quiet=not processes.is_first)
    rows, found = predictor.rows(puzzles.side, num_symbols), list[tuple[int, int, bool]]()
    loss = predictor.loaded.settings.train.loss
    for each in search(model, asked, num_symbols, task, limits, rows, loss, predictor.dtype):
        assert each.answer is not None
        parts = each.question[None], each.answer[None], puzzles.answers[each.key][None]
        found.append((each.steps, each.attempts, each.is_verified and bool(task.are_right(*parts)[0])))
    return [each for part in processes.collect(found) for each in part]


def _point(found: Sequence[tuple[int, int, bool]], limits: Limits, num_right: int) -> SearchScores:
    mean = sum(min(steps, limits.budget) for steps, _, _ in found) / len(found)
    scores = rates({"fsr": (num_right, len(found))})
    return SearchScores(
        num=limits.guesses + 1,
        max_steps=limits.max_steps,
        num_puzzles=len(found),
        mean_steps=mean,
        **scores,
    )


def symmetric_questions(loaded: predict.LoadedModel, arrays: Path) -> PuzzleArrays | ArcEvaluation | None:
    """A set of puzzles whose symbols may be permuted, or ARC's test inputs; None if there is none."""
    task = TASKS[loaded.settings.kind]
    if not task.permuted:
        return None
    if isinstance(task, GridTask):
        return of_trained_size(loaded, arrays)
    return open_arc_evaluation(arrays, num_variants=1)


def equivariance(
    predictor: predict.Predictor, asked: PuzzleArrays | ArcEvaluation, num: int, seed: int
) -> Equivariance:
    """Number of predictions for puzzles with permuted symbols that equal the permuted predictions, and an example.

    The example is the first pair that differs, or the first pair if none differs.

    In ARC-AGI only the colours of the decoded grid are compared, and task types that hold colours are permuted too.
    """
    model, usual = predictor.loaded.model, alphabet(predictor.loaded.settings.kind, asked.side).usual
    permutation = np.arange(asked.num_symbols, dtype=np.uint8)
    permutation[list(usual)] = keyed_rng(seed, Purpose.PERMUTATION).permutation(usual)

    def permuted(start: int, num: int) -> Examples:
        return (batch := asked.gather(start, num))._replace(questions=permutation[batch.questions])

    def vectors(_: int, batch: Examples) -> Float[Tensor, "B W"] | None:
        rows = model.task_vectors(torch.from_numpy(batch.task_types).to(model.initial.device))
        moved = torch.from_numpy(permutation).long().to(model.initial.device)
        return None if rows is None else model.embedding.permuted(rows, moved)

    num = min(num, asked.num_examples)
    step = max(predictor.loaded.settings.model.evaluation_steps, default=HEADLINE_STEPS)
    plain = _predicted(predictor, Stream(asked.side, asked.num_symbols, num, asked.gather), step)
    after = _predicted(predictor, Stream(asked.side, asked.num_symbols, num, permuted), step, vectors)
    is_identical = (permutation[plain] == after).all(axis=1)
    shown = int(np.argmin(is_identical))
    question = asked.gather(shown, 1).questions[0]
    return Equivariance(
        num_pairs=num,
        num_identical=int(is_identical.sum()),
        precision="float32",
        example=PermutedPuzzle(
            side=asked.side,
            permutation=permutation.tolist(),
            question=question.tolist(),
            prediction=plain[shown].tolist(),
            permuted_question=permutation[question].tolist(),
            permuted_prediction=after[shown].tolist(),
        ),
    )


def _predicted(
    predictor: predict.Predictor, asked: Stream, step: int, vectors: predict.TaskVectors | None = None
) -> UInt8[np.ndarray, "N I"]:
    """Predictions by this process alone, in float32, because equivariance holds only up to rounding.

    In ARC-AGI all cells outside the decoded grid are padding.
    """
    alone = replace(predictor, dtype=torch.float32, processes=ALONE)
    found = alone.batches(asked, (step,), "permuted symbols", vectors)
    tokens = np.concatenate([part.tokens for part in found])
    if isinstance(TASKS[predictor.loaded.settings.kind], GridTask):
        return tokens
    rows, columns = decoded_sizes(tokens, asked.side).T[..., None]
    row, column = np.divmod(np.arange(asked.side**2), asked.side)
    return np.where((row < rows) & (column < columns), tokens, PADDING).astype(np.uint8)
