"""The symmetries of Sudokus, which are the paper's augmentations (section "Sudoku", data).

They are digit permutation, permutation of bands, of rows within a band, of stacks, of columns within a stack, and
transposition if boxes are square. A symmetry is a row of P = 3n+1 parameters: n row and n column sources, a
transposition flag, n new digits. Output cell (i, j) takes input cell (rows[i], columns[j]), of the transposed input if
the flag is set.
"""

import numpy as np
from jaxtyping import Float64, Int, UInt8

from serrm.core.randomness import Purpose, keyed_rng
from serrm.puzzles.boxes import box_for_side
from serrm.puzzles.raw import Grids


def draw_symmetries(side: int, num: int, rng: np.random.Generator) -> UInt8[np.ndarray, "num P"]:
    """Draw the parameters of `num` independent uniform symmetries.

    Permutations are sort orders of uniform numbers: one number per digit, row, column, band and stack, and one for the
    flag.
    """
    box = box_for_side(side)
    cuts = np.cumsum([side, side, side, box.cols, box.rows])
    digits, rows, cols, bands, stacks, flag = np.split(rng.random((num, cuts[-1] + 1)), cuts, axis=1)
    transposed = (flag < 0.5) & (box.rows == box.cols)
    parts = [_line_order(rows, bands), _line_order(cols, stacks), transposed, np.argsort(digits, axis=1) + 1]
    return np.concatenate(parts, axis=1).astype(np.uint8)


def _line_order(
    line_keys: Float64[np.ndarray, "N n"], group_keys: Float64[np.ndarray, "N G"]
) -> Int[np.ndarray, "N n"]:
    """Return the orders of the n lines that keep the G groups (bands or stacks) together."""
    num, num_groups = group_keys.shape
    within = np.argsort(line_keys.reshape(num, num_groups, -1), axis=2)
    starts = within.shape[2] * np.argsort(group_keys, axis=1)
    return np.asarray((starts[:, :, None] + within).reshape(line_keys.shape))


def draw_symmetry(seed: int, puzzle: int, augmentation: int, side: int) -> UInt8[np.ndarray, " P"]:
    """Draw the parameters of an augmentation of a puzzle, a pure function of the arguments; 0 is the puzzle itself."""
    if augmentation == 0:
        lines = np.arange(side, dtype=np.uint8)
        return np.concatenate([lines, lines, [0], lines + 1]).astype(np.uint8)
    rng = keyed_rng(seed, Purpose.AUGMENTATION, puzzle, augmentation)
    return np.asarray(draw_symmetries(side, 1, rng)[0])


def apply_symmetries(tokens: Grids, parameters: UInt8[np.ndarray, "N P"], side: int) -> Grids:
    """Relabel the digits and move the cells of N Sudokus, each by its row of parameters."""
    rows, cols, is_transposed, digits = np.split(
        parameters.astype(np.intp), [side, 2 * side, 2 * side + 1], axis=1
    )
    rows, cols = rows[:, :, None], cols[:, None, :]
    # The input cell of every output cell.
    sources = np.where(is_transposed[:, :, None] != 0, cols * side + rows, rows * side + cols)
    moved = np.take_along_axis(tokens, sources.reshape(tokens.shape), axis=1)
    kept = np.tile([0, 1], (len(digits), 1))  # padding and blanks stay
    new_tokens = np.concatenate([kept, digits + 1], axis=1).astype(np.uint8)
    return np.take_along_axis(new_tokens, moved.astype(np.intp), axis=1)
