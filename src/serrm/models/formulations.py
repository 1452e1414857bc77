"""Ways to compute softmax attention with PyTorch, equal but for rounding, and which one a shape gets.

The choice is read from a committed table that `benchmarks/attention.py` measures, never timed at run time: the same
inputs give the same numbers on every run. Native kernels, where they fit, come before all of these (kernels/cpu/).
"""

import json
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from serrm.models.sizes import LONG

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
TABLE = Path(__file__).with_name("attention.json")  # device -> dtype -> attended length -> formulation

# What fused attention may run on: the first of these that takes the dtype and size. cuDNN's, which PyTorch prefers on
# some GPUs, is none of them: its sums have no fixed order, and dropout draws other masks for another backend.
BACKENDS = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]

Heads = Float[Tensor, "N H S d"]
Mix = Callable[[Heads, Heads, Heads, float], Heads]  # (query, key, value, dropout) → what the heads give


def by_matmul(query: Heads, key: Heads, value: Heads, dropout: float) -> Heads:
    """Matmul, softmax, matmul: on the short axes here the fastest on a CPU."""
    scores = (query * query.shape[-1] ** -0.5) @ key.transpose(-1, -2)
    # PyTorch's softmax of bfloat16 computes in float32 and rounds once.
    return F.dropout(scores.softmax(-1), dropout) @ value


def by_fused(query: Heads, key: Heads, value: Heads, dropout: float) -> Heads:
    """PyTorch's fused attention, which never stores all scores and copies no heads."""
    with sdpa_kernel(BACKENDS):
        return F.scaled_dot_product_attention(query, key, value, dropout_p=dropout)


FORMULATIONS: dict[str, Mix] = {"matmul": by_matmul, "fused": by_fused}


# By device and arithmetic (length, formulation), ascending; read once, not when a network is compiled.
MEASURED = {
    (device, DTYPES[dtype]): [
        (int(length), FORMULATIONS[name])
        for length, name in sorted(rows.items(), key=lambda row: int(row[0]))
    ]
    for device, dtypes in json.loads(TABLE.read_text()).items()
    for dtype, rows in dtypes.items()
}


def formulation(device: str, dtype: torch.dtype, length: int) -> Mix:
    """The formulation for an attended axis of this length: that of the largest measured length not above it."""
    measured = MEASURED.get((device, dtype))
    if not measured:
        return by_fused if length >= LONG else by_matmul
    not_above = [mix for shortest, mix in measured if shortest <= length]
    return not_above[-1] if not_above else measured[0][1]
