"""The stream of ARC training examples: an epoch shuffles the puzzles, each in one random variant with all its pairs.

A pair lies at a random place of the canvas that has room for question and answer (translation), but one of each
puzzle, drawn anew every epoch, stays at the corner. Example number n is a pure function of (seed, n), so any number
of workers may gather any parts of the stream. Paper: section "ARC-AGI", data.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int64, UInt8

from serrm.arrays.arc import ArcArrays, open_arc_arrays
from serrm.arrays.arc_images import draw_images, image_sizes
from serrm.arrays.arc_index import used_variants
from serrm.arrays.puzzles import TRAIN
from serrm.arrays.stream import Examples, Stream, across_epochs
from serrm.puzzles.arc.canvas import NUM_SYMBOLS
from serrm.randomness import Purpose, keyed_rng


class Drawn(NamedTuple):
    """What chance decides for examples: pair, slot of the variant, and place in the room there is, 0 to 1."""

    pairs: Int64[np.ndarray, " B"]
    slots: Int64[np.ndarray, " B"]
    shifts: Float64[np.ndarray, "B 2"]


@dataclass(frozen=True, eq=False)
class ArcPairs:
    """The pairs of `arrays` in the given variants of the index, each of which is a task type of its puzzle.

    Slot s stands for row `variants[s]` of a puzzle's index: 0…7 for SE-RRM, all for HRM and TRM. Those of the published
    code's fault are (0, …, 7, 0): the ninth is a task type of its own. In the model's table of task types a puzzle's
    slots stand side by side.
    """

    arrays: ArcArrays
    variants: tuple[int, ...]

    def __post_init__(self) -> None:
        """Raise ValueError if there are no variants, or one that is not in the index."""
        num_variants = self.arrays.index.shape[1]
        wrong = [variant for variant in self.variants if not 0 <= variant < num_variants]
        if wrong or not self.variants:
            raise ValueError(f"variants {wrong} asked for, the index has 0 to {num_variants - 1}")

    @property
    def num_task_types(self) -> int:
        """Puzzles times variants used."""
        return len(self.arrays.puzzle_names) * len(self.variants)

    @property
    def num_symbols(self) -> int:
        """K of the alphabet, padding included."""
        return NUM_SYMBOLS

    @property
    def side(self) -> int:
        """Rows and columns of the canvas."""
        return self.arrays.side

    def gather_pairs(self, drawn: Drawn) -> Examples:
        """Questions and answers of pairs in the variants of their slots, both of a pair at one place of the canvas."""
        arrays, (pairs, slots, shifts) = self.arrays, drawn
        changes = self.changes(pairs, slots)
        questions = image_sizes(arrays.question_sizes[pairs], changes[:, 0])
        answers = image_sizes(arrays.answer_sizes[pairs], changes[:, 0])
        room = arrays.side - np.maximum(questions, answers)
        offsets = (shifts * (room + 1)).astype(np.int64)
        return Examples(
            draw_images(arrays.questions, pairs, questions, changes, offsets),
            draw_images(arrays.answers, pairs, answers, changes, offsets),
            arrays.puzzles[pairs] * len(self.variants) + slots,
        )

    def changes(
        self, pairs: Int64[np.ndarray, " B"], slots: Int64[np.ndarray, " B"]
    ) -> UInt8[np.ndarray, "B 11"]:
        """Transform and permutation of pairs in the variants of their slots."""
        return np.asarray(self.arrays.index[self.arrays.puzzles[pairs], np.asarray(self.variants)[slots]])


@dataclass(frozen=True, eq=False)
class ArcExamples(ArcPairs):
    """Endless training examples from the pairs."""

    seed: int

    def stream(self) -> Stream:
        """The examples as training takes them; an epoch is the pairs trained on, whatever the number of variants."""
        names = self.arrays.puzzle_names
        return Stream(self.side, self.num_symbols, len(self.arrays), self.gather, self.num_task_types, names)

    def gather(self, start: int, num: int) -> Examples:
        """The examples start … start+num-1 in their variants, at their places."""
        return self.gather_pairs(self.examples(start, num))

    def examples(self, start: int, num: int) -> Drawn:
        """What was drawn for the examples start … start+num-1."""
        settings = self.seed, self._num_pairs, len(self.variants)
        drawn = across_epochs(lambda epoch: _epoch(epoch, *settings), len(self.arrays), start, num)
        return Drawn(*drawn)

    @cached_property
    def _num_pairs(self) -> tuple[int, ...]:
        return tuple(np.bincount(self.arrays.puzzles).tolist())


def open_arc_examples(
    arrays: Path, num_variants: int, seed: int, *, has_identity_twice: bool = False
) -> ArcExamples:
    """The training examples of a folder of ARC arrays in the first variants of its index."""
    return ArcExamples(open_arc_arrays(arrays, TRAIN), used_variants(num_variants, has_identity_twice), seed)


@lru_cache(maxsize=4)
def _epoch(epoch: int, seed: int, num_pairs: tuple[int, ...], num_slots: int) -> Drawn:
    """An epoch of puzzles with so many pairs each, those of a puzzle side by side in the arrays and in the epoch."""
    counts = np.array(num_pairs)
    first = np.cumsum(counts) - counts
    puzzles = np.repeat(np.arange(len(counts)), counts)
    turns = keyed_rng(seed, Purpose.SHUFFLE, epoch).permutation(len(counts))
    slots = keyed_rng(seed, Purpose.MEMBER, epoch).integers(num_slots, size=len(counts))
    rng = keyed_rng(seed, Purpose.PAIR, epoch)
    pairs = np.lexsort((rng.random(len(puzzles)), turns[puzzles]))
    shifts = keyed_rng(seed, Purpose.TRANSLATION, epoch).random((len(puzzles), 2))
    chosen = first + rng.integers(np.maximum(counts, 1))
    # One of each puzzle stays at the corner; the audit may leave a puzzle without pairs.
    shifts[chosen[counts > 0]] = 0
    return Drawn(pairs, slots[puzzles[pairs]], shifts[pairs])
