"""The schedules of the learning rate by name: after warm-up, its share of the peak by (progress in 0..1, final share).

A custom schedule is a separate module and an entry here, so that adding it trains no other run again
(docs/decisions/021-code-by-hash.md).
"""

import math
from collections.abc import Callable
from typing import Final

from serrm.core.entries import Entries


def constant(progress: float, final_share: float) -> float:
    """Keep the peak rate."""
    return 1.0


def cosine(progress: float, final_share: float) -> float:
    """Follow half a cosine from the peak to the final share of it."""
    return final_share + (1 - final_share) / 2 * (1 + math.cos(math.pi * progress))


SCHEDULES: Final = Entries[Callable[[float, float], float]](
    {
        "constant": constant,
        "cosine": cosine,
    }
)
