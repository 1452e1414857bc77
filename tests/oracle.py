"""A model that knows every Sudoku and says so when it is told to: what is done around a model, without training one."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from serrm.models.recurrence import RecurrentModel, State, StepOutput
from serrm.puzzles.sudoku.data import TEXT as SUDOKU_TEXT
from serrm.puzzles.sudoku.rules import BLANK
from serrm.puzzles.tasks import grid_task
from tests.references import is_solution

STEP = 100.0  # added to the state every step: initial states, within ±3, do not change the count

# (tokens of the question, first number of the initial state) → the step from which the answer is right
Difficulty = Callable[[np.ndarray[Any, Any], float], int]


def make_oracle(model: RecurrentModel, difficulty: Difficulty) -> RecurrentModel:
    """Let a model's steps count, and its logits be a solution from the step on that `difficulty` says.

    Before that, and for puzzles without a solution, it says 1 (token 2) everywhere.
    """

    def forward(state: State, tokens: Tensor, task_vectors: Tensor | None = None) -> StepOutput:
        state = tuple(part + STEP for part in state)
        side = round(tokens.shape[1] ** 0.5)
        logits = torch.zeros(*tokens.shape, side + 2)
        for row, (question, part) in enumerate(zip(tokens.numpy(), state[0], strict=True)):
            first = float(part.flatten()[0])
            step = round(first / STEP)
            is_known = step >= difficulty(question, first - STEP * step)
            answer = solution(question.tobytes(), side) if is_known else None
            said = np.full(side**2, 2) if answer is None else answer
            logits[row, torch.arange(side**2), torch.from_numpy(said)] = 10.0
        return StepOutput(state, logits, None)

    model.forward = forward  # type: ignore[method-assign]
    return model


SOLUTIONS: dict[bytes, Any] = {}


def solution(question: bytes, side: int) -> Any:
    """Tokens of a solution, or None; also None for an empty grid, which is hard and asks for nothing."""
    if question not in SOLUTIONS:
        tokens = np.frombuffer(question, dtype=np.int64).astype(np.uint8)
        found = None if (tokens == BLANK).all() else grid_task("sudoku").solution(tokens)
        SOLUTIONS[question] = None if found is None else found.astype(np.int64)
    return SOLUTIONS[question]


def is_right(question: str, answer: str) -> bool:
    """Whether an answer is a solution of a Sudoku that keeps what was given."""
    clues, found = SUDOKU_TEXT.read(question), SUDOKU_TEXT.read(answer)
    keeps = all(given in (BLANK, said) for given, said in zip(clues, found, strict=True))
    return keeps and is_solution(found)
