"""A Sudoku as a question in words, for any size of grid; the replies to it are read by `parse`.

The paper prints neither the prompt it gave to GPT-OSS nor the notation of its grids, only that the model had no
tools (section "Sudoku", results) and that nothing but the rules of the task was provided (table 1, footnote b).
Wording and notation are ours: numbers in base ten with spaces between them, the same for every size, so that the
two-digit symbols of 16×16 and 25×25 need no letters.
"""

import math

import numpy as np
from jaxtyping import UInt8

from serrm.puzzles.sudoku.grid import box_for_side

BLANK = "."

PROMPT = """\
Solve this {n}×{n} Sudoku.

Put a number from 1 to {n} into every empty cell, so that each of the {n} rows, each of the {n} columns and each \
of the {n} boxes ({rows} rows by {cols} columns) holds every number from 1 to {n} exactly once. The given numbers \
stay where they are. There is a solution.

The puzzle, one line a row, cells separated by spaces, a dot for an empty cell:

```
{grid}
```

Use no tools. End your reply with the complete solution in one fenced block: {n} lines of {n} numbers, separated by \
spaces, without dots, labels or lines between the boxes, and with nothing after it.
"""


def sudoku_prompt(question: UInt8[np.ndarray, " I"]) -> str:
    """The prompt for a puzzle of I = n² values, 0 for a blank. ValueError for sizes that no Sudoku has."""
    side = math.isqrt(len(question))
    box = box_for_side(side)
    return PROMPT.format(n=side, rows=box.rows, cols=box.cols, grid=format_rows(question))


def format_rows(grid: UInt8[np.ndarray, " I"]) -> str:
    """A square grid of I values as lines of numbers, a dot for a blank."""
    rows = grid.reshape(math.isqrt(len(grid)), -1).tolist()
    return "\n".join(" ".join(BLANK if value == 0 else str(value) for value in row) for row in rows)
