"""The rules of Sudoku: units, which grids are consistent and which are solutions.

A grid is a flat uint8 array of I = n² values in row-major order, 0 for a blank and 1…n for the digits; as tokens they
are larger by 1.
"""

import math
from functools import lru_cache
from typing import Final

import numpy as np
from jaxtyping import Bool, Int, UInt8

from serrm.puzzles.boxes import box_for_side

BLANK: Final = 1  # the token of a blank cell; token 0 is padding, v + 1 the digit v


@lru_cache
def unit_indices(side: int) -> Int[np.ndarray, "U n"]:
    """Cells of the U = 3n units: rows, then columns, then boxes, each ascending. Read-only."""
    box, cells = box_for_side(side), np.arange(side**2).reshape(side, side)
    # axes: band, row in band, stack, column in stack
    boxes = cells.reshape(box.cols, box.rows, box.rows, box.cols).transpose(0, 2, 1, 3)
    units = np.concatenate([cells, cells.T, boxes.reshape(side, side)])
    units.flags.writeable = False
    return units


def are_consistent(grids: UInt8[np.ndarray, "N I"]) -> Bool[np.ndarray, " N"]:
    """True for grids with no digit twice in a unit. Values above n are no digits and make a grid inconsistent."""
    side = math.isqrt(grids.shape[1])
    values = np.sort(grids[:, unit_indices(side)], axis=-1)
    is_repeated = (values[..., 1:] == values[..., :-1]) & (values[..., 1:] > 0)
    return np.asarray(~is_repeated.any(axis=(1, 2)) & np.all(grids <= side, axis=-1))


def are_solutions(grids: UInt8[np.ndarray, "N I"]) -> Bool[np.ndarray, " N"]:
    """True where every unit holds every digit once."""
    return np.asarray(are_consistent(grids) & np.all(grids > 0, axis=-1))


def are_answers(
    questions: UInt8[np.ndarray, "N I"], answers: UInt8[np.ndarray, "N I"]
) -> Bool[np.ndarray, " N"]:
    """True for answers that are solutions and keep the digits of their questions."""
    keeps_digits = np.all((questions == 0) | (questions == answers), axis=1)
    return np.asarray(keeps_digits & are_solutions(answers))


def solves(
    questions: UInt8[np.ndarray, "N I"], predictions: UInt8[np.ndarray, "N I"]
) -> Bool[np.ndarray, " N"]:
    """The same of tokens. Padding, token 0, wraps round to 255, which is no digit."""
    return are_answers(questions - np.uint8(BLANK), predictions - np.uint8(BLANK))


def allows(questions: UInt8[np.ndarray, "N I"]) -> Bool[np.ndarray, " N"]:
    """True where the digits of questions, as tokens, break no rule."""
    return are_consistent(questions - np.uint8(BLANK))
