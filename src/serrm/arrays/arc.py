"""ARC pairs on disk: tokens at the corner of a canvas, memory-mapped, with the index of variants (build_arrays).

    index.npy       uint8, puzzle × variant × (transform, permutation of the ten colours)
    metadata.json   task, side, names of the puzzles in the order of the index, counts, seed, hash of the source
    train/, evaluation/ (or held_out/)
        questions.npy, answers.npy              uint8 tokens "P I", the pairs of one puzzle side by side
        question_sizes.npy, answer_sizes.npy    uint8 "P 2", rows and columns
        puzzles.npy, numbers.npy                int64 "P": the puzzle's place in the index, the pair's in its role

`train` are the demonstrations of all puzzles and the test pairs of those that are not scored; `evaluation` are the
test pairs of the evaluation puzzles, `held_out` those of training puzzles that stand in for them. Paper: section
"ARC-AGI", data.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Int, Int64, UInt8

from serrm.arrays.puzzles import read_metadata
from serrm.puzzles.arc import IDENTITY, NUM_COLOURS, SCORED
from serrm.puzzles.dihedral import NUM_TRANSFORMS
from serrm.randomness import Purpose, keyed_rng

INDEX = "index.npy"
NUM_MOVED = NUM_COLOURS - 1  # colour 0 stays
NUM_PERMUTATIONS = 362_880  # 9!
NUM_DRAWABLE = NUM_TRANSFORMS * (NUM_PERMUTATIONS - 1)
ARRAYS = ("questions", "answers", "question_sizes", "answer_sizes", "puzzles", "numbers")


@dataclass(frozen=True, eq=False)
class ArcArrays:
    """The pairs of one set, and the index of variants of all puzzles."""

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


def scored_set(arrays: Path) -> str:
    """The set of a folder of ARC arrays that is scored: "evaluation" or "held_out". ValueError if there is none."""
    metadata = read_metadata(arrays)
    found: list[str] = [name for name in metadata["sets"] if name in SCORED]
    if not found:
        raise ValueError(f"{arrays}: no ARC set to score here")
    return found[0]


def open_arc_arrays(arrays: Path, name: str) -> ArcArrays:
    """Memory-map one set, "train" or the one to score. ValueError if the folder is not one of ARC arrays."""
    metadata = read_metadata(arrays)
    if name not in metadata["sets"] or "puzzles" not in metadata:
        raise ValueError(f"{arrays}: no ARC set {name!r} here, but {sorted(metadata['sets'])}")
    parts = {part: np.load(arrays / name / f"{part}.npy", mmap_mode="r") for part in ARRAYS}
    index = np.load(arrays / INDEX, mmap_mode="r")
    return ArcArrays(metadata["side"], tuple(metadata["puzzles"]), index, **parts)


def used_variants(num: int, has_identity_twice: bool = False) -> tuple[int, ...]:
    """The first `num` variants of the index, and the identity once more where that published fault is asked for."""
    return (*range(num), *((0,) if has_identity_twice else ()))


def build_index(puzzles: tuple[str, ...], num_variants: int, seed: int) -> UInt8[np.ndarray, "N V 11"]:
    """The variants of each puzzle: transform, then the permutation of the ten colours."""
    return np.stack([draw_variants(puzzle, num_variants, seed) for puzzle in puzzles])


def draw_variants(puzzle: str, num: int, seed: int) -> UInt8[np.ndarray, "num 11"]:
    """The first `num` variants of a puzzle, all different: (transform, permutation of the ten colours).

    0…7 are the eight transforms in the colours as they are, the others random with colour 0 in its place.
    Variant v is a function of (seed, name of the puzzle, v) alone. ValueError if there are not that many.
    """
    num_random = max(0, num - NUM_TRANSFORMS)
    if not 0 < num <= NUM_TRANSFORMS + NUM_DRAWABLE:
        raise ValueError(f"{num} variants asked for, a puzzle has 1 to {NUM_TRANSFORMS + NUM_DRAWABLE}")
    address = int.from_bytes(hashlib.sha256(puzzle.encode()).digest()[:8]) >> 1
    rng, codes = keyed_rng(seed, Purpose.VARIANT, address), dict[int, None]()  # in the order of drawing
    while len(codes) < num_random:
        codes |= dict.fromkeys(rng.integers(NUM_DRAWABLE, size=num_random).tolist())
    ranks, transforms = np.divmod(np.array(list(codes)[:num_random], dtype=np.int64), NUM_TRANSFORMS)
    # Rank 0, the identity, is in the first eight.
    drawn = np.column_stack([transforms, permutations_of_ranks(ranks + 1)])
    plain = np.column_stack([np.arange(NUM_TRANSFORMS), np.tile(IDENTITY, (NUM_TRANSFORMS, 1))])
    return np.concatenate([plain, drawn])[:num].astype(np.uint8)


def permutations_of_ranks(ranks: Int[np.ndarray, " V"]) -> UInt8[np.ndarray, "V 10"]:
    """The permutations that keep colour 0, by their place 0…9!-1 in lexicographic order."""
    moved = np.zeros((len(ranks), NUM_MOVED), dtype=np.uint8)
    for place in reversed(range(NUM_MOVED)):
        ranks, moved[:, place] = np.divmod(ranks, NUM_MOVED - place)
        later = moved[:, place + 1 :]
        later += later >= moved[:, place, None]
    return np.pad(moved + np.uint8(1), ((0, 0), (1, 0)))
