"""Learned absolute positions: a vector per cell, added to the embedding of the input. (Not in the paper.)

Torch is needed only when a model is built.
"""

from typing import TYPE_CHECKING, Any

from jaxtyping import Float

if TYPE_CHECKING:
    from serrm.models.layers import Rng


def learned(num_positions: int, width: int, generator: "Rng") -> Any:
    """A module with a learned vector for each of the positions that the model is trained on."""
    from torch import Tensor, nn

    from serrm.models.layers import truncated_normal

    class LearnedPositions(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.vectors = nn.Parameter(truncated_normal(num_positions, width, std=1.0, generator=generator))

        def forward(self) -> Float[Tensor, "I D"]:
            return self.vectors

    return LearnedPositions()
