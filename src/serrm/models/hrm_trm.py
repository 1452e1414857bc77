"""HRM and TRM, the paper's baselines: a token a position, a prefix that holds the task type, two states z_L and z_H.

The input embedding is E^H of the paper (section 2.1); the readout maps z_H to logits and, from its first prefix
position, to the two halting logits. HRM has a network for each state, and gradient only through the last application
of each. TRM has one network for both, gradient through a whole H cycle, a longer prefix, and optionally an MLP over
positions in place of attention.
"""

import math
from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor, nn

from serrm.models.layers import (
    Attention,
    Rng,
    Rotation,
    SwiGLU,
    linear,
    linear_weight,
    rotation_table,
    truncated_normal,
)
from serrm.models.recurrence import (
    Z_H,
    Z_L,
    CannotExtrapolate,
    InputEmbedding,
    Network,
    RecurrentModel,
    Residual,
    Schedule,
    TaskVectors,
    Tokens,
    Update,
    two_state_schedule,
)
from serrm.models.settings import HrmSettings, SequenceSettings, TrmSettings

HALT_BIAS = -5.0


class TokenSequence(InputEmbedding):
    """Task prefix and token embeddings, both times √D: `B (P+I) D`; `only` is the I that an MLP has weights for."""

    def __init__(
        self, settings: SequenceSettings, num_symbols: int, generator: Rng = None, only: int | None = None
    ) -> None:
        super().__init__()
        self.settings, self.only = settings, only
        std = 1 / math.sqrt(settings.width)
        self.tokens = nn.Parameter(
            truncated_normal(num_symbols, settings.width, std=std, generator=generator)
        )

    def state_shape(self, num_puzzles: int, num_positions: int, num_symbols: int) -> tuple[int, ...]:
        """B, P + I, D; smaller alphabets use the first of the learned tokens, larger ones have none."""
        if num_symbols > len(self.tokens):
            raise CannotExtrapolate(
                f"symbol embeddings are learned for {len(self.tokens)} tokens, the task has {num_symbols}"
            )
        if num_positions != (self.only or num_positions):
            raise CannotExtrapolate(f"the MLP mixes {self.only} positions, the puzzle has {num_positions}")
        return num_puzzles, self.settings.prefix + num_positions, self.settings.width

    def forward(
        self,
        state: Float[Tensor, "B places D"],
        tokens: Tokens,
        task_vectors: TaskVectors | None,
    ) -> tuple[Float[Tensor, "B places D"], Rotation | None]:
        width, prefix = self.settings.width, self.settings.prefix
        grid = nn.functional.embedding(tokens, self.tokens)
        before = grid.new_zeros(len(tokens), prefix * width)
        if task_vectors is not None:
            before = nn.functional.pad(task_vectors, (0, prefix * width - task_vectors.shape[1]))
        embedding = math.sqrt(width) * torch.cat([before.view(-1, prefix, width), grid], dim=1)
        return embedding.to(state.dtype), self.rotation(tokens.shape[1], tokens.device)

    def rotation(self, num_positions: int, device: torch.device) -> Rotation | None:
        """Rotary table of prefix and grid.

        1-D: the prefix takes the positions 0…P-1. 2-D: it is not rotated. "rope2d_shifted" is the published code's
        fault: the grid's rotation goes to the first I places, of which the first P are the prefix.
        """
        settings = self.settings
        prefix, head_dim = settings.prefix, settings.width // settings.heads
        scale = settings.score_scale(num_positions)
        table = partial(rotation_table, head_dim=head_dim, device=device, score_scale=scale)
        if settings.positions in ("rope", "none"):
            return table(settings.positions, prefix + num_positions)
        if settings.positions == "rope2d_shifted":
            return table("rope2d", num_positions, num_after=prefix)
        return table(settings.positions, num_positions, num_before=prefix)


class SequenceReadout(nn.Module):
    """Logits `B I K` of z_H without the prefix, and (halt, continue) of its first prefix position."""

    def __init__(self, settings: SequenceSettings, num_symbols: int, generator: Rng = None) -> None:
        super().__init__()
        self.prefix = settings.prefix
        self.weight = linear_weight(num_symbols, settings.width, generator)
        self.halt_weight = nn.Parameter(torch.zeros(2, settings.width))
        self.halt_bias = nn.Parameter(torch.full((2,), HALT_BIAS))

    def forward(
        self, state: Float[Tensor, "B places D"]
    ) -> tuple[Float[Tensor, "B I K"], Float[Tensor, "B 2"]]:
        logits = linear(state[:, self.prefix :], self.weight).float()
        halting = nn.functional.linear(state[:, 0].float(), self.halt_weight, self.halt_bias)
        return logits, halting


class OverPlaces(nn.Module):
    """A sublayer applied to the transposed tensor, its norm included: how TRM's MLP mixes positions."""

    def __init__(self, sublayer: nn.Module) -> None:
        super().__init__()
        self.sublayer = sublayer

    def forward(
        self, x: Float[Tensor, "B places D"], rotation: Rotation | None = None
    ) -> Float[Tensor, "B places D"]:
        mixed: Tensor = self.sublayer(x.transpose(1, 2)).transpose(1, 2)
        return mixed


def attention_over_positions(settings: SequenceSettings, generator: Rng) -> nn.Module:
    """A residual attention sublayer with D/heads features a head."""
    width, heads, dropout = settings.width, settings.heads, settings.attention_dropout
    return Residual(Attention(width, heads, width // heads, axis=-2, dropout=dropout, generator=generator))


def sequence_network(
    settings: SequenceSettings,
    generator: Rng,
    over_positions: Callable[[SequenceSettings, Rng], nn.Module] = attention_over_positions,
) -> Network:
    """A network of layers that mix positions, then features."""
    width = settings.width
    return Network(
        [
            [over_positions(settings, generator), Residual(SwiGLU(width, settings.gates(width), generator))]
            for _ in range(settings.layers)
        ]
    )


def build_hrm(
    settings: HrmSettings, num_symbols: int, num_positions: int, generator: Rng = None
) -> RecurrentModel:
    """An HRM for an alphabet of `num_symbols`, pad included; any number of positions."""
    low = Update("low", target=Z_L, others=(Z_H,))
    high = Update("high", target=Z_H, others=(Z_L,), has_embedding=False)
    cycle = (low,) * settings.l_cycles + (high,)
    return RecurrentModel(
        embedding=TokenSequence(settings, num_symbols, generator),
        networks={name: sequence_network(settings, generator) for name in ("low", "high")},
        schedule=Schedule(cycle * settings.h_cycles, num_with_gradient=2),
        readout=SequenceReadout(settings, num_symbols, generator),
        width=settings.width,
        generator=generator,
    )


def build_trm(
    settings: TrmSettings, num_symbols: int, num_positions: int, generator: Rng = None
) -> RecurrentModel:
    """A TRM for an alphabet of `num_symbols` (pad included); the MLP form takes grids of `num_positions` only."""
    places = settings.prefix + num_positions
    only = num_positions if settings.mixer == "mlp" else None

    def mlp(settings: SequenceSettings, generator: Rng) -> nn.Module:
        return OverPlaces(Residual(SwiGLU(places, settings.gates(places), generator)))

    mixer = {"attention": attention_over_positions, "mlp": mlp}[settings.mixer]
    return RecurrentModel(
        embedding=TokenSequence(settings, num_symbols, generator, only),
        networks={"block": sequence_network(settings, generator, mixer)},
        schedule=two_state_schedule(settings.h_cycles, settings.l_cycles),
        readout=SequenceReadout(settings, num_symbols, generator),
        width=settings.width,
        generator=generator,
    )
