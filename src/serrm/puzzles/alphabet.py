"""Alphabets: how many token ids a task has and which of them are special.

First link of the flow: everything that turns puzzles into arrays, and every model that sizes its symbol
axis K, asks here. Token 0 is padding in every task; see the paper's section on symbol-equivariant embeddings
for the difference between special and usual symbols.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Alphabet:
    """The token ids 0…K-1 of one task.

    `num_symbols` is K, padding included; `special` are the ids that no symbol permutation may move.
    """

    num_symbols: int
    special: tuple[int, ...] = (0, 1)

    @property
    def usual(self) -> tuple[int, ...]:
        """The ids that symbol permutations act on, ascending."""
        return tuple(token for token in range(self.num_symbols) if token not in self.special)


def sudoku_alphabet(n: int) -> Alphabet:
    """The alphabet of n×n Sudoku: 0 padding, 1 blank, 2…n+1 the digits 1…n."""
    return Alphabet(n + 2)


MAZE = Alphabet(6)
"""0 padding, 1 wall, 2 space, 3 start, 4 goal, 5 path."""

ARC = Alphabet(12)
"""0 padding, 1 end of grid, 2…11 the colours 0…9."""

ALPHABETS: dict[str, Callable[[int], Alphabet]] = {
    "sudoku": sudoku_alphabet,
    "maze": lambda side: MAZE,
    "arc_agi_1": lambda side: ARC,
    "arc_agi_2": lambda side: ARC,
}
"""By task: from the side of a grid to its alphabet. A task of one's own is one entry more."""


def alphabet(task: str, side: int) -> Alphabet:
    """The alphabet of a task on grids of a side."""
    return ALPHABETS[task](side)
