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
    """Attend within N independent sequences; while torch.compile traces, join several short ones to one."""
    num = num_in_tile(*query.shape[::2]) if torch.compiler.is_compiling() else 1
    if num > 1:
        return attend_packed(query, key, value, num, dropout=dropout)
    return attend_in_parts(query, key, value, dropout=dropout)


def attend_packed(query: Heads, key: Heads, value: Heads, num: int, *, dropout: float = 0.0) -> Heads:
    """Attend within short sequences, with `num` of them as one, separated by a block-diagonal mask.

    On a GPU PyTorch's attention computes tiles of 128 queries by 128 keys, so nearly all of its products would be
    wasted on single sequences of, for example, the 9 symbols of a Sudoku.
    """
    sequences, num_heads, length, head_dim = query.shape

    def pack(heads: Heads) -> Float[Tensor, "few H long d"]:
        long = heads.transpose(1, 2).reshape(sequences // num, num * length, num_heads, head_dim)
        return long.transpose(1, 2)

    sequence = torch.arange(num * length, device=query.device) // length
    outputs = attend_in_parts(
        pack(query), pack(key), pack(value), mask=sequence[:, None] == sequence, dropout=dropout
    )
    return outputs.transpose(1, 2).reshape(sequences, length, num_heads, head_dim).transpose(1, 2)


def attend_in_parts(
    query: Heads,
    key: Heads,
    value: Heads,
    *,
    mask: Bool[Tensor, "S S"] | None = None,
    dropout: float = 0.0,
) -> Heads:
    """Attend by PyTorch's function, on a GPU within at most 65,535 sequences at once.

    A CUDA grid has no more blocks along its second axis, where PyTorch's kernels put N, and they raise "invalid
    argument" beyond. Attention over symbols has a sequence per puzzle and position, so that is 809 puzzles of 9×9.
    """
    limit = most_sequences(query.device)
    parts = zip(query.split(limit), key.split(limit), value.split(limit), strict=True)
    outputs = [F.scaled_dot_product_attention(*part, attn_mask=mask, dropout_p=dropout) for part in parts]
    return outputs[0] if len(outputs) == 1 else torch.cat(outputs)


def num_in_tile(num: int, length: int) -> int:
    """Return the largest divisor of `num` such that as many sequences of `length` fit one tile."""
    return next(count for count in range(max(1, TILE // length), 0, -1) if num % count == 0)


def most_sequences(device: torch.device) -> int:
    """Return the maximum number of sequences in a call of PyTorch's attention on a device."""
    return CUDA_GRID if device.type == "cuda" else sys.maxsize
