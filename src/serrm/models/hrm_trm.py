"""HRM and TRM, the paper's baselines: one token per position, a prefix with the task type, two states z_L and z_H.

The input embedding is E^H of the paper (section 2.1); the readout maps z_H to logits and, from its first prefix
position, to the two halting logits. HRM has one network per state, and gradient only through the last application
of each. TRM has one network for both, gradient through a whole h cycle, a longer prefix, and optionally an MLP over
positions in place of attention.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor, nn

from serrm.models import layers, recurrence
from serrm.models.gates import GATES
from serrm.models.mixers import MIXERS
from serrm.models.settings import SEQUENCE_POSITIONS, SHIFTED, ModelSizes, SequenceSettings

if TYPE_CHECKING:
    from serrm.models.hrm_trm_settings import CycledSettings

HALT_BIAS = -5.0


class TokenSequence(recurrence.InputEmbedding):
    """Task prefix and token embeddings, both times √D: `B (P+I) D`."""

    def __init__(
        self,
        settings: SequenceSettings,
        sizes: ModelSizes,
        generator: layers.Rng = None,
        mixer: str = "attention",
    ) -> None:
        super().__init__()
        self.settings, self.has_one_size = settings, MIXERS[mixer].has_one_size
        self.encoding = SEQUENCE_POSITIONS[settings.positions]
        std = 1 / math.sqrt(settings.width)
        self.tokens = nn.Parameter(
            layers.truncated_normal(sizes.num_symbols, settings.width, std=std, generator=generator)
        )
        self.learn_positions(self.encoding, sizes.num_positions, settings.width, generator)

    def state_shape(self, num_puzzles: int, num_positions: int, num_symbols: int) -> tuple[int, ...]:
        """Give B, P + I, D; smaller alphabets use the first of the learned tokens, larger ones have none."""
        if num_symbols > len(self.tokens):
            raise recurrence.CannotExtrapolate(
                f"symbol embeddings are learned for {len(self.tokens)} tokens, the task has {num_symbols}"
            )
        self.check_positions(self.encoding, num_positions, self.settings.head_dim)
        return num_puzzles, self.settings.prefix + num_positions, self.settings.width

    def forward(
        self,
        state: Float[Tensor, "B S D"],
        tokens: recurrence.Tokens,
        task_vectors: recurrence.TaskVectors | None,
    ) -> tuple[Float[Tensor, "B S D"], layers.Rotation | None]:
        width, prefix = self.settings.width, self.settings.prefix
        grid = nn.functional.embedding(tokens, self.tokens)
        prefix_vectors = grid.new_zeros(grid.shape[0], prefix * width)
        if task_vectors is not None:
            prefix_vectors = nn.functional.pad(task_vectors, (0, prefix * width - task_vectors.shape[1]))
        prefix_vectors = prefix_vectors.view(grid.shape[0], prefix, width)
        embedding = math.sqrt(width) * torch.cat([prefix_vectors, grid], dim=1)
        if self.positions is not None:  # the learned ones
            embedding = embedding + nn.functional.pad(self.positions(), (0, 0, prefix, 0))
        return embedding.to(state.dtype), self.rotation(tokens.shape[1], tokens.device)

    def rotation(self, num_positions: int, device: torch.device) -> layers.Rotation | None:
        """Make the rotary table of prefix and grid.

        In 1-D the prefix takes the positions 0…P-1; in 2-D it is not rotated. SHIFTED is the published code's fault: it
        rotates the first I positions of the state like the grid, although the first P are the prefix;
        the last P squares are then not rotated.
        """
        settings, prefix = self.settings, self.settings.prefix
        scale = settings.score_scale(num_positions)
        table = partial(
            layers.rotation_table,
            self.encoding.angles,
            head_dim=settings.head_dim,
            device=device,
            score_scale=scale,
        )
        if settings.positions == "rope":
            return table(prefix + num_positions)
        if settings.positions == SHIFTED:
            return table(num_positions, num_after=prefix)
        return table(num_positions, num_before=prefix)


class SequenceReadout(nn.Module):
    """Logits `B I K` of z_H without the prefix, and (halt, continue) of its first prefix position.

    A family without a Q head has no halting logits.
    """

    def __init__(self, settings: SequenceSettings, num_symbols: int, generator: layers.Rng = None) -> None:
        super().__init__()
        self.prefix, self.has_q_head = settings.prefix, settings.has_q_head
        self.weight = layers.linear_weight(num_symbols, settings.width, generator)
        if not self.has_q_head:
            return
        self.halt_weight = nn.Parameter(torch.zeros(2, settings.width))
        self.halt_bias = nn.Parameter(torch.full((2,), HALT_BIAS))

    def forward(
        self, state: Float[Tensor, "B S D"]
    ) -> tuple[Float[Tensor, "B I K"], Float[Tensor, "B 2"] | None]:
        logits = layers.linear(state[:, self.prefix :], self.weight).float()
        if not self.has_q_head:
            return logits, None
        halting = nn.functional.linear(state[:, 0].float(), self.halt_weight, self.halt_bias)
        return logits, halting


def build_hrm_trm(
    settings: "CycledSettings", sizes: ModelSizes, generator: layers.Rng = None
) -> recurrence.RecurrentModel:
    """Build an HRM or TRM.

    It takes any number of positions, but an MLP over positions, and learned positions, take only those of `sizes`.
    """
    names: tuple[str, ...] = ("block",)
    schedule_of: Callable[[int, int], recurrence.Schedule] = recurrence.two_state_schedule
    if settings.has_two_networks:
        names = ("low", "high")
        schedule_of = partial(recurrence.two_state_schedule, low="low", high="high", num_with_gradient=2)
    model = recurrence.RecurrentModel(
        embedding=TokenSequence(settings, sizes, generator, settings.mixer),
        networks={
            name: sequence_network(settings, generator, settings.mixer, sizes.num_positions) for name in names
        },
        schedule=schedule_of(settings.h_cycles, settings.l_cycles),
        schedule_of=schedule_of,
        readout=SequenceReadout(settings, sizes.num_symbols, generator),
        width=settings.width,
        generator=generator,
        starts=settings.starts,
        start_noise=settings.start_noise,
    )
    model.task_types = torch.zeros(sizes.num_task_types, settings.width)
    return model


def sequence_network(
    settings: SequenceSettings, generator: layers.Rng, mixer: str = "attention", num_positions: int = 0
) -> recurrence.Network:
    """Layers that mix positions and then features; `num_positions` matters to mixers of one size of grid."""
    width, length = settings.width, settings.prefix + num_positions

    def layer() -> list[nn.Module]:
        positions = MIXERS[mixer].build(settings, -2, length, generator)
        features = GATES[settings.gate](width, settings.swiglu_width(width), generator)
        return [positions, recurrence.Residual(features)]

    return recurrence.Network([layer() for _ in range(settings.layers)])
