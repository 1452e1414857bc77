"""Copies of Sudokus under their symmetries (`symmetries`), which the training's augmentations might produce.

The canonical form is the least of all forms of a puzzle in the order of rows, with blanks first and digits numbered as
they appear. Two puzzles are symmetric copies exactly if their forms are equal. As a form takes some hundredths of a
second, `find_copies` computes it only for puzzles that share an invariant: a hash of cells by the clues in their rows,
columns, boxes and digits, refined a few times, which no symmetry changes. The paper has no such audit.
"""

import math
from collections import defaultdict
from functools import lru_cache
from itertools import permutations, product
from typing import Any, Final

import numpy as np
from jaxtyping import Int, UInt8, UInt64

from serrm.puzzles.boxes import box_for_side
from serrm.puzzles.raw import Grids, Tokens
from serrm.puzzles.sudoku.grade import cells_of
from serrm.puzzles.sudoku.rules import BLANK

NUM_ROUNDS: Final = 4
"""Refinements of the invariant."""
NUM_AT_ONCE: Final = 4096
"""Puzzles of which invariants are computed at once, to bound memory."""
MAX_SIDE: Final = 9
"""Largest side for canonical forms: 9×9 has 1,296 orders of columns, 16×16 has 8 million."""
Hashes = UInt64[np.ndarray, "N _"]


def audit(train: Grids, test: UInt8[np.ndarray, "M I"], side: int) -> dict[str, Any]:
    """Count and list the test puzzles that are symmetric copies of training puzzles, each with its row there."""
    copies = find_copies(train, test)
    return {
        "num_test": len(test),
        "num_symmetric_copies": len(copies),
        "symmetric_copies": [{"test": number, "train": row} for number, row in copies],
    }


def find_copies(train: Grids, test: UInt8[np.ndarray, "M I"]) -> list[tuple[int, int]]:
    """Find every test puzzle that is a symmetric copy of a training puzzle, with the first such puzzle."""
    rows = defaultdict[int, list[int]](list)
    for row, key in enumerate(invariants(train).tolist()):
        rows[key].append(row)
    copies = []
    for number, key in enumerate(invariants(test).tolist()):
        form = canonical_form(test[number]) if key in rows else b""
        for row in rows.get(key, []):
            if canonical_form(train[row]) == form:
                copies.append((number, row))
                break
    return copies


def invariants(questions: Grids) -> UInt64[np.ndarray, " N"]:
    """Compute a hash of every puzzle that is the same for all its symmetric copies, and rarely for other puzzles."""
    starts = range(0, len(questions), NUM_AT_ONCE)
    return np.concatenate([_invariants(questions[start : start + NUM_AT_ONCE]) for start in starts])


def _invariants(questions: Grids) -> UInt64[np.ndarray, " N"]:
    side = math.isqrt(questions.shape[1])
    units, num = cells_of(side), len(questions)
    digits = questions.astype(np.intp) - BLANK  # 0 for a blank
    cells = (digits > 0).astype(np.uint64)
    for _ in range(NUM_ROUNDS):
        by_digit = np.zeros((num, side + 1), dtype=np.uint64)
        np.add.at(by_digit, (np.arange(num)[:, None], digits), cells)
        digit_hashes = np.take_along_axis(_mixed(by_digit), digits, axis=1)
        unit_hashes = _mixed(cells[:, units.units].sum(axis=2, dtype=np.uint64))
        rows, columns, boxes = (unit_hashes[:, units.of_cell[:, kind]] for kind in range(3))
        # Rows and columns count alike, because a transposition may be a symmetry.
        lines = _mixed(rows) + _mixed(columns)
        cells = _mixed(_mixed(cells) + lines + np.uint64(5) * boxes + np.uint64(7) * digit_hashes)
    return np.asarray(cells.sum(axis=1, dtype=np.uint64))


def _mixed(values: Hashes) -> Hashes:
    """Scramble the bits of every value (the finaliser of SplitMix64)."""
    mixed = values + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def canonical_form(question: Tokens) -> bytes:
    """Compute the least form of a Sudoku, a byte per cell; ValueError for grids larger than 9×9.

    Rows are chosen one after the other; of all choices so far, those stay that give the least rows.
    """
    side = math.isqrt(len(question))
    if side > MAX_SIDE:
        raise ValueError(f"canonical forms are of grids up to {MAX_SIDE}×{MAX_SIDE}, not {side}×{side}")
    box, orders = box_for_side(side), column_orders(side)
    grid = question.reshape(side, side).astype(np.intp) - BLANK
    grids = np.stack([grid, grid.T] if box.rows == box.cols else [grid])
    # Choices: transposed or not, the order of columns, the rows so far, and the new digits by the old ones (0: none).
    kinds, columns = (
        part.reshape(-1) for part in np.meshgrid(range(len(grids)), range(len(orders)), indexing="ij")
    )
    rows = np.zeros((len(kinds), 0), dtype=np.intp)
    labels = np.zeros((len(kinds), side + 1), dtype=np.intp)
    form = b""
    for _ in range(side):
        kinds, columns, labels, rows = _with_next_row(kinds, columns, labels, rows, box.rows, side)
        old = grids[kinds[:, None], rows[:, -1:], orders[columns]]
        new = np.take_along_axis(labels, old, axis=1)
        is_fresh = (old > 0) & (new == 0)
        new = np.where(is_fresh, labels.max(axis=1, keepdims=True) + is_fresh.cumsum(axis=1), new)
        keys = new @ (side + 1) ** np.arange(side)[::-1]
        is_least = keys == keys.min()
        kinds, columns, rows, old, new = (part[is_least] for part in (kinds, columns, rows, old, new))
        labels = labels[is_least]
        np.put_along_axis(labels, old, new, axis=1)
        labels[:, 0] = 0
        form += new[0].astype(np.uint8).tobytes()
    return form


def _with_next_row(
    kinds: Int[np.ndarray, " S"],
    columns: Int[np.ndarray, " S"],
    labels: Int[np.ndarray, "S _"],
    rows: Int[np.ndarray, "S _"],
    band: int,
    side: int,
) -> tuple[Int[np.ndarray, " T"], Int[np.ndarray, " T"], Int[np.ndarray, "T _"], Int[np.ndarray, "T _"]]:
    """Combine every choice with every row that may follow: one of the same band of `band` rows, or of a new band."""
    is_free = np.ones((len(kinds), side), dtype=bool)
    np.put_along_axis(is_free, rows, False, axis=1)
    if rows.shape[1] % band:
        is_free &= rows[:, -1:] // band == np.arange(side) // band
    choices, following = np.nonzero(is_free)
    return (
        kinds[choices],
        columns[choices],
        labels[choices],
        np.concatenate([rows[choices], following[:, None]], axis=1),
    )


@lru_cache
def column_orders(side: int) -> Int[np.ndarray, "_ n"]:
    """List every order of the columns that keeps stacks together."""
    box = box_for_side(side)
    within = list(permutations(range(box.cols)))
    return np.array(
        [
            [
                stack * box.cols + column
                for stack, order in zip(stacks, inner, strict=True)
                for column in order
            ]
            for stacks in permutations(range(box.rows))
            for inner in product(within, repeat=box.rows)
        ]
    )
