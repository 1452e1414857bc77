"""The shapes of the learning rate after warm-up: its share of the peak by (progress in 0..1, final share)."""

import math


def constant(progress: float, final_share: float) -> float:
    """The peak rate throughout."""
    return 1.0


def cosine(progress: float, final_share: float) -> float:
    """Half a cosine from the peak to the final share of it."""
    return final_share + (1 - final_share) / 2 * (1 + math.cos(math.pi * progress))
