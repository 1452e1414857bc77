"""How the learning rate goes on after warm-up: shares of the peak rate by (progress in 0..1, final rate)."""

import math


def constant(progress: float, final: float) -> float:
    """The peak rate throughout."""
    return 1.0


def cosine(progress: float, final: float) -> float:
    """Half a cosine from the peak to the final rate."""
    return final + (1 - final) / 2 * (1 + math.cos(math.pi * progress))
