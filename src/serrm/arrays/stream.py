"""The stream of training examples: an epoch shuffles the puzzles and takes one random member of each.

Example number n is a pure function of (seed, n), so a sampler's whole state is the number of examples drawn.
Every task's stream is a `Stream`; the one made here is of tasks on square grids.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Int, Int64, Shaped, UInt8

from serrm.arrays.puzzles import PuzzleArrays
from serrm.arrays.settings import HintSettings
from serrm.puzzles.tasks import grid_task
from serrm.randomness import Purpose, keyed_rng


class Examples(NamedTuple):
    """A batch of training examples: tokens, targets, and the row of the task-type table each belongs to."""

    questions: UInt8[np.ndarray, "B I"]
    answers: UInt8[np.ndarray, "B I"]
    task_types: Int64[np.ndarray, " B"]


@dataclass(frozen=True)
class Stream:
    """An endless stream of training examples on grids of side × side cells."""

    side: int
    num_symbols: int  # K of the alphabet, padding included
    num_examples: int  # of an epoch
    gather: Callable[[int, int], Examples]  # (start, num) → the examples start … start+num-1
    num_task_types: int = 1  # rows of the task-type table
    # The puzzles that task types stand for, in the order of the table; none if all are of one type.
    puzzle_names: tuple[str, ...] = ()


@dataclass(frozen=True)
class GridExamples:
    """Endless training examples from a set of puzzles with `num_augmentations` symmetric images each."""

    arrays: PuzzleArrays
    num_augmentations: int
    seed: int
    hints: HintSettings | None = None

    def __post_init__(self) -> None:
        most = grid_task(self.arrays.task).most_augmentations
        if most is not None and self.num_augmentations > most:
            raise ValueError(f"{self.num_augmentations} augmentations asked for, {most} are there")

    def stream(self) -> Stream:
        """The examples as training takes them."""
        return Stream(self.arrays.side, self.arrays.num_symbols, len(self.arrays), self.gather)

    def examples(self, start: int, num: int) -> tuple[Int[np.ndarray, " B"], Int[np.ndarray, " B"]]:
        """(puzzle, member) of the examples start … start+num-1."""
        settings = self.seed, len(self.arrays), self.num_augmentations
        puzzles, members = across_epochs(lambda epoch: _epoch(epoch, *settings), len(self.arrays), start, num)
        return puzzles, members

    def gather(self, start: int, num: int) -> Examples:
        """Tokens and targets of the examples start … start+num-1, augmented and with their hints."""
        puzzles, members = self.examples(start, num)
        questions, answers = self.arrays.questions[puzzles], self.arrays.answers[puzzles]
        if self.num_augmentations > 0:
            rows = self.image_rows(puzzles, members)
            both = np.concatenate([questions, answers]), np.concatenate([rows, rows])
            questions, answers = np.split(grid_task(self.arrays.task).apply(*both, self.arrays.side), 2)
        if self.hints is not None:
            questions = with_hints(questions, answers, self.hints, self.seed, start)
        return Examples(questions, answers, np.zeros(num, dtype=np.int64))

    def image_rows(
        self, puzzles: Int[np.ndarray, " B"], members: Int[np.ndarray, " B"]
    ) -> UInt8[np.ndarray, "B P"]:
        """The rows of (puzzle, member) pairs."""
        pairs = zip(puzzles.tolist(), members.tolist(), strict=True)
        draw = grid_task(self.arrays.task).draw
        return np.stack([draw(self.seed, *pair, self.arrays.side) for pair in pairs])


def across_epochs(
    epoch: Callable[[int], Sequence[Shaped[np.ndarray, "N *_"]]], num_examples: int, start: int, num: int
) -> list[Shaped[np.ndarray, "B *_"]]:
    """The entries start … start+num-1 of what is drawn for epochs 0, 1, 2, … of that many examples each."""
    epochs, places = np.divmod(np.arange(start, start + num), num_examples)
    parts = [[part[places[epochs == each]] for part in epoch(each)] for each in np.unique(epochs).tolist()]
    return [np.concatenate(part) for part in zip(*parts, strict=True)]


@lru_cache(maxsize=4)
def _epoch(
    epoch: int, seed: int, num_puzzles: int, num_augmentations: int
) -> tuple[Int[np.ndarray, " N"], Int[np.ndarray, " N"]]:
    order = keyed_rng(seed, Purpose.SHUFFLE, epoch).permutation(num_puzzles)
    members = keyed_rng(seed, Purpose.MEMBER, epoch).integers(0, num_augmentations + 1, num_puzzles)
    return order, members


def random_stream(side: int, num_symbols: int) -> Stream:
    """Endless random tokens, the same at every call: they cost what puzzles cost."""

    def gather(start: int, num: int) -> Examples:
        tokens = np.random.default_rng(start).integers(1, num_symbols, (2, num, side**2), dtype=np.uint8)
        return Examples(tokens[0], tokens[1], np.zeros(num, dtype=np.int64))

    return Stream(side, num_symbols, 1000, gather)


def with_hints(
    questions: UInt8[np.ndarray, "B I"],
    answers: UInt8[np.ndarray, "B I"],
    hints: HintSettings,
    seed: int,
    start: int,
) -> UInt8[np.ndarray, "B I"]:
    """The questions of the examples start, start + 1, … with their hints; as many as all numbers up to the most are
    equally likely.
    """
    shown = questions.copy()
    for place, example in enumerate(range(start, min(start + len(questions), hints.examples))):
        rng = keyed_rng(seed, Purpose.HINTS, example)
        most = round(hints.most * (1 - example / hints.examples))
        open_cells = rng.permutation(np.flatnonzero(questions[place] != answers[place]))
        cells = open_cells[: rng.integers(most + 1)]
        shown[place, cells] = answers[place, cells]
    return shown


def read_ahead(stream: Stream, num: int) -> Stream:
    """The same stream, gathered in blocks of `num` examples: that after the last one asked for is on its way."""
    pool = ThreadPoolExecutor(1, "read-ahead")
    blocks: dict[int, Future[Examples]] = {}

    def gather(start: int, num_asked: int) -> Examples:
        first, last = start // num, (start + max(num_asked, 1) - 1) // num
        for number in blocks.keys() - range(first, last + 2):
            del blocks[number]
        for number in range(first, last + 2):
            if number not in blocks:
                blocks[number] = pool.submit(stream.gather, number * num, num)
        whole = zip(*(blocks[number].result() for number in range(first, last + 1)), strict=True)
        place = slice(start - first * num, start - first * num + num_asked)
        return Examples(*(np.concatenate(parts)[place] for parts in whole))

    return replace(stream, gather=gather)
