"""Attention on a GPU: several short sequences as one, and no more sequences at once than a CUDA grid takes.

`accelerate` gives it to the attention layers of a model in place of `serrm.models.layers.attend`.
"""

import sys

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from serrm.models.layers import Heads

TILE = 128  # queries by keys that PyTorch's attention computes at once on a GPU
CUDA_GRID = 65_535  # blocks along the second axis of a CUDA grid


def attend(query: Heads, key: Heads, value: Heads, *, dropout: float = 0.0) -> Heads:
    """Scaled dot-product attention of N independent sequences; where torch.compile runs, several short ones as one."""
    num = num_in_tile(*query.shape[::2]) if torch.compiler.is_compiling() else 1
    if num > 1:
        return attend_packed(query, key, value, num, dropout=dropout)
    return attend_in_parts(query, key, value, dropout=dropout)


def attend_packed(query: Heads, key: Heads, value: Heads, num: int, *, dropout: float = 0.0) -> Heads:
    """Attention of short sequences, `num` of them as one, with a block-diagonal mask that keeps them apart.

    On a GPU PyTorch's attention computes tiles of 128 queries by 128 keys, so with the 9 symbols of a Sudoku one
    sequence at a time nearly all of its products are wasted.
    """
    sequences, num_heads, length, head_dim = query.shape

    def packed(heads: Heads) -> Float[Tensor, "few H long d"]:
        joined = heads.transpose(1, 2).reshape(sequences // num, num * length, num_heads, head_dim)
        return joined.transpose(1, 2)

    sequence = torch.arange(num * length, device=query.device) // length
    mixed = attend_in_parts(
        packed(query), packed(key), packed(value), mask=sequence[:, None] == sequence, dropout=dropout
    )
    return mixed.transpose(1, 2).reshape(sequences, length, num_heads, head_dim).transpose(1, 2)


def attend_in_parts(
    query: Heads,
    key: Heads,
    value: Heads,
    *,
    mask: Bool[Tensor, "S S"] | None = None,
    dropout: float = 0.0,
) -> Heads:
    """PyTorch's attention, on a GPU of at most 65,535 sequences at once.

    A CUDA grid has no more blocks along its second axis, where PyTorch's kernels put N, and they raise "invalid
    argument" beyond. Attention over symbols has a sequence per puzzle and position, so that is 809 puzzles of 9×9.
    """
    most = most_sequences(query.device)
    parts = zip(query.split(most), key.split(most), value.split(most), strict=True)
    mixed = [F.scaled_dot_product_attention(*part, attn_mask=mask, dropout_p=dropout) for part in parts]
    return mixed[0] if len(mixed) == 1 else torch.cat(mixed)


def num_in_tile(num: int, length: int) -> int:
    """The most of `num` sequences that together fit a tile and that divide `num`."""
    return next(most for most in range(max(1, TILE // length), 0, -1) if num % most == 0)


def most_sequences(device: torch.device) -> int:
    """The most sequences that a call of attention takes on a device."""
    return CUDA_GRID if device.type == "cuda" else sys.maxsize
