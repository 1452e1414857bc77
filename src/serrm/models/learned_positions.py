"""Learned absolute positions: a vector per cell, added to the embedding of the input. (Not in the paper.)"""

from jaxtyping import Float
from torch import Tensor, nn

from serrm.models.layers import Rng, truncated_normal


class LearnedPositions(nn.Module):
    """A learned vector for each of the positions that the model was trained on."""

    def __init__(self, num_positions: int, width: int, generator: Rng = None) -> None:
        super().__init__()
        self.vectors = nn.Parameter(truncated_normal(num_positions, width, std=1.0, generator=generator))

    def forward(self) -> Float[Tensor, "I D"]:
        return self.vectors
