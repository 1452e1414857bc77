"""Signs of a written grid: which cell each symbol of a puzzle stands for, and the answer in the same signs.

`GridText` has the one notation that the project writes; a task may read others (`serrm.puzzles.sudoku.notation`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import UInt8

Cells = UInt8[np.ndarray, "_"]


@dataclass(frozen=True)
class Notation:
    """The cells of symbols, and the sign of each cell.

    `signs` are those of the cells `first`, `first` + 1, …; `joiner` stands between them. `base` is what the puzzle
    counts from: the digits of a Sudoku are 1…n, or with base 0 they are 0…n−1, as in hexadecimal grids.
    """

    values: Mapping[str, int]
    signs: Sequence[str]
    first: int = 0
    joiner: str = ""
    base: int = 1

    def read(self, symbols: Sequence[str]) -> Cells:
        """The cells of symbols. ValueError naming the first that is unknown, and where it stands."""
        try:
            return np.array([self.values[symbol] for symbol in symbols], dtype=np.uint8)
        except KeyError as error:
            (symbol,), known = error.args, self.joiner.join(self.signs)
            number = [*symbols].index(symbol) + 1
            raise ValueError(f"{symbol!r} at position {number} is not one of {known!r}") from None

    def parse(self, text: str) -> Cells:
        """The cells of a text that `format` wrote."""
        return self.read(text.split(self.joiner) if self.joiner else list(text))

    def format(self, cells: Cells) -> str:
        """A grid in these signs. ValueError for a cell that has none."""
        places = (cells - np.uint8(self.first)).tolist()
        if wrong := [place for place in places if place >= len(self.signs)]:
            raise ValueError(f"no character for the cell {wrong[0] + self.first}")
        return self.joiner.join(self.signs[place] for place in places)
