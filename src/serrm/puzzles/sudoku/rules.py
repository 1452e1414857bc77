"""The rules of Sudoku: units, which grids are consistent and which are solutions.

A grid is a flat uint8 array of I = n² tokens in row-major order: 1 for a blank and d + 1 for the digit d; 0 is padding
and never occurs in a puzzle.
"""

import math
from functools import lru_cache
from typing import Final

import numpy as np
from jaxtyping import Bool, Int

from serrm.puzzles.boxes import box_for_side
from serrm.puzzles.raw import Grids

BLANK: Final = 1


@lru_cache
def unit_indices(side: int) -> Int[np.ndarray, "U n"]:
    """List the cells of the U = 3n units: rows, then columns, then boxes, each ascending. Read-only."""
    box, cells = box_for_side(side), np.arange(side**2).reshape(side, side)
    # axes: band, row in band, stack, column in stack
    boxes = cells.reshape(box.cols, box.rows, box.rows, box.cols).transpose(0, 2, 1, 3)
    units = np.concatenate([cells, cells.T, boxes.reshape(side, side)])
    units.flags.writeable = False
    return units


def are_consistent(grids: Grids) -> Bool[np.ndarray, " N"]:
    """Return True for grids of blanks and digits with no digit twice in a unit."""
    side = math.isqrt(grids.shape[1])
    tokens = np.sort(grids[:, unit_indices(side)], axis=-1)
    is_repeated = (tokens[..., 1:] == tokens[..., :-1]) & (tokens[..., 1:] > BLANK)
    is_known = (grids >= BLANK) & (grids <= side + 1)
    return np.asarray(~is_repeated.any(axis=(1, 2)) & is_known.all(axis=-1))


def are_solutions(grids: Grids) -> Bool[np.ndarray, " N"]:
    """Return True where every unit holds every digit once."""
    return np.asarray(are_consistent(grids) & np.all(grids > BLANK, axis=-1))


def are_answers(questions: Grids, answers: Grids) -> Bool[np.ndarray, " N"]:
    """Return True for answers that are solutions and keep the digits of their questions."""
    keeps_digits = np.all((questions == BLANK) | (questions == answers), axis=1)
    return np.asarray(keeps_digits & are_solutions(answers))
