"""The variants of ARC puzzles, an index of (transform, permutation of colours), and the task types they make.

A variant is a row of 11 numbers that is applied when a batch is gathered; no grid is stored twice. Every variant
of every puzzle is a task type with an embedding of its own. Paper: section "ARC-AGI", data and approach.
"""

import hashlib
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int, Int64, UInt8

from serrm.puzzles.arc.colours import IDENTITY
from serrm.puzzles.arc.grid import NUM_COLOURS
from serrm.puzzles.dihedral import NUM_TRANSFORMS
from serrm.randomness import Purpose, keyed_rng

NUM_MOVED = NUM_COLOURS - 1  # colour 0 stays
NUM_PERMUTATIONS = 362_880  # 9!
NUM_DRAWABLE = NUM_TRANSFORMS * (NUM_PERMUTATIONS - 1)


@dataclass(frozen=True, eq=False)
class TaskTypes:
    """The rows of a model's task-type table: every puzzle of the index in the variants that the model uses.

    Row = place of the puzzle · number of variants used + slot. Slot s stands for the variant `variants[s]` of
    the index: 0…7 for SE-RRM, all for HRM and TRM. A variant named twice is two task types.
    """

    puzzles: tuple[str, ...]
    index: UInt8[np.ndarray, "N V 11"]
    variants: tuple[int, ...]

    def __post_init__(self) -> None:
        """Raise ValueError if there are no variants, or one that the index has not."""
        num_variants = self.index.shape[1]
        wrong = [variant for variant in self.variants if not 0 <= variant < num_variants]
        if wrong or not self.variants:
            raise ValueError(f"variants {wrong} asked for, the index has 0 to {num_variants - 1}")

    def __len__(self) -> int:
        return len(self.puzzles) * len(self.variants)

    def rows(self, puzzles: Int[np.ndarray, " B"], slots: Int[np.ndarray, " B"]) -> Int64[np.ndarray, " B"]:
        """The rows of (place of the puzzle, slot) pairs."""
        return np.asarray(puzzles * len(self.variants) + slots, dtype=np.int64)

    def changes(
        self, puzzles: Int[np.ndarray, " B"], slots: Int[np.ndarray, " B"]
    ) -> UInt8[np.ndarray, "B 11"]:
        """Transform and permutation of (place of the puzzle, slot) pairs."""
        return np.asarray(self.index[puzzles, np.asarray(self.variants)[slots]])


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
    rng, codes = keyed_rng(seed, Purpose.VARIANT, address), np.zeros(0, dtype=np.int64)
    while len(codes) < num_random:
        more = rng.integers(NUM_DRAWABLE, size=num_random)
        codes = _first_occurrences(np.concatenate([codes, more]))
    ranks, transforms = np.divmod(codes[:num_random], NUM_TRANSFORMS)
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


def _first_occurrences(codes: Int[np.ndarray, " C"]) -> Int[np.ndarray, " D"]:
    _, places = np.unique(codes, return_index=True)
    return np.asarray(codes[np.sort(places)])
