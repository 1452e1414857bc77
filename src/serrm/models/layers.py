"""The layers of every model: linear maps, norm, SwiGLU, attention along one axis, rotary positions.

Weights are float32 parameters and are cast to the dtype of their input, so the dtype of the recurrent state decides the
arithmetic (paper, section 2). Everything is post-norm. docs/glossary.md explains the letters B, I, K, D and H.
"""

import math
from collections.abc import Callable
from contextlib import nullcontext
from functools import lru_cache

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from torch.utils._python_dispatch import _disable_current_modes

from serrm.models.angles import Angles, no_angles

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
NORM_EPS = 1e-5
# A normal distribution cut at two standard deviations keeps this share of its standard deviation.
TRUNCATED_STD = 0.8796256610342398
BELOW_CUT = 0.022750131948179195  # share of a normal distribution below minus two standard deviations

Features = Float[Tensor, "... D"]
Heads = Float[Tensor, "N H S d"]
Table = Float[Tensor, "S half"]
Rotation = tuple[Table, Table]  # cosines and sines of the angles
Rng = torch.Generator | None  # None means zeros, for weights that are then replaced


def truncated_normal(*shape: int, std: float, generator: Rng = None) -> Float[Tensor, "..."]:
    """Draw a float32 tensor of truncated normal numbers (at two sigma) whose std *after* truncation is `std`.

    Quantiles of uniform numbers are computed in float64 and then rounded: the same numbers on every computer.
    """
    if generator is None:
        return torch.zeros(shape)
    uniform = torch.rand(shape, dtype=torch.float64, generator=generator)
    quantiles = torch.special.ndtri(BELOW_CUT + (1 - 2 * BELOW_CUT) * uniform)
    numbers: Tensor = quantiles.clamp(-2, 2) * (std / TRUNCATED_STD)
    return numbers.float()


def linear_weight(num_out: int, num_in: int, generator: Rng) -> nn.Parameter:
    """Draw a weight (num_out, num_in) with std 1/√fan_in."""
    return nn.Parameter(truncated_normal(num_out, num_in, std=1 / math.sqrt(num_in), generator=generator))


def linear(
    x: Float[Tensor, "... num_in"], weight: Float[Tensor, "num_out num_in"]
) -> Float[Tensor, "... num_out"]:
    """Compute x·Wᵀ in the dtype of x."""
    return F.linear(x, weight.to(x.dtype))


def rms_norm(x: Features) -> Features:
    """Divide by the root mean square over the last axis, without gain, in float32."""
    wide = x.float()
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + NORM_EPS)).to(x.dtype)


class SwiGLU(nn.Module):
    """m^D of the paper: a gated MLP over the last axis with `inner` gates (Shazeer 2020), without bias."""

    def __init__(self, width: int, inner: int, generator: Rng = None) -> None:
        super().__init__()
        self.gate_up = linear_weight(2 * inner, width, generator)
        self.down = linear_weight(width, inner, generator)

    def forward(self, x: Features) -> Features:
        gate, up = (linear(x, weight) for weight in self.gate_up.chunk(2))
        return linear(F.silu(gate) * up, self.down)


class NormedGate(SwiGLU):
    """A gated MLP with σ(g)·RMSNorm(g·v) in place of SwiGLU's silu(g)·v, and the same weights. (Not in the paper.)"""

    def forward(self, x: Features) -> Features:
        gate, up = (linear(x, weight) for weight in self.gate_up.chunk(2))
        return linear(gate.sigmoid() * rms_norm(gate * up), self.down)


class Attention(nn.Module):
    """Multi-head self-attention along one axis of a tensor `... D`: T^{D,I} (positions) or T^{D,K} (symbols).

    `axis` counts from the right with D as -1: in `B I K D` positions are -3 and symbols -2. Faster kernels replace
    `attend`.
    """

    def __init__(
        self,
        width: int,
        num_heads: int,
        head_dim: int,
        *,
        axis: int,
        dropout: float = 0.0,
        generator: Rng = None,
    ) -> None:
        super().__init__()
        self.qkv = linear_weight(3 * num_heads * head_dim, width, generator)
        self.out = linear_weight(width, num_heads * head_dim, generator)
        self.num_heads, self.head_dim, self.axis, self.dropout = num_heads, head_dim, axis, dropout
        self.attend: Callable[..., Heads] = attend

    def forward(self, x: Features, rotation: Rotation | None = None) -> Features:
        query, key, value = self.qkv.chunk(3)
        if rotation is not None:
            query, key = (in_pairs(weight, self.head_dim) for weight in (query, key))
        heads = self._heads(x, query, rotation), self._heads(x, key, rotation), self._heads(x, value, None)
        dropout = self.dropout if self.training else 0.0
        mixed = self.attend(*heads, dropout=dropout)
        return linear(mixed.transpose(1, 2).reshape(*x.shape[:-1], -1), self.out)

    def _heads(self, x: Features, weight: Float[Tensor, "Hd D"], rotation: Rotation | None) -> Heads:
        """Project with one of the three weights, so that no heads are copied.

        In `B I K D` attention over positions takes the K symbols as further heads, (B, I, K·H, d), and attention over
        symbols takes B·I as the batch.
        """
        before, length = math.prod(x.shape[: self.axis]), x.shape[self.axis]
        heads = linear(x, weight).reshape(before, length, -1, self.head_dim)
        return (heads if rotation is None else rotate(heads, rotation)).transpose(1, 2)


def attend(query: Heads, key: Heads, value: Heads, *, dropout: float = 0.0) -> Heads:
    """Compute scaled dot-product attention of N independent sequences."""
    return F.scaled_dot_product_attention(query, key, value, dropout_p=dropout)


def in_pairs(weight: Float[Tensor, "Hd D"], head_dim: int) -> Float[Tensor, "Hd D"]:
    """Interleave the halves of each head: 0, d/2, 1, d/2+1, …, as feature i rotates with i + d/2, and `rotate` takes
    neighbours.

    Queries and keys in the same new order give the same scores.
    """
    halves: Tensor = weight.unflatten(0, (-1, 2, head_dim // 2))
    return halves.transpose(1, 2).flatten(0, 2)


def rotate(x: Float[Tensor, "... S H d"], rotation: Rotation) -> Float[Tensor, "... S H d"]:
    """Multiply neighbouring features, as the complex number x₁ + i·x₂, by e^{iθ} of their position."""
    cos, sin = (table[:, None] for table in rotation)
    pairs = x.float().unflatten(-1, (-1, 2))
    if torch.compiler.is_compiling():  # in real numbers, as torch.compile has no complex ones
        first, second = pairs.unbind(-1)
        turned = torch.stack([first * cos - second * sin, second * cos + first * sin], dim=-1)
    else:
        turned = torch.view_as_real(torch.view_as_complex(pairs) * torch.complex(cos, sin))
    return turned.flatten(-2).to(x.dtype)


@lru_cache(maxsize=64)
def rotation_table(
    angles: Callable[[int, int], Angles],
    num_positions: int,
    head_dim: int,
    device: torch.device,
    *,
    num_before: int = 0,
    num_after: int = 0,
    score_scale: float = 1.0,
) -> Rotation | None:
    """(cos, sin) of an encoding's angles, with unrotated positions before and after the grid.

    Both are multiplied by the root of `score_scale`. This scales the queries and keys they turn, and so the scores.
    Encodings that rotate nothing have no table unless scores are scaled.
    Cached, so that it is copied to the device once, not at every step.
    """
    if angles is no_angles and score_scale == 1.0:
        return None
    # Training can then use a table that was first made for a prediction, and a prediction one made for an export.
    # (torch.compile, which knows no such context, does not fill the cache.)
    no_modes = nullcontext() if torch.compiler.is_dynamo_compiling() else _disable_current_modes()
    with torch.inference_mode(False), no_modes:
        wide = angles(num_positions, head_dim).astype(np.float64)
        padded = np.pad(wide, ((num_before, num_after), (0, 0)))
        scale = math.sqrt(score_scale)
        # Rounded once, from float64, so that the table is the same on every computer.
        cos, sin = (torch.from_numpy((scale * f(padded)).astype(np.float32)) for f in (np.cos, np.sin))
        return cos.to(device), sin.to(device)
