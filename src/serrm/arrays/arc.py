"""ARC pairs on disk: tokens at the corner of a canvas, memory-mapped, with the index of variants; streams of them.

    training/
        metadata.json   task, side, names of the puzzles in the order of the index, counts, seed
        index.npy       uint8, puzzle × variant × (transform, permutation of the ten colours)
    training/, test/drawn/evaluation/ (or held_out/)
        questions.npy, answers.npy              uint8 tokens "P I", the pairs of one puzzle side by side
        question_sizes.npy, answer_sizes.npy    uint8 "P 2", rows and columns
        puzzles.npy, numbers.npy                int64 "P": the puzzle's row in the index, the pair's number in its role
    test/drawn/
        metadata.json   task, side, counts
    test/drawn/evaluation/
        groups.json     of generated puzzles, the families and the rules (`serrm.arrays.groups`)

`training` holds the demonstrations of all puzzles, also of those that are scored, and the test pairs of the others.
`evaluation` holds the test pairs of the evaluation puzzles, `held_out` those of training puzzles that are scored in
their place. A variant of a puzzle is the puzzle itself or one of its augmentations. Each has a separate task type.
An evaluation reads the index too.

An epoch of training shuffles the puzzles, each in one random variant with all its pairs. A pair lies at a random
position of the canvas where question and answer fit (translation), except that one pair per puzzle, drawn anew every
epoch, stays at the corner. Example number n is a pure function of (seed, n), so any number of processes may gather any
parts of the stream. Paper: section "ARC-AGI", data.
"""

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float64, Int, Int64, UInt8

from serrm.arrays.groups import Groups, read_groups
from serrm.arrays.stream import (
    TRAINING,
    Examples,
    Stream,
    across_epochs,
    find_set,
    list_test_sets,
    read_metadata,
)
from serrm.core.randomness import Purpose, keyed_rng
from serrm.puzzles.arc import grids
from serrm.puzzles.transforms import NUM_TRANSFORMS, inverse_transform, transformed

INDEX = "index.npy"
NUM_MOVED = grids.NUM_COLOURS - 1  # colour 0 stays
NUM_PERMUTATIONS = 362_880  # 9!
NUM_DRAWABLE = NUM_TRANSFORMS * (NUM_PERMUTATIONS - 1)  # variants with permuted colours, which are drawn
ARRAYS = ("questions", "answers", "question_sizes", "answer_sizes", "puzzles", "numbers")


@dataclass(frozen=True, eq=False)
class ArcArrays:
    """The pairs of one set and the index of variants of all puzzles."""

    side: int
    puzzle_names: tuple[str, ...]
    index: UInt8[np.ndarray, "N V 11"]
    questions: UInt8[np.ndarray, "P I"]
    answers: UInt8[np.ndarray, "P I"]
    question_sizes: UInt8[np.ndarray, "P 2"]
    answer_sizes: UInt8[np.ndarray, "P 2"]
    puzzles: Int64[np.ndarray, " P"]
    numbers: Int64[np.ndarray, " P"]

    def __len__(self) -> int:
        return len(self.questions)

    def first(self, num: int) -> "ArcArrays":
        """Return the first `num` pairs, with the index of all puzzles."""
        return replace(self, **{name: getattr(self, name)[:num] for name in ARRAYS})


def open_arc_arrays(arrays: Path, name: str) -> ArcArrays:
    """Memory-map one set, "train" or the one to score. ValueError if the folder is not one of ARC arrays."""
    folder, _ = find_set(arrays, name)
    metadata = read_metadata(arrays / TRAINING)
    if "puzzles" not in metadata:
        raise ValueError(f"{arrays}: these are arrays of {metadata['task']}, not of ARC-AGI")
    parts = {part: np.load(folder / f"{part}.npy", mmap_mode="r") for part in ARRAYS}
    index = np.load(arrays / TRAINING / INDEX, mmap_mode="r")
    return ArcArrays(metadata["side"], tuple(metadata["puzzles"]), index, **parts)


# The index.


def build_index(puzzles: tuple[str, ...], num_variants: int, seed: int) -> UInt8[np.ndarray, "N V 11"]:
    """Draw the variants of each puzzle: transform, then the permutation of the ten colours."""
    return np.stack([draw_variants(puzzle, num_variants, seed) for puzzle in puzzles])


def draw_variants(puzzle: str, num: int, seed: int) -> UInt8[np.ndarray, "num 11"]:
    """Draw the first `num` variants of a puzzle, all different: (transform, permutation of the ten colours).

    0…7 are the eight transforms with unchanged colours, the others random with colour 0 unchanged.
    Variant v is a function of (seed, name of the puzzle, v) alone. ValueError if a puzzle has fewer variants.
    """
    num_random = max(0, num - NUM_TRANSFORMS)
    if not 0 < num <= NUM_TRANSFORMS + NUM_DRAWABLE:
        raise ValueError(f"{num} variants requested, but a puzzle has 1 to {NUM_TRANSFORMS + NUM_DRAWABLE}")
    # 63 bits, which a signed number of 64 bits holds.
    address = int.from_bytes(hashlib.sha256(puzzle.encode()).digest()[:8]) >> 1
    rng = keyed_rng(seed, Purpose.ARC_AUGMENTATION, address)
    codes: dict[int, None] = {}  # an ordered set, in the order of drawing
    while len(codes) < num_random:
        codes |= dict.fromkeys(rng.integers(NUM_DRAWABLE, size=num_random).tolist())
    ranks, transforms = np.divmod(np.array(list(codes)[:num_random], dtype=np.int64), NUM_TRANSFORMS)
    # Rank 0, the identity, is in the first eight.
    drawn = np.column_stack([transforms, permutations_of_ranks(ranks + 1)])
    plain = np.column_stack([np.arange(NUM_TRANSFORMS), np.tile(grids.IDENTITY, (NUM_TRANSFORMS, 1))])
    return np.concatenate([plain, drawn])[:num].astype(np.uint8)


def permutations_of_ranks(ranks: Int[np.ndarray, " V"]) -> UInt8[np.ndarray, "V 10"]:
    """Return the permutations that keep colour 0, by their rank 0…9!-1 in lexicographic order."""
    moved = np.zeros((len(ranks), NUM_MOVED), dtype=np.uint8)
    for column in reversed(range(NUM_MOVED)):
        ranks, moved[:, column] = np.divmod(ranks, NUM_MOVED - column)
        later = moved[:, column + 1 :]
        later += later >= moved[:, column, None]
    return np.pad(moved + np.uint8(1), ((0, 0), (1, 0)))


# Streams.


class Choices(NamedTuple):
    """Random choices of examples: the pair, its variant, and where it lies on the canvas.

    `shifts` are the share of the free rows that lies above the pair, and of the free columns to its left, each 0 to 1.
    """

    pairs: Int64[np.ndarray, " B"]
    variants: Int64[np.ndarray, " B"]
    shifts: Float64[np.ndarray, "B 2"]


@dataclass(frozen=True, eq=False)
class ArcPairs:
    """The pairs of `arrays` in the first variants of the index; every variant of a puzzle is a task type.

    A recipe may use fewer variants than the index has; in the paper SE-RRM uses 8, and HRM and TRM use all. In the
    model's table of task types a puzzle's variants stand side by side.
    """

    arrays: ArcArrays
    num_variants: int

    def __post_init__(self) -> None:
        """Raise ValueError if there are no variants, or more than the index has."""
        most = self.arrays.index.shape[1]
        if not 1 <= self.num_variants <= most:
            raise ValueError(f"{self.num_variants} variants requested, the index has {most}")

    @property
    def num_task_types(self) -> int:
        """Puzzles times variants used."""
        return len(self.arrays.puzzle_names) * self.num_variants

    @property
    def num_symbols(self) -> int:
        """K of the alphabet, padding included."""
        return grids.NUM_SYMBOLS

    @property
    def side(self) -> int:
        """Rows and columns of the canvas."""
        return self.arrays.side

    def gather_pairs(self, choices: Choices) -> Examples:
        """Questions and answers of pairs in their variants; a pair's two grids have the same position on the canvas."""
        arrays, (pairs, variants, shifts) = self.arrays, choices
        changes = self.changes(pairs, variants)
        is_turned = (changes[:, :1] >= 4) ^ (changes[:, :1] % 2 == 1)  # rows become columns
        sizes = arrays.question_sizes[pairs], arrays.answer_sizes[pairs]
        new_sizes = [np.where(is_turned, size[:, ::-1], size).astype(np.int64) for size in sizes]
        offsets = (shifts * (arrays.side - np.maximum(*new_sizes) + 1)).astype(np.int64)
        questions, answers = (
            _on_canvas(tokens[pairs], size, is_turned, changes, offsets, arrays.side)
            for tokens, size in zip((arrays.questions, arrays.answers), new_sizes, strict=True)
        )
        return Examples(questions, answers, arrays.puzzles[pairs] * self.num_variants + variants)

    def changes(
        self, pairs: Int64[np.ndarray, " B"], variants: Int64[np.ndarray, " B"]
    ) -> UInt8[np.ndarray, "B 11"]:
        """Transform and permutation of pairs in their variants."""
        return np.asarray(self.arrays.index[self.arrays.puzzles[pairs], variants])


def _on_canvas(
    tokens: UInt8[np.ndarray, "B I"],
    sizes: Int64[np.ndarray, "B 2"],
    is_turned: Bool[np.ndarray, "B 1"],
    changes: UInt8[np.ndarray, "B 11"],
    offsets: Int64[np.ndarray, "B 2"],
    side: int,
) -> UInt8[np.ndarray, "B I"]:
    """Transform, recolour and encode the grids of many canvases at once, by the source cell of every new cell.

    Equals `transformed`, `grids.recoloured` and `grids.encode` of every grid; `sizes` are those after the transforms.

    Transform k transposes if k ≥ 4, then turns k mod 4 quarters counter-clockwise; so rows are read backwards for
    quarters 1 and 2, columns for 2 and 3. The last axis of `B 2` holds rows, then columns.
    """
    quarters, permutations = changes[:, :1] % 4, changes[:, 1:]
    # The canvas's rows and columns, counted from the grid's first one: those of the grid, and the one after them.
    lines, last = np.arange(side) - offsets[:, :, None], sizes[:, :, None] - 1
    is_within, is_border = (lines >= 0) & (lines <= last), lines == last + 1
    # The cell of `tokens` that each cell of the canvas takes is the sum of one number per row and one per column.
    is_backwards = (quarters == (1, 3)) | (quarters == 2)
    strides = np.where(is_turned, (1, side), (side, 1))[:, :, None]
    sources = is_within * strides * np.where(is_backwards[:, :, None], last - lines, lines)
    first_cells = np.arange(0, tokens.size, side**2)[:, None, None]
    cells = sources[:, 0, :, None] + (sources[:, 1, None, :] + first_cells)
    # Take these cells in their new colours, each grid from the permutation of its own row.
    colours = np.pad(permutations + np.uint8(grids.FIRST_COLOUR), ((0, 0), (grids.FIRST_COLOUR, 0)))
    first_colours = np.arange(0, colours.size, grids.NUM_SYMBOLS)[:, None, None]
    canvases = colours.reshape(-1).take(tokens.reshape(-1).take(cells) + first_colours)
    # Clear the cells outside of the grid and mark its end: PADDING is 0, END_OF_GRID 1.
    rows, columns = is_within[:, 0, :, None], is_within[:, 1, None, :]
    is_end = (rows & is_border[:, 1, None, :]) | (is_border[:, 0, :, None] & columns)
    canvases *= rows & columns
    return np.asarray((canvases + is_end).reshape(tokens.shape))


@dataclass(frozen=True, eq=False)
class ArcExamples(ArcPairs):
    """Endless training examples from the pairs."""

    seed: int

    def stream(self) -> Stream:
        """Return the training stream of these examples.

        An epoch has each pair once, whatever the number of variants.
        """
        names = self.arrays.puzzle_names
        return Stream(self.side, self.num_symbols, len(self.arrays), self.gather, self.num_task_types, names)

    def gather(self, start: int, num: int) -> Examples:
        """Gather the examples start … start+num-1 in their variants and positions."""
        return self.gather_pairs(self.examples(start, num))

    def examples(self, start: int, num: int) -> Choices:
        """Return the random choices of the examples start … start+num-1."""
        settings = self.seed, self._num_pairs, self.num_variants
        drawn = across_epochs(lambda epoch: _epoch(epoch, *settings), len(self.arrays), start, num)
        return Choices(*drawn)

    @cached_property
    def _num_pairs(self) -> tuple[int, ...]:
        return tuple(np.bincount(self.arrays.puzzles).tolist())


@lru_cache(maxsize=4)
def _epoch(epoch: int, seed: int, num_pairs: tuple[int, ...], num_variants: int) -> Choices:
    """Draw an epoch, given the number of pairs per puzzle; a puzzle's pairs stay together in the epoch."""
    counts = np.array(num_pairs)
    first = np.cumsum(counts) - counts
    puzzles = np.repeat(np.arange(len(counts)), counts)
    order = keyed_rng(seed, Purpose.SHUFFLE, epoch).permutation(len(counts))
    variants = keyed_rng(seed, Purpose.AUGMENTATION_INDEX, epoch).integers(num_variants, size=len(counts))
    rng = keyed_rng(seed, Purpose.PAIR, epoch)
    pairs = np.lexsort((rng.random(len(puzzles)), order[puzzles]))
    shifts = keyed_rng(seed, Purpose.TRANSLATION, epoch).random((len(puzzles), 2))
    chosen = first + rng.integers(np.maximum(counts, 1))
    # One pair per puzzle stays at the corner; the audit may leave a puzzle without pairs.
    shifts[chosen[counts > 0]] = 0
    return Choices(pairs, variants[puzzles[pairs]], shifts[pairs])


@dataclass(frozen=True, eq=False)
class ArcEvaluation(ArcPairs):
    """The questions to a model that was trained with `num_variants` variants: every test input in `num_votes` of them.

    These are the first ones of the index: all variants when answers vote, one when they do not
    (`serrm.inference.equivariance`). Question number n is test input n // num_votes in variant n % num_votes.
    Its task type is a row of the model's table, which has rows for all `num_variants` of a puzzle, whatever the number
    of votes.
    """

    num_votes: int
    name: str = "evaluation"  # or held_out
    groups: Groups | None = None

    @property
    def num_examples(self) -> int:
        """Number of questions: test inputs times votes."""
        return len(self.arrays) * self.num_votes

    def gather(self, start: int, num: int) -> Examples:
        """Gather the questions start … start+num-1 with their answers, as tokens at the corner, in their variants."""
        pairs, variants = np.divmod(np.arange(start, start + num), self.num_votes)
        return self.gather_pairs(Choices(pairs, variants, np.zeros((num, 2))))

    def inputs(self, start: int, num: int) -> list[tuple[str, int]]:
        """(name of the puzzle, number of the test input) of the questions start … start+num-1."""
        pairs = np.arange(start, start + num) // self.num_votes
        names = (self.arrays.puzzle_names[puzzle] for puzzle in self.arrays.puzzles[pairs])
        return list(zip(names, self.arrays.numbers[pairs].tolist(), strict=True))

    def undo(self, start: int, tokens: UInt8[np.ndarray, "B I"]) -> list[grids.Grid]:
        """Decode the grids of predictions for the questions from `start` on, with their variants undone."""
        changes = self.changes(*np.divmod(np.arange(start, start + len(tokens)), self.num_votes))
        return [
            transformed(
                grids.recoloured(grids.decode(canvas, self.side), grids.inverse_colours(change[1:])),
                inverse_transform(int(change[0])),
            )
            for canvas, change in zip(tokens, changes, strict=True)
        ]

    def units(self) -> dict[str, str] | None:
        """Return the unit of each puzzle by its name; None if all puzzles are independent."""
        if self.groups is None or self.groups.units is None:
            return None
        names = dict.fromkeys(self.arrays.puzzle_names[puzzle] for puzzle in self.arrays.puzzles)
        return dict(zip(names, self.groups.units, strict=False))  # the first inputs have fewer puzzles

    def answers(self) -> dict[str, list[grids.Grid]]:
        """Decode the answers to the test inputs of each puzzle, in the order of their numbers."""
        answers: dict[str, list[grids.Grid]] = {}
        parts = (self.arrays.puzzles, self.arrays.numbers, self.arrays.answers)
        for puzzle, number, tokens in zip(*parts, strict=True):
            of_puzzle = answers.setdefault(self.arrays.puzzle_names[puzzle], [])
            assert number == len(of_puzzle), "all test inputs of a puzzle are present"
            of_puzzle.append(grids.decode(np.asarray(tokens), self.side))
        return answers


def open_arc_evaluation(arrays: Path, num_variants: int) -> ArcEvaluation:
    """Open the test inputs of a folder of ARC arrays, each in the first `num_variants` variants of the index.

    The model must have been trained with as many variants of each puzzle.
    """
    (name,) = list_test_sets(arrays)
    pairs, groups = open_arc_arrays(arrays, name), read_groups(arrays, name)
    return ArcEvaluation(pairs, num_variants, num_votes=num_variants, name=name, groups=groups)
