"""The gated MLPs over features, by (width, number of gates, generator). They need torch when a model is built."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from serrm.models.layers import Rng


def swiglu(width: int, inner: int, generator: "Rng") -> Any:
    """The paper's SwiGLU."""
    from serrm.models.layers import SwiGLU

    return SwiGLU(width, inner, generator)


def normed(width: int, inner: int, generator: "Rng") -> Any:
    """σ(g)·RMSNorm(g·v), which is bounded however large gate and value grow."""
    from serrm.models.layers import NormedGate

    return NormedGate(width, inner, generator)
