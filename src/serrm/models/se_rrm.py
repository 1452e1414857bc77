"""SE-RRM (paper, section 2.3): one state Z of `B I K D`, tied symbol embeddings, attention over both axes.

Only what differs from the other models is here: how symbols become planes, the attention over symbols, and the readout
that maps every (position, symbol) to one logit. A plane is the part of Z that belongs to one symbol, and a usual symbol
is one that is not special (pad, blank, …).
"""

import math
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from serrm.models import layers, recurrence
from serrm.models.gates import GATES
from serrm.models.mixers import MIXERS
from serrm.models.positions import POSITIONS
from serrm.models.settings import ModelSizes

if TYPE_CHECKING:
    from serrm.models.se_rrm_settings import SeRrmSettings


class SymbolPlanes(recurrence.InputEmbedding):
    """The input embedding E^G of `B I K D`, its register positions, and the rotation that goes with it."""

    def __init__(self, settings: "SeRrmSettings", sizes: ModelSizes, generator: layers.Rng = None) -> None:
        super().__init__()
        self.settings = settings
        width, registers = settings.width, settings.registers
        self.first_plane_token = settings.first_plane_token(sizes.num_special)
        self.num_special_planes = sizes.num_special - self.first_plane_token
        # Tied: one vector per special symbol, then one for all usual symbols. Untied: one per symbol.
        is_tied = settings.symbols == "tied"
        num_planes = settings.num_planes(sizes.num_symbols, sizes.num_special)
        num_vectors = self.num_special_planes + 1 if is_tied else num_planes
        self.symbols = nn.Parameter(layers.truncated_normal(num_vectors, width, std=1.0, generator=generator))
        self.registers = nn.Parameter(
            layers.truncated_normal(num_vectors, registers, width, std=1.0, generator=generator)
        )
        self.encoding, self.has_one_size = POSITIONS[settings.positions], MIXERS[settings.mixer].has_one_size
        self.learn_positions(self.encoding, sizes.num_positions, width, generator)

    def num_planes(self, num_symbols: int) -> int:
        """Symbol planes for an alphabet of `num_symbols`; CannotExtrapolate if untied weights do not fit."""
        num_planes = num_symbols - self.first_plane_token
        if self.settings.symbols == "untied" and num_planes != len(self.symbols):
            raise recurrence.CannotExtrapolate(
                f"untied symbols are learned for {len(self.symbols)} planes, the task has {num_planes}"
            )
        return num_planes

    def state_shape(self, num_puzzles: int, num_positions: int, num_symbols: int) -> tuple[int, ...]:
        """Give B, I with registers, K, D."""
        self.check_positions(self.encoding, num_positions, self.settings.head_dim)
        length = num_positions + self.settings.registers
        return num_puzzles, length, self.num_planes(num_symbols), self.settings.width

    def forward(
        self,
        state: Float[Tensor, "B S K D"],
        tokens: recurrence.Tokens,
        task_vectors: recurrence.TaskVectors | None,
    ) -> tuple[Float[Tensor, "B S K D"], layers.Rotation | None]:
        batch, _, num_planes, _ = state.shape
        is_symbol = tokens[..., None] == torch.arange(
            self.first_plane_token, self.first_plane_token + num_planes, device=tokens.device
        )
        embedding = is_symbol[..., None] * (math.sqrt(num_planes) * self._by_plane(self.symbols, num_planes))
        if self.positions is not None:  # the learned ones, the same for all symbols
            embedding = embedding + self.positions()[:, None]
        if self.settings.registers:
            registers = self._by_plane(self.registers, num_planes).transpose(0, 1)
            embedding = torch.cat([embedding, registers.expand(batch, -1, -1, -1)], dim=1)
        if task_vectors is not None:
            embedding = embedding + self._task_planes(task_vectors, num_planes)
        return embedding.to(state.dtype), self.rotation(tokens.shape[1], tokens.device)

    def permuted(
        self, task_vectors: recurrence.TaskVectors, permutation: Int[Tensor, " symbols"]
    ) -> recurrence.TaskVectors:
        """Move the numbers of symbol k to the plane of permutation[k]."""
        sources = (permutation[self.first_plane_token :] - self.first_plane_token).argsort()
        num_shared = self.settings.width if self.settings.task_types == "factored" else 0
        planes = task_vectors[:, num_shared:].unflatten(1, (len(sources), -1))
        return torch.cat([task_vectors[:, :num_shared], planes[:, sources].flatten(1)], dim=1)

    def rotation(self, num_positions: int, device: torch.device) -> layers.Rotation | None:
        """Make the rotary table of the grid; registers follow it and are not rotated."""
        settings = self.settings
        return layers.rotation_table(
            self.encoding.angles,
            num_positions,
            settings.head_dim,
            device,
            num_after=settings.registers,
            score_scale=settings.score_scale(num_positions),
        )

    def _by_plane(self, vectors: Float[Tensor, "V ..."], num_planes: int) -> Float[Tensor, "K ..."]:
        if self.settings.symbols == "untied":
            return vectors
        num_special = self.num_special_planes
        special, usual = vectors[:num_special], vectors[num_special:]
        return torch.cat([special, usual.expand(num_planes - num_special, *usual.shape[1:])])

    def _task_planes(self, vectors: recurrence.TaskVectors, num_planes: int) -> Float[Tensor, "B 1 K D"]:
        width = self.settings.width
        if self.settings.task_types == "full":
            return vectors.reshape(vectors.shape[0], 1, num_planes, width)
        features, symbols = vectors[:, :width], vectors[:, width:]
        return features[:, None, None, :] + symbols[:, None, :, None]


class PlaneReadout(nn.Module):
    """Logits `B I symbols` from the state: one vector for all K planes (tied), or a map of K·D features (untied)."""

    def __init__(self, settings: "SeRrmSettings", sizes: ModelSizes, generator: layers.Rng = None) -> None:
        super().__init__()
        self.is_tied = settings.symbols == "tied"
        self.num_registers = settings.registers
        num_planes = settings.num_planes(sizes.num_symbols, sizes.num_special)
        self.first_plane_token = settings.first_plane_token(sizes.num_special)
        shape = (1, settings.width) if self.is_tied else (num_planes, num_planes * settings.width)
        self.weight = layers.linear_weight(*shape, generator)

    def forward(self, state: Float[Tensor, "B S K D"]) -> tuple[Float[Tensor, "B I symbols"], None]:
        grid = state[:, : state.shape[1] - self.num_registers]
        logits = layers.linear(grid if self.is_tied else grid.flatten(2), self.weight)
        logits = logits.squeeze(-1) if self.is_tied else logits
        # A symbol without a plane is never predicted, as its logit is -inf and its stablemax weight 0.
        return nn.functional.pad(logits.float(), (self.first_plane_token, 0), value=-math.inf), None


def build_se_rrm(
    settings: "SeRrmSettings", sizes: ModelSizes, generator: layers.Rng = None
) -> recurrence.RecurrentModel:
    """Build an SE-RRM for an alphabet and any number of positions, unless these are learned.

    Tied weights also take any other alphabet with the same number of special symbols.
    """
    has_two = settings.states == "two"
    make_schedule = recurrence.two_state_schedule if has_two else recurrence.one_state_schedule
    model = recurrence.RecurrentModel(
        embedding=SymbolPlanes(settings, sizes, generator),
        networks={
            "block": recurrence.Network([_layer(settings, sizes, generator) for _ in range(settings.layers)])
        },
        schedule=make_schedule(settings.h_cycles, settings.l_cycles),
        schedule_of=make_schedule,
        readout=PlaneReadout(settings, sizes, generator),
        width=settings.width,
        generator=generator,
        starts=settings.starts,
        start_noise=settings.start_noise,
    )
    model.task_types = _initial_task_types(settings, sizes, generator)
    return model


def _layer(settings: "SeRrmSettings", sizes: ModelSizes, generator: layers.Rng) -> list[nn.Module]:
    """T^{D,I}, T^{D,K} and m^D, each with residual and norm (equations 7 to 9)."""
    width, length = settings.width, sizes.num_positions + settings.registers
    positions = MIXERS[settings.mixer].build(settings, -3, length, generator)
    symbols = layers.Attention(
        width,
        settings.symbol_heads,
        settings.symbol_head_dim,
        axis=-2,
        dropout=settings.attention_dropout,
        generator=generator,
    )
    features = GATES[settings.gate](width, settings.swiglu_width(width), generator)
    return [positions, recurrence.Residual(symbols), recurrence.Residual(features)]


def _initial_task_types(
    settings: "SeRrmSettings", sizes: ModelSizes, generator: layers.Rng
) -> Float[Tensor, "T W"] | None:
    """Make the task-type table: D·K numbers per task (full) or D + K (factored), None without task types.

    A full table begins with one vector per task with std 1/√D, the same for all symbols, so training starts
    symbol-equivariant. A factored one begins with zeros.
    """
    num_planes = settings.num_planes(sizes.num_symbols, sizes.num_special)
    width, num_task_types = settings.width, sizes.num_task_types
    if settings.task_types == "none":
        return None
    if settings.task_types == "factored":
        return torch.zeros(num_task_types, width + num_planes)
    vectors = layers.truncated_normal(num_task_types, 1, width, std=1 / math.sqrt(width), generator=generator)
    return vectors.expand(-1, num_planes, -1).reshape(num_task_types, num_planes * width)
