"""Randomness as a pure function of its address: (seed, purpose, counters) name a stream of numbers.

No state has to be carried or saved. The example of a slot at step 10,000 is the same after a resume,
with any number of workers, on any machine.
"""

from collections.abc import Iterable
from enum import IntEnum

import numpy as np
from jaxtyping import Float32


class Purpose(IntEnum):
    """Purpose of a stream of random numbers; no two purposes share numbers.

    A number that is no longer used (13) is never used again.
    """

    SHUFFLE = 1
    AUGMENTATION_INDEX = 2
    AUGMENTATION = 3
    HALTING = 4
    SUBSET = 5
    DROPOUT = 6
    ARC_AUGMENTATION = 7
    PAIR = 8
    TRANSLATION = 9
    TASK_TYPE = 10
    PERMUTATION = 11
    HALTING_SOLVED = 12
    HINTS = 14
    GENERATED = 15
    START = 16
    NOISE = 17
    TRAJECTORY = 18


def keyed_rng(seed: int, purpose: Purpose, first: int = 0, second: int = 0) -> np.random.Generator:
    """Make the generator at the address (seed, purpose, first, second); it is counter-based and so cheap to make."""
    if seed < 0:
        raise ValueError(f"a seed must not be negative, got {seed}")
    return np.random.Generator(np.random.Philox(key=[seed, int(purpose)], counter=[0, 0, first, second]))


def normal_numbers(
    seed: int, purpose: Purpose, firsts: Iterable[int], second: int, shape: tuple[int, ...]
) -> Float32[np.ndarray, "n ..."]:
    """Standard normal numbers of a shape for each address (seed, purpose, first, second)."""
    draws = [keyed_rng(seed, purpose, first, second).standard_normal(shape) for first in firsts]
    return np.stack(draws).astype(np.float32)
