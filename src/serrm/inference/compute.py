"""Test-time compute of a checkpoint: points of FSR against supervision steps, on puzzles of the size trained on.

Searches (`serrm.inference.search`) give two curves: one attempt up to its first verified answer, and further attempts
with guesses, which depend on the attempts before. Methods (`serrm.inference.methods`) make attempts that do not. (An
extension.)
"""

from collections.abc import Sequence
from operator import or_
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from serrm.arrays.stream import PuzzleArrays
from serrm.core.progress import with_progress
from serrm.inference import predict
from serrm.inference.methods import Ends, attempt_ends
from serrm.inference.search import Limits, Search, search
from serrm.inference.settings import CHOICES, ComputeSettings, MethodSettings, ScoringSettings
from serrm.puzzles.task import GridTask
from serrm.puzzles.tasks import TASKS, grid_task
from serrm.scoring.metrics import RATE
from serrm.scoring.schema import ComputePoint


class ComputeScores(NamedTuple):
    """The points of test-time compute, as `serrm.scoring.schema.Evaluation` has them."""

    first_verified: tuple[ComputePoint, ...] = ()
    attempts: tuple[ComputePoint, ...] = ()
    methods: dict[str, tuple[ComputePoint, ...]] | None = None


def compute_scores(predictor: predict.Predictor, arrays: Path, run: ScoringSettings) -> ComputeScores:
    """Measure test-time compute on the first test puzzles of the size trained on, if the settings ask for it."""
    settings = run.evaluate.test_time_compute
    if settings is None or not isinstance(TASKS[run.task], GridTask):
        return ComputeScores()
    puzzles = predict.puzzles_of_trained_size(predictor.loaded, arrays)
    if puzzles is None:
        return ComputeScores()
    puzzles = puzzles.first(settings.num_puzzles)
    first_verified, attempts = search_points(predictor, puzzles, settings)
    points = {name: method_points(predictor, puzzles, method) for name, method in settings.methods.items()}
    methods = {name: curve for name, curve in points.items() if curve}
    return ComputeScores(first_verified, attempts, methods or None)


def search_points(
    predictor: predict.Predictor, puzzles: PuzzleArrays, settings: ComputeSettings
) -> tuple[tuple[ComputePoint, ...], tuple[ComputePoint, ...]]:
    """Measure two searches; both are empty for a task that has no rule to verify answers by.

    Returns a point per limit of steps, where every puzzle stops at its first verified answer, and a point per limit of
    attempts, where attempts after the first have guesses.
    """
    task, attempts = TASKS[puzzles.task], list[ComputePoint]()
    if task.verify is None:
        return (), ()
    outcomes = _search_all(predictor, puzzles, Limits(max(settings.max_steps)))
    first_verified = [
        _point(1, most, np.minimum(outcomes.steps, most), outcomes.is_right & (outcomes.steps <= most))
        for most in sorted(settings.max_steps)
    ]
    numbers_of_attempts = () if task.allows is None else sorted(settings.attempts)
    if numbers_of_attempts:
        most_attempts = Limits(settings.attempt_steps, max(numbers_of_attempts) - 1)
        outcomes = _search_all(predictor, puzzles, most_attempts)
    for num in numbers_of_attempts:
        steps = np.minimum(outcomes.steps, Limits(settings.attempt_steps, num - 1).budget)
        is_right = outcomes.is_right & (outcomes.attempts <= num)
        attempts.append(_point(num, settings.attempt_steps, steps, is_right))
    return tuple(first_verified), tuple(attempts)


class Outcomes(NamedTuple):
    """The results of the searches of N puzzles; `is_right` if the answer is verified and right."""

    steps: Int[np.ndarray, " N"]
    attempts: Int[np.ndarray, " N"]
    is_right: Bool[np.ndarray, " N"]


def _search_all(predictor: predict.Predictor, puzzles: PuzzleArrays, limits: Limits) -> Outcomes:
    """Search for an answer to every puzzle; processes share the puzzles in turn."""
    loaded, processes, task = predictor.loaded, predictor.processes, TASKS[puzzles.task]
    numbers = range(processes.rank, len(puzzles), processes.num)
    searches = with_progress(
        [Search(number, puzzles.questions[number]) for number in numbers],
        "test-time compute",
        unit="puzzle",
        is_quiet=not processes.is_first,
    )
    batch_size = predict.puzzles_at_once(puzzles.side, predictor.batch_size, puzzles.num_symbols)
    options = puzzles.num_symbols, task, limits, batch_size, loaded.settings.train.loss, predictor.dtype
    outcomes: dict[int, tuple[int, int, bool]] = {}
    for puzzle in search(loaded.model, searches, *options):
        assert puzzle.answer is not None
        grids = puzzle.question[None], puzzle.answer[None], puzzles.answers[puzzle.key][None]
        is_right = puzzle.is_verified and bool(task.are_right(*grids)[0])
        outcomes[puzzle.key] = puzzle.steps, puzzle.attempts, is_right
    outcomes = processes.merge(outcomes, or_)
    return Outcomes(*map(np.array, zip(*outcomes.values(), strict=True)))


def method_points(
    predictor: predict.Predictor, puzzles: PuzzleArrays, settings: MethodSettings
) -> tuple[ComputePoint, ...]:
    """Measure a method, a point per number of attempts.

    Empty if the method needs a rule to verify answers or to halt by, or a trained Q head, and there is none.
    """
    task, choose = grid_task(puzzles.task), CHOICES[settings.answer]
    rule = predictor.loaded.settings.train.halting
    if (settings.halts and not rule.at_inference()) or (settings.answer == "q" and not rule.needs_q_head):
        return ()
    if settings.answer == "verified" and task.verify is None:
        return ()
    points, rows = list[ComputePoint](), np.arange(len(puzzles))
    attempts = [
        attempt_ends(predictor, puzzles, settings, number) for number in range(max(settings.attempts))
    ]
    ends = Ends(*(np.stack(columns, axis=1) for columns in zip(*attempts, strict=True)))
    for num in sorted(settings.attempts):
        choices = [choose(Ends(*(column[row, :num] for column in ends))) for row in rows]
        answers = ends.predictions[rows, [choice.attempt for choice in choices]]
        is_right = task.are_right(np.asarray(puzzles.questions), answers, np.asarray(puzzles.answers))
        points.append(_point(num, settings.steps, [choice.steps for choice in choices], is_right))
    return tuple(points)


def _point(
    num_attempts: int,
    max_steps: int,
    steps: Sequence[int] | Int[np.ndarray, " N"],
    is_right: Bool[np.ndarray, " N"],
) -> ComputePoint:
    return ComputePoint(
        num_attempts=num_attempts,
        max_steps=max_steps,
        num_puzzles=len(is_right),
        mean_steps=float(np.mean(steps)),
        **RATE.scores("fsr", RATE.sums(is_right)),
    )
