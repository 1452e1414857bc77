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
from serrm.inference.predict import Predicted, Predictor, Questions, TaskVectors
from serrm.inference.search import Limits, Search, how_sure, search
from serrm.inference.settings import HEADLINE_STEPS, ComputeSettings
from serrm.processes import ALONE
from serrm.progress import watch
from serrm.puzzles.arc import PADDING, decoded_sizes
from serrm.puzzles.tasks import TASKS, GridTask, alphabet
from serrm.randomness import Purpose, keyed_rng
from serrm.scoring.metrics import rates

Point = dict[str, str | int | float]


class ComputeStudy:
    """FSR against mean supervision steps a puzzle, on the first puzzles of a set, counted while they are scored.

    Two kinds of points: the first verified answer within a number of steps, and guesses after `attempt_steps`.
    """

    def __init__(self, settings: ComputeSettings, puzzles: PuzzleArrays) -> None:
        self.settings, self.puzzles = settings, puzzles.first(settings.num_puzzles)
        self.task, self.num = TASKS[puzzles.task], len(self.puzzles)
        self.guesses = () if self.task.allows is None else settings.guesses
        # By number of the puzzle: the step of the first verified answer, and whether that is the label.
        self.verified: dict[int, tuple[int, bool]] = {}
        self.unsolved: list[Search] = []  # by one attempt

    @property
    def steps(self) -> range:
        """The supervision steps after which its predictions are counted."""
        most = max(self.settings.max_steps)
        return range(1, 1 + (max(most, self.settings.attempt_steps) if self.guesses else most))

    def look_at(self, found: Predicted) -> None:
        """Count one more supervision step of a batch."""
        assert self.task.verify is not None
        questions, answers, _ = found.batch
        for place in np.flatnonzero(self.task.verify(questions, found.tokens)).tolist():
            is_right = np.array_equal(found.tokens[place], answers[place])
            self.verified.setdefault(found.start + place, (found.step, is_right))
        if not self.guesses or found.step != self.settings.attempt_steps:
            return
        places = [place for place in range(len(questions)) if found.start + place not in self.verified]
        _, shares = how_sure(found.logits[places], self.puzzles.num_symbols)
        for place, of_puzzle in zip(places, shares, strict=True):
            puzzle = Search(found.start + place, questions[place], steps=found.step, attempts=1)
            puzzle.branch(of_puzzle, self.task)
            self.unsolved.append(puzzle)

    def points(self, predictor: Predictor) -> dict[str, list[Point]]:
        """The keys `early_stopping`, a point a limit of steps, and `attempts`, a point a limit of attempts."""
        guessed = self._guessed(predictor) if self.guesses else {}
        verified: dict[int, tuple[int, bool]] = {}
        for own in predictor.processes.collect((self.verified, guessed)):
            verified |= own[0]
            guessed |= own[1]
        early_stopping, attempts = list[Point](), list[Point]()
        for most in sorted(self.settings.max_steps):
            taken = [min(step, most) for step, _ in verified.values()]
            taken += [most] * (self.num - len(taken))
            num_right = sum(is_right and step <= most for step, is_right in verified.values())
            early_stopping.append({"max_steps": most, **self._point(taken, num_right)})
        for num in sorted(self.guesses):
            most = Limits(self.settings.attempt_steps, num - 1).budget
            taken = [min(steps, most) for steps, _, _ in guessed.values()]
            num_right = sum(is_right and attempts <= num for _, attempts, is_right in guessed.values())
            facts: Point = {"kind": "guesses", "num": num, "max_steps": self.settings.attempt_steps}
            attempts.append({**facts, **self._point(taken, num_right)})
        return {"early_stopping": early_stopping, "attempts": attempts}

    def _guessed(self, predictor: Predictor) -> dict[int, tuple[int, int, bool]]:
        """By number of the puzzle, with most guesses: steps and attempts, and whether the answer is the label."""
        settings, num_symbols = self.settings, self.puzzles.num_symbols
        found = {
            n: (step, 1, right)
            for n, (step, right) in self.verified.items()
            if step <= settings.attempt_steps
        }
        limits = Limits(settings.attempt_steps, max(self.guesses) - 1)
        rows, is_quiet = predictor.rows(self.puzzles.side, num_symbols), not predictor.processes.is_first
        unsolved = watch(self.unsolved, "guesses", unit="puzzle", is_quiet=is_quiet)
        model = predictor.loaded.model
        for each in search(model, unsolved, num_symbols, self.task, limits, rows, predictor.dtype):
            assert each.answer is not None
            is_right = each.is_verified and np.array_equal(each.answer, self.puzzles.answers[each.key])
            found[each.key] = each.steps, each.attempts, is_right
        return found

    def _point(self, steps: Sequence[int], num_right: int) -> Point:
        return {"mean_steps": sum(steps) / self.num, **rates({"fsr": (num_right, self.num)})}


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
