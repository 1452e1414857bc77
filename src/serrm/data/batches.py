"""The stream of training examples: an epoch shuffles the puzzles and takes one random member of each.

Example number n is a pure function of (seed, n), so a sampler's whole state is the number of examples drawn.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Int, UInt8

from serrm.data.arrays import PuzzleArrays, augmentation_rows
from serrm.data.randomness import Purpose, keyed_rng
from serrm.puzzles.sudoku.grid import box_for_side
from serrm.puzzles.sudoku.symmetry import apply_parameters


@dataclass(frozen=True)
class ExampleStream:
    """Endless training examples from a set of puzzles with `num_augmentations` symmetric images each."""

    arrays: PuzzleArrays
    num_augmentations: int
    seed: int

    def __post_init__(self) -> None:
        stored = self.arrays.augmentations
        if stored is not None and stored.shape[1] <= self.num_augmentations:
            raise ValueError(
                f"{self.num_augmentations} augmentations asked for, {stored.shape[1] - 1} are prebuilt"
            )

    def examples(self, start: int, num: int) -> tuple[Int[np.ndarray, " B"], Int[np.ndarray, " B"]]:
        """(puzzle, member) of the examples start … start+num-1."""
        num_puzzles = len(self.arrays)
        numbers = np.arange(start, start + num)
        epoch_numbers, places = (numbers // num_puzzles).tolist(), numbers % num_puzzles
        epochs = [_epoch(self.seed, epoch, num_puzzles, self.num_augmentations) for epoch in epoch_numbers]
        puzzles = np.array([order[i] for (order, _), i in zip(epochs, places, strict=True)])
        members = np.array([chosen[i] for (_, chosen), i in zip(epochs, places, strict=True)])
        return puzzles, members

    def gather(self, start: int, num: int) -> tuple[UInt8[np.ndarray, "B I"], UInt8[np.ndarray, "B I"]]:
        """Tokens and targets of the examples start … start+num-1, augmented."""
        puzzles, members = self.examples(start, num)
        questions, answers = self.arrays.questions[puzzles], self.arrays.answers[puzzles]
        if self.num_augmentations == 0:
            return questions, answers
        rows = augmentation_rows(self.arrays, puzzles, members, self.seed)
        box = box_for_side(self.arrays.side)
        both = apply_parameters(np.concatenate([questions, answers]) - 1, np.concatenate([rows, rows]), box) + 1
        return both[:num], both[num:]


@lru_cache(maxsize=4)
def _epoch(
    seed: int, epoch: int, num_puzzles: int, num_augmentations: int
) -> tuple[Int[np.ndarray, " N"], Int[np.ndarray, " N"]]:
    order = keyed_rng(seed, Purpose.SHUFFLE, epoch).permutation(num_puzzles)
    members = keyed_rng(seed, Purpose.MEMBER, epoch).integers(0, num_augmentations + 1, num_puzzles)
    return order, members
