"""What scoring and solving ask of a task: one record each, found by the task's name; and ways to ask a model again.

A rule tells a right answer without knowing it: it looks at tokens, question beside prediction, a batch at once. (The
paper runs a fixed number of supervision steps; that puzzles stop when they are verified is an extension.)

A task whose record has no tally is scored by votes: one answer to a puzzle comes from many variants of it (ARC-AGI).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, UInt8

from serrm.inference.adaptive import Verify
from serrm.inference.breadth import Symmetries, Way, maze_symmetries, sees_digits, sudoku_symmetries
from serrm.inference.load import LoadedModel
from serrm.models.layers import truncated_normal
from serrm.puzzles.maze.paths import are_valid_paths
from serrm.puzzles.sudoku.grid import are_solutions, box_for_side
from serrm.scoring.metrics import BLANK, MazeTally, SudokuTally


@dataclass(frozen=True)
class TaskEvaluation:
    """How predictions of a task are counted and verified, and which images of a puzzle are as good as itself."""

    tally: Callable[[], SudokuTally] | None = None  # counts one answer a puzzle
    verify: Verify | None = None  # tells a right answer without knowing it
    symmetries: Symmetries | None = None
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
    "sudoku": TaskEvaluation(SudokuTally, solves_sudoku, sudoku_symmetries, BLANK, is_symmetric=True),
    "maze": TaskEvaluation(MazeTally, are_valid_paths, maze_symmetries),
    "arc_agi_1": ARC,
    "arc_agi_2": ARC,
}


def restarts(loaded: LoadedModel, side: int, num: int, seed: int) -> list[Way]:
    """`num` ways that differ in the initial state: the model's own, then others drawn as it was."""
    initial, generator = loaded.model.initial, torch.Generator().manual_seed(seed)
    drawn = (truncated_normal(*initial.shape, std=1.0, generator=generator) for _ in range(num - 1))
    return [Way(), *(Way(initial=vectors.to(initial.device)) for vectors in drawn)]


def symmetric_images(loaded: LoadedModel, side: int, num: int, seed: int) -> list[Way]:
    """The puzzle itself and other symmetric images of it, `num` in all if its task has as many."""
    symmetries = TASKS[loaded.cell.task].symmetries
    assert symmetries is not None, "a task with a rule has them"
    return symmetries(side, num, np.random.default_rng([seed, side]), sees_digits(loaded.cell.model))


# Kinds of breadth, as metric files name them: (model, side, number of ways, seed) → ways, the plain one first.
WAYS: dict[str, Callable[[LoadedModel, int, int, int], list[Way]]] = {
    "restarts": restarts,
    "symmetries": symmetric_images,
}
