"""The rules of Sudoku: units, which grids are consistent and which are solutions.

A grid is a flat uint8 array of I = n² values in row-major order, 0 for a blank and 1…n for the digits; as tokens they
are larger by 1.
"""

import math
from functools import lru_cache
from typing import Final

import numpy as np
from jaxtyping import Bool, Int, UInt8

from serrm.puzzles.boxes import Box, box_for_side

BLANK: Final = 1  # the token of a blank cell; token 0 is padding, v + 1 the digit v


@lru_cache
def unit_indices(box: Box) -> Int[np.ndarray, "U n"]:
    """Cells of the U = 3n units: rows, then columns, then boxes, each ascending. Read-only."""
    n = box.side
    cells = np.arange(box.num_cells).reshape(n, n)
    # axes: band, row in band, stack, column in stack
    boxes = cells.reshape(box.cols, box.rows, box.rows, box.cols).transpose(0, 2, 1, 3)
    units = np.concatenate([cells, cells.T, boxes.reshape(n, n)])
    units.flags.writeable = False
    return units


def are_consistent(grids: UInt8[np.ndarray, "N I"], box: Box) -> Bool[np.ndarray, " N"]:
    """True for grids with no digit twice in a unit. Values above n are no digits and make a grid inconsistent."""
    if grids.shape[1] != box.num_cells:
        raise ValueError(f"a grid with boxes of {box} has {box.num_cells} cells, not {grids.shape[1]}")
    values = np.sort(grids[:, unit_indices(box)], axis=-1)
    is_repeated = (values[..., 1:] == values[..., :-1]) & (values[..., 1:] > 0)
    return np.asarray(~is_repeated.any(axis=(1, 2)) & np.all(grids <= box.side, axis=-1))


def are_solutions(grids: UInt8[np.ndarray, "N I"], box: Box) -> Bool[np.ndarray, " N"]:
    """True where every unit holds every digit once."""
    return np.asarray(are_consistent(grids, box) & np.all(grids > 0, axis=-1))


def are_answers(
    questions: UInt8[np.ndarray, "N I"], answers: UInt8[np.ndarray, "N I"]
) -> Bool[np.ndarray, " N"]:
    """True for answers that are solutions and keep the digits of their questions."""
    keeps_digits = np.all((questions == 0) | (questions == answers), axis=1)
    return np.asarray(keeps_digits & are_solutions(answers, box_for_side(math.isqrt(questions.shape[1]))))


def solves(
    questions: UInt8[np.ndarray, "N I"], predictions: UInt8[np.ndarray, "N I"]
) -> Bool[np.ndarray, " N"]:
    """The same of tokens. Padding, token 0, wraps round to 255, which is no digit."""
    return are_answers(questions - np.uint8(BLANK), predictions - np.uint8(BLANK))


def allows(questions: UInt8[np.ndarray, "N I"]) -> Bool[np.ndarray, " N"]:
    """True where the digits of questions, as tokens, break no rule."""
    box = box_for_side(math.isqrt(questions.shape[1]))
    return are_consistent(questions - np.uint8(BLANK), box)


def is_consistent(grid: UInt8[np.ndarray, " I"], box: Box) -> bool:
    """True for no digit twice in a unit; blanks are allowed."""
    return bool(are_consistent(grid[None], box)[0])


def is_solution(grid: UInt8[np.ndarray, " I"], box: Box) -> bool:
    """True where every unit holds every digit once."""
    return bool(are_solutions(grid[None], box)[0])
