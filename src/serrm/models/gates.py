"""The gated MLPs by name.

A custom one is a separate module and an entry here, so that adding it trains no other run again
(docs/decisions/021-code-by-hash.md). Nothing here imports torch.
"""

from collections.abc import Callable
from typing import Any, Final

from serrm.core.entries import Entries
from serrm.models.gated import normed, swiglu

GATES: Final = Entries[Callable[..., Any]](
    {
        "swiglu": swiglu,
        "normed": normed,
    }
)
