"""The score of guesses that break no rule at once: what a model of Sudoku has to beat.

The null of a claim that a model does better than chance. A digit drawn among all n is right once in n blanks. Whoever
leaves out the digits in the blank's row, column and box is right far more often where there are many clues.
"""

import math

import numpy as np
from jaxtyping import UInt8

from serrm.puzzles.sudoku.rules import BLANK, unit_indices


def legal_guess_accuracy(questions: UInt8[np.ndarray, "N I"]) -> float:
    """The expected grid-point accuracy of one guess per blank, drawn among the digits that its units do not hold yet.

    The mean over all blanks of 1 / (number of such digits), because the right digit is always among them. Blanks are
    filled independently, from the clues alone. ValueError without blanks.
    """
    side = math.isqrt(questions.shape[1])
    units = unit_indices(side)
    # Which digits each unit holds, then, for every cell, which its three units hold.
    is_held = (questions[:, units][..., None] == np.arange(BLANK + 1, side + BLANK + 1)).any(axis=2)
    units_of_cell = np.stack([np.flatnonzero((units == cell).any(axis=1)) for cell in range(side**2)])
    num_legal = side - is_held[:, units_of_cell].any(axis=2).sum(axis=-1)
    is_blank = questions == BLANK
    if not is_blank.any():
        raise ValueError("no blank cell to guess")
    return float((1 / num_legal[is_blank]).mean())
