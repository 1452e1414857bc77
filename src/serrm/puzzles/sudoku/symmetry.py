"""The symmetries of Sudoku: relabelling digits and moving cells so that solutions stay solutions.

The paper's augmentations (section on Sudoku data): digit permutation, permutation of bands, of rows within a
band, of stacks, of columns within a stack, and transposition where boxes are square. A symmetry is a row of P = 3n+1
parameters: n row and n column sources, a transposition flag, n new digits. Output cell (i, j) takes input cell
(rows[i], columns[j]), of the transposed input where the flag is set.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int, UInt8

from serrm.puzzles.sudoku.grid import Box, box_for_side
from serrm.randomness import Purpose, keyed_rng


class Symmetry(NamedTuple):
    """Output cell i takes the value of input cell cells[i], and value v becomes digits[v]; digits[0] = 0."""

    cells: Int[np.ndarray, " I"]
    digits: UInt8[np.ndarray, " V"]


def random_symmetry(box: Box, rng: np.random.Generator) -> Symmetry:
    """A symmetry drawn uniformly from the group of the box shape, as maps of cells and digits."""
    parameters = draw_symmetries(box, 1, rng)
    return Symmetry(_source_cells(parameters, box)[0], _new_digits(parameters, box)[0])


def draw_symmetries(box: Box, num: int, rng: np.random.Generator) -> UInt8[np.ndarray, "num P"]:
    """The parameters of `num` independent uniform symmetries."""
    return symmetries_from_uniforms(rng.random((num, num_uniforms(box))), box)


def num_uniforms(box: Box) -> int:
    """How many uniform numbers decide one symmetry: one a digit, row, column, band, stack, and the flag."""
    return 3 * box.side + box.cols + box.rows + 1


def symmetries_from_uniforms(uniforms: Float64[np.ndarray, "N Q"], box: Box) -> UInt8[np.ndarray, "N P"]:
    """The symmetries that N rows of Q = `num_uniforms(box)` numbers in [0, 1) decide, for keyed randomness.

    Every permutation is the sort order of its share of the numbers, so row r depends on row r alone.
    """
    n = box.side
    cuts = np.cumsum([n, n, n, box.cols, box.rows])
    digits, rows, cols, bands, stacks, flag = np.split(uniforms, cuts, axis=1)
    transposed = (flag < 0.5) & (box.rows == box.cols)
    parts = [_line_order(rows, bands), _line_order(cols, stacks), transposed, np.argsort(digits, axis=1) + 1]
    return np.concatenate(parts, axis=1).astype(np.uint8)


def draw_symmetry(seed: int, puzzle: int, augmentation: int, side: int) -> UInt8[np.ndarray, " P"]:
    """The parameters of an augmentation of a puzzle, a pure function of its address; 0 is the puzzle itself."""
    if augmentation == 0:
        lines = np.arange(side, dtype=np.uint8)
        return np.concatenate([lines, lines, [0], lines + 1]).astype(np.uint8)
    box = box_for_side(side)
    uniforms = keyed_rng(seed, Purpose.AUGMENTATION, puzzle, augmentation).random((1, num_uniforms(box)))
    row: UInt8[np.ndarray, " P"] = symmetries_from_uniforms(uniforms, box)[0]
    return row


def apply_symmetries(
    tokens: UInt8[np.ndarray, "N I"], rows: UInt8[np.ndarray, "N P"], side: int
) -> UInt8[np.ndarray, "N I"]:
    """Tokens of Sudokus with their digits relabelled and their cells moved, each by its row of parameters."""
    return apply_parameters(tokens - 1, rows, box_for_side(side)) + 1


def apply_parameters(
    grids: UInt8[np.ndarray, "N I"], parameters: UInt8[np.ndarray, "N P"], box: Box
) -> UInt8[np.ndarray, "N I"]:
    """Transform grid k by symmetry k, all at once."""
    moved = np.take_along_axis(grids, _source_cells(parameters, box), axis=1)
    return np.take_along_axis(_new_digits(parameters, box), moved.astype(np.intp), axis=1)


def _new_digits(parameters: UInt8[np.ndarray, "N P"], box: Box) -> UInt8[np.ndarray, "N V"]:
    """What becomes of the values 0…n; a blank stays one."""
    return np.pad(parameters[:, 2 * box.side + 1 :], ((0, 0), (1, 0)))


def _source_cells(parameters: UInt8[np.ndarray, "N P"], box: Box) -> Int[np.ndarray, "N I"]:
    """For every output cell the input cell it takes its value from."""
    n = box.side
    rows = parameters[:, :n, None].astype(np.intp)
    cols = parameters[:, None, n : 2 * n].astype(np.intp)
    is_transposed = parameters[:, 2 * n, None, None] != 0
    sources = np.where(is_transposed, cols * n + rows, rows * n + cols)
    return sources.reshape(len(parameters), n * n)


def _line_order(
    line_keys: Float64[np.ndarray, "N n"], group_keys: Float64[np.ndarray, "N G"]
) -> Int[np.ndarray, "N n"]:
    """Orders of the n lines that keep the G groups (bands or stacks) together."""
    num, num_groups = group_keys.shape
    within = np.argsort(line_keys.reshape(num, num_groups, -1), axis=2)
    size = within.shape[2]
    starts = size * np.argsort(group_keys, axis=1)
    order: Int[np.ndarray, "N n"] = (starts[:, :, None] + within).reshape(num, num_groups * size)
    return order
