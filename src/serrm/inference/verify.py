"""Rules that tell a right answer without knowing it: what lets a puzzle stop early, restarts stop, and `solve` vouch.

A rule looks at tokens, question beside prediction, a batch at once; that of mazes is `are_valid_paths`. ARC has none:
there a prediction that stays the same for some steps has to do. (The paper runs a fixed number of supervision steps;
this is an extension.)
"""

import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, UInt8

from serrm.puzzles.sudoku.grid import are_solutions, box_for_side
from serrm.scoring.metrics import BLANK

Tokens = UInt8[np.ndarray, "B I"]
Verify = Callable[[Tokens, Tokens], Bool[np.ndarray, " B"]]
PATIENCE = 4  # steps for which a prediction has to stay the same where there is no rule


def solves_sudoku(questions: Tokens, predictions: Tokens) -> Bool[np.ndarray, " B"]:
    """Whether every unit holds every digit once and the given cells are kept; boxes as `box_for_side` says."""
    box = box_for_side(math.isqrt(questions.shape[1]))
    keeps_givens = np.all((questions == BLANK) | (questions == predictions), axis=1)
    # Padding, token 0, wraps round to 255, which is no digit.
    return np.asarray(keeps_givens & are_solutions(predictions - np.uint8(1), box))
