"""What scoring and solving ask of a task: one record each, found by the task's name.

A rule tells a right answer without knowing it: it looks at tokens, question beside prediction, a batch at once.
A task whose record has no tally is scored by votes: one answer to a puzzle comes from many variants of it (ARC-AGI).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, UInt8

from serrm.puzzles.maze import are_valid_paths
from serrm.puzzles.sudoku import are_solutions, box_for_side
from serrm.scoring.metrics import BLANK, MazeTally, SudokuTally

# (questions, predictions), as tokens → which predictions are right, by a rule of the task.
Verify = Callable[[UInt8[np.ndarray, "B I"], UInt8[np.ndarray, "B I"]], Bool[np.ndarray, " B"]]


@dataclass(frozen=True)
class TaskEvaluation:
    """How predictions of a task are counted and verified."""

    tally: Callable[[], SudokuTally] | None = None  # counts one answer a puzzle
    verify: Verify | None = None  # tells a right answer without knowing it
    blank: int | None = None  # the token of cells in whose place the tokens above it may be guessed
    is_symmetric: bool = False  # its usual symbols may be exchanged for one another


def solves_sudoku(
    questions: UInt8[np.ndarray, "B I"], predictions: UInt8[np.ndarray, "B I"]
) -> Bool[np.ndarray, " B"]:
    """Whether every unit holds every digit once and the given cells are kept; boxes as `box_for_side` says."""
    box = box_for_side(math.isqrt(questions.shape[1]))
    keeps_givens = np.all((questions == BLANK) | (questions == predictions), axis=1)
    # Padding, token 0, wraps round to 255, which is no digit.
    return np.asarray(keeps_givens & are_solutions(predictions - np.uint8(1), box))


ARC = TaskEvaluation(is_symmetric=True)
TASKS = {
    "sudoku": TaskEvaluation(SudokuTally, solves_sudoku, BLANK, is_symmetric=True),
    "maze": TaskEvaluation(MazeTally, are_valid_paths),
    "arc_agi_1": ARC,
    "arc_agi_2": ARC,
}
