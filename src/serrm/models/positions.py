"""The positional encodings by name: the angles of a rotary one, the vectors of a learned one.

A custom one is a separate module and an entry here, so that adding it trains no other run again
(docs/decisions/021-code-by-hash.md). Torch is needed only when a model is built.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from jaxtyping import Float

from serrm.core.entries import Entries
from serrm.models.angles import (
    Angles,
    no_angles,
    rope,
    rope2d,
    rope2d_boxes,
    rope2d_in_boxes,
    rope2d_linear,
    rope2d_odd,
)

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


def learned(num_positions: int, width: int, generator: "Rng") -> Any:
    """Make a module with a learned vector for each position that the model is trained on. (Not in the paper.)"""
    from torch import Tensor, nn

    from serrm.models.layers import truncated_normal

    class LearnedPositions(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.vectors = nn.Parameter(truncated_normal(num_positions, width, std=1.0, generator=generator))

        def forward(self) -> Float[Tensor, "I D"]:
            return self.vectors

    return LearnedPositions()


# The number divides the features of a head: two for each coordinate, as features turn in pairs. With 16 in place of 8
# every head of `rope2d_in_boxes` tells apart the rows and columns of boxes up to 5×5, which 25×25 has.
# With "rope" HRM and TRM rotate the prefix too; with all others they do not. The encodings after "none" are extensions.
POSITIONS: Final = Entries[PositionalEncoding](
    {
        "rope": PositionalEncoding(rope, 2),
        "rope2d": PositionalEncoding(rope2d, 4),
        "none": PositionalEncoding(no_angles, 1),
        "rope2d_linear": PositionalEncoding(rope2d_linear, 4),
        "rope2d_odd": PositionalEncoding(rope2d_odd, 4),
        "rope2d_boxes": PositionalEncoding(rope2d_boxes, 8),
        "rope2d_in_boxes": PositionalEncoding(rope2d_in_boxes, 16),
        "learned": PositionalEncoding(learned=learned),
    }
)
