"""The record of a positional encoding: the angles of a rotary one, the vectors of a learned one."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from serrm.models.angles import Angles, no_angles

if TYPE_CHECKING:
    from serrm.models.layers import Rng


class PositionalEncoding(NamedTuple):
    """A positional encoding: its angles by (number of positions, features per head), and a divisor of those features.

    `learned` is (number of positions, D, generator) → a torch module that gives the vectors `I D` to add to the input
    embedding. A model with learned positions takes only grids of the size that it was trained on.
    """

    angles: Callable[[int, int], Angles] = no_angles
    divisor: int = 1
    learned: Callable[[int, int, "Rng"], Any] | None = None
