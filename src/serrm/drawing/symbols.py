"""The tokens of a Sudoku as what stands in its cells, on paper and in a terminal.

(The paper's tokens: 0 padding, 1 blank, v + 1 the digit v.)
"""

from typing import Final

from serrm.puzzles.sudoku.text import SYMBOLS

BLANK: Final = 1


def sudoku_symbol(token: int) -> str:
    """1 to 9, then letters as in files of puzzles, from 36 on numbers; "?" for padding, nothing for a blank."""
    if token <= BLANK:
        return "?" if token == 0 else ""
    value = token - BLANK
    return SYMBOLS[value] if value < len(SYMBOLS) else str(value)
