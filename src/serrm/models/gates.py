"""The gated MLPs over features by name, each a function of (width, number of gates, generator).

A custom one is a separate module and an entry here, so that adding it trains no other run again
(docs/decisions/021-code-by-hash.md). Torch is needed only when a model is built.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from serrm.core.entries import Entries

if TYPE_CHECKING:
    from serrm.models.layers import Rng


def swiglu(width: int, inner: int, generator: "Rng") -> Any:
    """Make the paper's SwiGLU."""
    from serrm.models.layers import SwiGLU

    return SwiGLU(width, inner, generator)


def normed(width: int, inner: int, generator: "Rng") -> Any:
    """Make σ(g)·RMSNorm(g·v), which is bounded however large gate and value grow."""
    from serrm.models.layers import NormedGate

    return NormedGate(width, inner, generator)


GATES: Final = Entries[Callable[..., Any]](
    {
        "swiglu": swiglu,
        "normed": normed,
    }
)
