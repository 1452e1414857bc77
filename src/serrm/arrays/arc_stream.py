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
from jaxtyping import Bool, Float64, Int, Int64, UInt8

from serrm.arrays.arc import ArcArrays, open_arc_arrays, scored_set, used_variants
from serrm.arrays.puzzles import TRAIN
from serrm.arrays.stream import Examples, Stream, across_epochs
from serrm.puzzles.arc import (
    END_OF_GRID,
    FIRST_COLOUR,
    NUM_SYMBOLS,
    PADDING,
    Grid,
    decode,
    decoded_sizes,
    recoloured,
)
from serrm.puzzles.arc import inverse_colours as inverse
from serrm.puzzles.dihedral import NUM_TRANSFORMS, transformed
from serrm.puzzles.dihedral import inverse as inverse_transform
from serrm.randomness import Purpose, keyed_rng

# The images of [[0, 1], [2, 3]]: a step down an image is ±1 where the transform transposes, else ±2.
_SQUARES = np.stack([transformed(np.arange(4).reshape(2, 2), k) for k in range(NUM_TRANSFORMS)])
_STEPS = np.stack([_SQUARES[:, 1, 0] - _SQUARES[:, 0, 0], _SQUARES[:, 0, 1] - _SQUARES[:, 0, 0]], axis=1)
DOES_TRANSPOSE: Bool[np.ndarray, "8"] = abs(_STEPS[:, 0]) == 1
DOES_FLIP: Bool[np.ndarray, "8 2"] = _STEPS < 0  # an image's row and column axis


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


@dataclass(frozen=True, eq=False)
class ArcEvaluation(ArcPairs):
    """The questions to a model that was trained on `variants`: every test input in each of them.

    Question number n is test input n // num_votes in the variant of slot n % num_votes.
    """

    set_name: str = "evaluation"  # or held_out

    @property
    def num_votes(self) -> int:
        """Variants asked for each test input; the identity counts twice where that fault is asked for."""
        return len(self.variants)

    @property
    def num_examples(self) -> int:
        """How many questions there are: test inputs times votes."""
        return len(self.arrays) * self.num_votes

    def gather(self, start: int, num: int) -> Examples:
        """The questions start … start+num-1 with their answers, as tokens at the corner, in their variants."""
        return self.gather_pairs(Drawn(*self._pairs_and_slots(start, num), np.zeros((num, 2))))

    def inputs(self, start: int, num: int) -> list[tuple[str, int]]:
        """(name of the puzzle, number of the test input) of the questions start … start+num-1."""
        pairs, _ = self._pairs_and_slots(start, num)
        names = (self.arrays.puzzle_names[puzzle] for puzzle in self.arrays.puzzles[pairs])
        return list(zip(names, self.arrays.numbers[pairs].tolist(), strict=True))

    def undo(self, start: int, tokens: UInt8[np.ndarray, "B I"]) -> list[Grid]:
        """The grids that predictions for the questions from `start` on mean in the frames of their puzzles."""
        pairs, slots = self._pairs_and_slots(start, len(tokens))
        canvases = tokens.reshape(-1, self.side, self.side)
        sizes = decoded_sizes(tokens, self.side).tolist()
        grids = []
        changes = self.changes(pairs, slots)
        for canvas, (num_rows, num_columns), change in zip(canvases, sizes, changes, strict=True):
            colours = canvas[:num_rows, :num_columns] - np.uint8(FIRST_COLOUR)
            plain = recoloured(colours, inverse(change[1:]))
            grids.append(transformed(plain, inverse_transform(int(change[0]))))
        return grids

    def answers(self) -> dict[str, list[Grid]]:
        """The answers to the test inputs of each puzzle, in the order of their numbers."""
        answers: dict[str, list[Grid]] = {}
        parts = (self.arrays.puzzles, self.arrays.numbers, self.arrays.answers)
        for puzzle, number, tokens in zip(*parts, strict=True):
            grids = answers.setdefault(self.arrays.puzzle_names[puzzle], [])
            assert number == len(grids), "the test inputs of a puzzle are all there"
            grids.append(decode(np.asarray(tokens), self.side))
        return answers

    def _pairs_and_slots(
        self, start: int, num: int
    ) -> tuple[Int64[np.ndarray, " B"], Int64[np.ndarray, " B"]]:
        pairs, slots = np.divmod(np.arange(start, start + num), self.num_votes)
        return pairs, slots


def open_arc_evaluation(
    arrays: Path, num_variants: int, *, has_identity_twice: bool = False
) -> ArcEvaluation:
    """The questions of a folder of ARC arrays to a model trained on the first variants of its index."""
    variants = used_variants(num_variants, has_identity_twice)
    name = scored_set(arrays)
    return ArcEvaluation(open_arc_arrays(arrays, name), variants, name)


def image_sizes(
    sizes: UInt8[np.ndarray, "B 2"], transforms: UInt8[np.ndarray, " B"]
) -> Int[np.ndarray, "B 2"]:
    """Rows and columns of the images of grids with these rows and columns."""
    return np.where(DOES_TRANSPOSE[transforms, None], sizes[:, ::-1], sizes).astype(np.int64)


def draw_images(
    canvases: UInt8[np.ndarray, "P I"],
    chosen: Int[np.ndarray, " B"],
    sizes: Int[np.ndarray, "B 2"],
    changes: UInt8[np.ndarray, "B 11"],
    offsets: Int[np.ndarray, "B 2"],
) -> UInt8[np.ndarray, "B I"]:
    """The images of the grids at the corners of the chosen canvases, as tokens.

    Args:
        canvases: tokens of square canvases with a grid at the corner.
        chosen: the canvas that each image is of.
        sizes: rows and columns of each image.
        changes: transform and permutation of colours of each image.
        offsets: row and column of each image's top-left cell, where it must fit.
    """
    side, (num, transforms) = round(canvases.shape[1] ** 0.5), (len(chosen), changes[:, 0])
    transposes = DOES_TRANSPOSE[transforms]
    rows, in_rows = _lines(side, sizes[:, 0], offsets[:, 0], DOES_FLIP[transforms, 0])
    columns, in_columns = _lines(side, sizes[:, 1], offsets[:, 1], DOES_FLIP[transforms, 1])
    first = chosen * canvases.shape[1]
    down = first[:, None] + rows * np.where(transposes, 1, side)[:, None]
    across = columns * np.where(transposes, side, 1)[:, None]
    tokens = np.asarray(canvases).reshape(-1).take(down[:, :, None] + across[:, None, :])
    recoloured = _recolouring(changes[:, 1:])
    places = np.arange(num) * NUM_SYMBOLS
    images = recoloured.reshape(-1).take(tokens + places[:, None, None])
    images *= in_rows[:, :, None]
    images *= in_columns[:, None, :]
    return np.asarray(images.reshape(num, -1))


def _lines(
    side: int,
    lengths: Int[np.ndarray, " B"],
    offsets: Int[np.ndarray, " B"],
    is_flipped: Bool[np.ndarray, " B"],
) -> tuple[Int[np.ndarray, "B S"], Bool[np.ndarray, "B S"]]:
    """The source of each line (row or column) of an image's canvas, and whether it has one; border included."""
    places, lengths = np.arange(side) - offsets[:, None], lengths[:, None]
    flipped = np.where(is_flipped[:, None] & (places < lengths), lengths - 1 - places, places)
    has_source = (places >= 0) & (places <= lengths)
    return np.where(has_source, flipped, 0), has_source


def _recolouring(permutations: UInt8[np.ndarray, "B 10"]) -> UInt8[np.ndarray, "B K"]:
    """What becomes of each token."""
    special = np.array([PADDING, END_OF_GRID], dtype=np.uint8)
    tiled = np.tile(special, (len(permutations), 1))
    return np.concatenate([tiled, permutations + np.uint8(FIRST_COLOUR)], axis=1)
