"""The signs of a written grid: the tokens of its symbols, and the signs in which its answer is written.

`GridText` has the notation that the project writes; a task may read others (`serrm.puzzles.sudoku.notation`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from serrm.puzzles.raw import Tokens


@dataclass(frozen=True)
class Notation:
    """The tokens of symbols, and the signs of tokens.

    `signs` are those of the tokens 1, 2, …; `joiner` separates them. `base` is the first digit: a Sudoku has the digits
    1…n, or with base 0 the digits 0…n−1, as in hexadecimal grids.
    """

    values: Mapping[str, int]
    signs: Sequence[str]
    joiner: str = ""
    base: int = 1

    def read(self, symbols: Sequence[str]) -> Tokens:
        """The tokens of symbols. ValueError with the first unknown symbol and its position."""
        try:
            return np.array([self.values[symbol] for symbol in symbols], dtype=np.uint8)
        except KeyError as error:
            (symbol,), signs = error.args, self.joiner.join(self.signs)
            position = [*symbols].index(symbol) + 1
            raise ValueError(f"{symbol!r} at position {position} is not one of {signs!r}") from None

    def format(self, tokens: Tokens) -> str:
        """A grid in these signs. ValueError for a token without a sign."""
        numbers = tokens.tolist()
        if wrong := [token for token in numbers if not 1 <= token <= len(self.signs)]:
            raise ValueError(f"no character for the token {wrong[0]}")
        return self.joiner.join(self.signs[token - 1] for token in numbers)
