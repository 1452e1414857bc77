"""What an ARC-AGI puzzle is: demonstration and test pairs of coloured grids.

Everything else about ARC builds on this: `read` makes puzzles of published files, `canvas` turns grids into
tokens, `colours` and `serrm.puzzles.dihedral` are their symmetries. Paper: section "ARC-AGI", data.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import numpy as np
from jaxtyping import UInt8

NUM_COLOURS: Final = 10
MAX_SIDE: Final = 30
"""Cells of the longest row or column of any published grid."""

# R × C colours 0…9, at least one cell. The axes have no names, for those of one check are shared: a
# question and its answer, both arguments of one function, need not be of one size.
Grid = UInt8[np.ndarray, "_ _"]

Collection = Literal["training", "evaluation", "concept", "held_out"]
COLLECTIONS: tuple[Collection, ...] = ("training", "evaluation", "concept")
"""Where puzzles are published; those held out are training puzzles that are scored in place of evaluation ones."""
SCORED: tuple[Collection, ...] = ("evaluation", "held_out")
"""The collections whose test pairs are scored; a set has puzzles of one of them."""
Audit = Literal["drop", "report"]  # what becomes of trained pairs that are images of scored ones


@dataclass(frozen=True, eq=False)
class Pair:
    """A grid and what the puzzle's rule makes of it."""

    question: Grid
    answer: Grid


@dataclass(frozen=True, eq=False)
class ArcPuzzle:
    """One puzzle: the rule shows in the demonstrations and is to be applied to the tests' questions.

    `collection` is where it was published: the training or evaluation set of an ARC-AGI, or ConceptARC; a training
    puzzle may be `held_out` instead.
    """

    name: str
    collection: Collection
    demonstrations: tuple[Pair, ...]
    tests: tuple[Pair, ...]


class PairName(NamedTuple):
    """Which pair of which puzzle; `number` counts from 0 within the role."""

    puzzle: str
    collection: Collection
    role: str  # demonstration or test
    number: int

    @property
    def is_evaluated(self) -> bool:
        """Whether it is a test pair of a puzzle to score: those are never trained on, all others may be."""
        return self.collection in SCORED and self.role == "test"


NamedPairs = dict[PairName, Pair]


def named_pairs(puzzles: Iterable[ArcPuzzle]) -> NamedPairs:
    """All pairs, puzzle by puzzle, demonstrations before tests."""
    return {
        PairName(puzzle.name, puzzle.collection, role, number): pair
        for puzzle in puzzles
        for role, pairs in (("demonstration", puzzle.demonstrations), ("test", puzzle.tests))
        for number, pair in enumerate(pairs)
    }
