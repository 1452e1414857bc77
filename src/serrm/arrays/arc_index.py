"""The variants of ARC puzzles: an index of (transform, permutation of colours).

A variant is a row of 11 numbers that is applied when a batch is gathered; no grid is stored twice. Paper: section
"ARC-AGI", data and approach.
"""

import hashlib

import numpy as np
from jaxtyping import Int, UInt8

from serrm.puzzles.arc.colours import IDENTITY
from serrm.puzzles.arc.grid import NUM_COLOURS
from serrm.puzzles.dihedral import NUM_TRANSFORMS
from serrm.randomness import Purpose, keyed_rng

NUM_MOVED = NUM_COLOURS - 1  # colour 0 stays
NUM_PERMUTATIONS = 362_880  # 9!
NUM_DRAWABLE = NUM_TRANSFORMS * (NUM_PERMUTATIONS - 1)


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
