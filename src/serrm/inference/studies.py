"""Test-time compute and equivariance, measured beside the paper's scores on puzzles of the size trained on.

For the table of test-time compute and the figures of compute and equivariance. (Paper: figures 1, A1 and A2,
proposition on symbols; test-time compute is an extension.)
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from serrm.arrays.stream import Examples, PuzzleArrays
from serrm.inference.predict import Predictor, Questions, TaskVectors
from serrm.inference.search import Limits, Search, search
from serrm.inference.settings import HEADLINE_STEPS, ComputeSettings
from serrm.processes import ALONE
from serrm.progress import watch
from serrm.puzzles.arc import PADDING, decoded_sizes
from serrm.puzzles.tasks import TASKS, GridTask, alphabet
from serrm.randomness import Purpose, keyed_rng
from serrm.scoring.metrics import rates

Point = dict[str, str | int | float]


def compute_points(
    predictor: Predictor, puzzles: PuzzleArrays, settings: ComputeSettings
) -> dict[str, list[Point]]:
    """FSR against mean supervision steps a puzzle, on the first puzzles of a set, by two searches.

    The keys `early_stopping`, a point a limit of steps, each up to the first verified answer, and `attempts`, a point a
    limit of attempts, all but the first with guesses.
    """
    puzzles, first = puzzles.first(settings.num_puzzles), settings.attempt_steps
    guesses = () if TASKS[puzzles.task].allows is None else sorted(settings.guesses)
    early_stopping, attempts = list[Point](), list[Point]()
    found = _searched(predictor, puzzles, Limits(max(settings.max_steps)))
    for most in sorted(settings.max_steps):
        num_right = sum(is_right and steps <= most for steps, _, is_right in found)
        early_stopping.append({"max_steps": most, **_point(found, most, num_right)})
    if guesses:
        found = _searched(predictor, puzzles, Limits(first, max(guesses) - 1))
    for num in guesses:
        num_right = sum(is_right and attempts <= num for _, attempts, is_right in found)
        facts: Point = {"kind": "guesses", "num": num, "max_steps": first}
        attempts.append({**facts, **_point(found, Limits(first, num - 1).budget, num_right)})
    return {"early_stopping": early_stopping, "attempts": attempts}


def _searched(predictor: Predictor, puzzles: PuzzleArrays, limits: Limits) -> list[tuple[int, int, bool]]:
    """(steps, attempts, its answer is verified and the label) of each puzzle; processes take them in turns."""
    model, processes = predictor.loaded.model, predictor.processes
    task, num_symbols = TASKS[puzzles.task], puzzles.num_symbols
    own = [Search(n, puzzles.questions[n]) for n in range(processes.rank, len(puzzles), processes.num)]
    asked = watch(own, "test-time compute", unit="puzzle", is_quiet=not processes.is_first)
    rows, found = predictor.rows(puzzles.side, num_symbols), list[tuple[int, int, bool]]()
    for each in search(model, asked, num_symbols, task, limits, rows, predictor.dtype):
        is_right = each.is_verified and np.array_equal(each.answer, puzzles.answers[each.key])  # type: ignore[arg-type]
        found.append((each.steps, each.attempts, is_right))
    return [each for part in processes.collect(found) for each in part]


def _point(found: Sequence[tuple[int, int, bool]], most: int, num_right: int) -> Point:
    mean = sum(min(steps, most) for steps, _, _ in found) / len(found)
    return {"mean_steps": mean, **rates({"fsr": (num_right, len(found))})}


def equivariance(predictor: Predictor, of: str, asked: Questions, num: int, seed: int) -> dict[str, Any]:
    """Number of predictions for puzzles with permuted symbols that are the permuted predictions, and the first pair.

    In ARC-AGI only the colours of the decoded grid are compared, and task types that hold colours are permuted too.
    """
    model, usual = predictor.loaded.model, alphabet(predictor.loaded.settings.task, asked.side).usual
    permutation = np.arange(asked.num_symbols, dtype=np.uint8)
    permutation[list(usual)] = keyed_rng(seed, Purpose.PERMUTATION).permutation(usual)

    def permuted(start: int, num: int) -> Examples:
        return (batch := asked.gather(start, num))._replace(questions=permutation[batch.questions])

    def vectors(_: int, batch: Examples) -> Float[Tensor, "B W"] | None:
        rows = model.task_vectors(torch.from_numpy(batch.task_types).to(model.initial.device))
        moved = torch.from_numpy(permutation).long().to(model.initial.device)
        return None if rows is None else model.embedding.permuted(rows, moved)

    num = min(num, asked.num)
    plain = _predicted(predictor, asked._replace(num=num))
    after = _predicted(predictor, asked._replace(num=num, gather=permuted), vectors)
    question = asked.gather(0, 1).questions[0]
    return {
        "num_pairs": num,
        "num_identical": int((permutation[plain] == after).all(axis=1).sum()),
        "example": {
            "set": of,
            "side": asked.side,
            "permutation": permutation.tolist(),
            "question": question.tolist(),
            "prediction": plain[0].tolist(),
            "permuted_question": permutation[question].tolist(),
            "permuted_prediction": after[0].tolist(),
        },
    }


def _predicted(
    predictor: Predictor, asked: Questions, vectors: TaskVectors | None = None
) -> UInt8[np.ndarray, "N I"]:
    """Predictions by this process alone, in float32, as equivariance holds but for rounding.

    In ARC-AGI all cells outside the decoded grid are padding.
    """
    alone = replace(predictor, dtype=torch.float32, processes=ALONE)
    found = alone.batches(asked, (HEADLINE_STEPS,), "permuted symbols", vectors)
    tokens = np.concatenate([part.tokens for part in found])
    if isinstance(TASKS[predictor.loaded.settings.task], GridTask):
        return tokens
    rows, columns = decoded_sizes(tokens, asked.side).T[..., None]
    row, column = np.divmod(np.arange(asked.side**2), asked.side)
    return np.where((row < rows) & (column < columns), tokens, PADDING).astype(np.uint8)
