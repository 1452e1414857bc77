"""The stream of training examples: an epoch shuffles the puzzles and takes one random member of each.

Example number n is a pure function of (seed, n), so a sampler's whole state is the number of examples drawn.
Every task's stream is an `Examples`-giving object of the form `Stream`; this one is of tasks on square grids.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int, Int64, UInt8

from serrm.arrays.hints import with_hints
from serrm.arrays.images import IMAGES, Rows
from serrm.arrays.puzzles import PuzzleArrays
from serrm.arrays.settings import HintSettings
from serrm.randomness import Purpose, keyed_rng


class Examples(NamedTuple):
    """A batch of training examples: tokens, targets, and the row of the task-type table each belongs to."""

    questions: UInt8[np.ndarray, "B I"]
    answers: UInt8[np.ndarray, "B I"]
    task_types: Int64[np.ndarray, " B"]


@runtime_checkable
class Stream(Protocol):
    """An endless stream of training examples."""

    @property
    def num_examples(self) -> int:
        """Examples an epoch."""

    @property
    def side(self) -> int:
        """Rows and columns of the grid."""

    @property
    def num_symbols(self) -> int:
        """K of the alphabet, padding included."""

    @property
    def num_task_types(self) -> int:
        """Rows of the task-type table."""

    @property
    def puzzle_names(self) -> tuple[str, ...]:
        """The puzzles that task types stand for, in the order of the table; none if all are of one type."""

    def gather(self, start: int, num: int) -> Examples:
        """The examples start … start+num-1."""


@dataclass(frozen=True)
class ExampleStream:
    """Endless training examples from a set of puzzles with `num_augmentations` symmetric images each."""

    arrays: PuzzleArrays
    num_augmentations: int
    seed: int
    hints: HintSettings | None = None

    def __post_init__(self) -> None:
        stored, most = self.arrays.augmentations, IMAGES[self.arrays.task].most
        most = most if stored is None else stored.shape[1] - 1
        if most is not None and self.num_augmentations > most:
            raise ValueError(f"{self.num_augmentations} augmentations asked for, {most} are there")

    @property
    def num_examples(self) -> int:
        """Puzzles of the training set."""
        return len(self.arrays)

    @property
    def side(self) -> int:
        """Rows and columns of the grid."""
        return self.arrays.side

    @property
    def num_symbols(self) -> int:
        """K of the alphabet, padding included."""
        return self.arrays.num_symbols

    @property
    def num_task_types(self) -> int:
        """One: all puzzles are of one type."""
        return 1

    @property
    def puzzle_names(self) -> tuple[str, ...]:
        """None: all puzzles are of one type."""
        return ()

    def examples(self, start: int, num: int) -> tuple[Int[np.ndarray, " B"], Int[np.ndarray, " B"]]:
        """(puzzle, member) of the examples start … start+num-1."""
        num_puzzles = len(self.arrays)
        numbers = np.arange(start, start + num)
        epoch_numbers, places = (numbers // num_puzzles).tolist(), numbers % num_puzzles
        epochs = [_epoch(self.seed, epoch, num_puzzles, self.num_augmentations) for epoch in epoch_numbers]
        puzzles = np.array([order[i] for (order, _), i in zip(epochs, places, strict=True)])
        members = np.array([chosen[i] for (_, chosen), i in zip(epochs, places, strict=True)])
        return puzzles, members

    def gather(self, start: int, num: int) -> Examples:
        """Tokens and targets of the examples start … start+num-1, augmented and with their hints."""
        puzzles, members = self.examples(start, num)
        questions, answers = self.arrays.questions[puzzles], self.arrays.answers[puzzles]
        if self.num_augmentations > 0:
            rows = self.image_rows(puzzles, members)
            both = np.concatenate([questions, answers]), np.concatenate([rows, rows])
            questions, answers = np.split(IMAGES[self.arrays.task].apply(*both, self.side), 2)
        if self.hints is not None:
            questions = with_hints(questions, answers, self.hints, self.seed, start)
        return Examples(questions, answers, np.zeros(num, dtype=np.int64))

    def image_rows(self, puzzles: Int[np.ndarray, " B"], members: Int[np.ndarray, " B"]) -> Rows:
        """The rows of (puzzle, member) pairs, looked up where stored, else drawn."""
        if self.arrays.augmentations is not None:
            return np.asarray(self.arrays.augmentations[puzzles, members])
        pairs = zip(puzzles.tolist(), members.tolist(), strict=True)
        draw = IMAGES[self.arrays.task].draw
        return np.stack([draw(self.seed, *pair, self.side) for pair in pairs])


@lru_cache(maxsize=4)
def _epoch(
    seed: int, epoch: int, num_puzzles: int, num_augmentations: int
) -> tuple[Int[np.ndarray, " N"], Int[np.ndarray, " N"]]:
    order = keyed_rng(seed, Purpose.SHUFFLE, epoch).permutation(num_puzzles)
    members = keyed_rng(seed, Purpose.MEMBER, epoch).integers(0, num_augmentations + 1, num_puzzles)
    return order, members
