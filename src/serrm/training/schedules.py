"""The schedules of the learning rate by name.

A custom schedule is a separate module and an entry here, so that adding it trains no other run again
(docs/decisions/021-code-by-hash.md). Nothing here imports torch.
"""

from collections.abc import Callable
from typing import Final

from serrm.core.entries import Entries
from serrm.training.schedule_shapes import constant, cosine

SCHEDULES: Final = Entries[Callable[[float, float], float]](
    {
        "constant": constant,
        "cosine": cosine,
    }
)
