"""Learned positions, for the dict of positional encodings, which needs no torch."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from serrm.models.layers import Rng


def learned(num_positions: int, width: int, generator: "Rng") -> Any:
    """A learned vector per position."""
    from serrm.models.learned_positions import LearnedPositions

    return LearnedPositions(num_positions, width, generator)
