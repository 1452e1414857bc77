"""Kaggle's submission.json of an ARC Prize: two attempts at every test input of every puzzle.

Format: https://www.kaggle.com/competitions/arc-prize-2025/overview/evaluation.
"""

from collections.abc import Sequence

import numpy as np

from serrm.puzzles.arc import Grid
from serrm.scoring.arc import ArcTally

# Stands for a missing or empty prediction: a grid without cells is no attempt. It is no answer of any published puzzle.
PLACEHOLDER = np.zeros((2, 2), dtype=np.uint8)

Submission = dict[str, list[dict[str, list[list[int]]]]]


def submission(tally: ArcTally) -> Submission:
    """The two best grids for every test input, in the order of the test inputs; placeholders where there are none."""
    return {
        puzzle: [_attempts(tally.ranking(puzzle, test)) for test in range(len(answers))]
        for puzzle, answers in tally.answers.items()
    }


def _attempts(ranking: Sequence[Grid]) -> dict[str, list[list[int]]]:
    grids = [grid if grid.size else PLACEHOLDER for grid in ranking]
    first, second, *_ = (*grids, PLACEHOLDER, PLACEHOLDER)
    return {"attempt_1": first.tolist(), "attempt_2": second.tolist()}
