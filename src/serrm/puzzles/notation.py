"""Signs of a written grid: which token each symbol of a puzzle stands for, and the answer in the same signs.

`GridText` has the one notation that the project writes; a task may read others (`serrm.puzzles.sudoku.notation`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import UInt8

Tokens = UInt8[np.ndarray, "_"]


@dataclass(frozen=True)
class Notation:
    """The tokens of symbols, and the sign of each token.

    `signs` are those of the tokens 1, 2, …; `joiner` stands between them. `base` is what the puzzle counts from: the
    digits of a Sudoku are 1…n, or with base 0 they are 0…n−1, as in hexadecimal grids.
    """

    values: Mapping[str, int]
    signs: Sequence[str]
    joiner: str = ""
    base: int = 1

    def read(self, symbols: Sequence[str]) -> Tokens:
        """The tokens of symbols. ValueError naming the first that is unknown, and where it stands."""
        try:
            return np.array([self.values[symbol] for symbol in symbols], dtype=np.uint8)
        except KeyError as error:
            (symbol,), known = error.args, self.joiner.join(self.signs)
            number = [*symbols].index(symbol) + 1
            raise ValueError(f"{symbol!r} at position {number} is not one of {known!r}") from None

    def format(self, tokens: Tokens) -> str:
        """A grid in these signs. ValueError for a token that has none."""
        numbers = tokens.tolist()
        if wrong := [token for token in numbers if not 1 <= token <= len(self.signs)]:
            raise ValueError(f"no character for the token {wrong[0]}")
        return self.joiner.join(self.signs[token - 1] for token in numbers)
