"""The native kernels as Python functions on tensors: packed weights, and the sublayers forward and backward.

States are contiguous bfloat16 on the CPU, weights and their gradients float32. Callers see to that (network.py).
"""

import ctypes
from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import BFloat16, Float32
from torch import Tensor

from serrm.kernels.cpu.build import library

BF16 = torch.bfloat16
# Enough for a thread to do between two barriers, and what they leave still fits its cache.
ROWS_A_THREAD = 480

State = BFloat16[Tensor, "*places D"]
Weight = Float32[Tensor, "num_out num_in"]
Gradients = tuple[Tensor, Tensor, Tensor]  # of the input and of the two weights


class Packed(NamedTuple):
    """A weight in the order in which x·Wᵀ reads it, and dy·W."""

    forward: BFloat16[Tensor, " numbers"]
    backward: BFloat16[Tensor, " numbers"] | None


class AttentionCall(ctypes.Structure):
    """`struct Attention` of sublayers.cpp: x is outer × length × inner rows, the attended axis is `length`."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("outer", "length", "inner", "width")),
        *((name, ctypes.c_int64) for name in ("heads", "head_dim", "threads")),
        ("cos", ctypes.c_void_p),
        ("sin", ctypes.c_void_p),
        ("dropout", ctypes.c_double),
        ("seed", ctypes.c_int64),
    )


class GatedCall(ctypes.Structure):
    """`struct Gated` of sublayers.cpp: rows of `width`, `inner` gates."""

    _fields_ = tuple((name, ctypes.c_int64) for name in ("rows", "width", "inner", "threads"))


def pack(weight: Weight, *, is_gated: bool = False, has_backward: bool) -> Packed:
    """Round and reorder a weight; `is_gated` for SwiGLU's gate and up rows, whose products are used together."""
    forward = torch.empty(weight.numel(), dtype=BF16)
    backward = torch.empty_like(forward) if has_backward else None
    weight = weight.detach().contiguous()
    sizes = (ctypes.c_int64(size) for size in weight.shape)
    library().pack(_at(weight), *sizes, ctypes.c_int(is_gated), _at(forward), _at(backward))
    return Packed(forward, backward)


def gated_forward(
    call: GatedCall, x: State, gate_up: Packed, down: Packed, *, is_kept: bool
) -> tuple[State, Float32[Tensor, " rows"], BFloat16[Tensor, "rows twice_inner"] | None]:
    """norm(x + SwiGLU(x)), one over the root mean squares, and gates and ups if they are to be kept."""
    y, scale = torch.empty_like(x), torch.empty(call.rows)
    kept = torch.empty(call.rows, 2 * call.inner, dtype=BF16) if is_kept else None
    tensors = (x, gate_up.forward, down.forward, y, scale, kept)
    library().gated_forward(ctypes.byref(call), *map(_at, tensors))
    return y, scale, kept


def gated_backward(
    call: GatedCall,
    saved: Sequence[Tensor],
    dy: State,
    gate_up: Packed,
    down: Packed,
    shapes: Sequence[torch.Size],
) -> Gradients:
    """Gradients of `gated_forward` from x, y, scale, kept and that of y."""
    x, _, _, kept = saved
    dz, dx, changes = torch.empty_like(x), torch.empty_like(x), torch.empty_like(kept)
    hidden = torch.empty(call.rows, call.inner, dtype=BF16)
    d_gate_up, d_down = (torch.empty(shape) for shape in shapes)
    tensors = (*saved, dy, gate_up.backward, down.backward, dz, hidden, changes, dx, d_gate_up, d_down)
    library().gated_backward(ctypes.byref(call), *map(_at, tensors))
    return dx, d_gate_up, d_down


def attention_forward(
    call: AttentionCall, x: State, qkv: Packed, out: Packed, *, is_kept: bool
) -> tuple[State, Float32[Tensor, " rows"], BFloat16[Tensor, "places qkv"], BFloat16[Tensor, "places heads"]]:
    """norm(x + attention(x)), one over the root mean squares; queries, keys and values; what the heads gave.

    The last two cover every row only if they are to be kept.
    """
    outer = call.outer if is_kept else min(_chunk(call), call.outer)
    rows, across = outer * call.length * call.inner, call.heads * call.head_dim
    y, scale = torch.empty_like(x), torch.empty(x.numel() // call.width)
    kept, mixed = (torch.empty(rows, size, dtype=BF16) for size in (3 * across, across))
    pointers = map(_at, (x, qkv.forward, out.forward, y, scale, kept, mixed))
    library().attention_forward(
        ctypes.byref(call), *pointers, ctypes.c_int64(_chunk(call)), ctypes.c_int(is_kept)
    )
    return y, scale, kept, mixed


def attention_backward(
    call: AttentionCall,
    saved: Sequence[Tensor],
    dy: State,
    qkv: Packed,
    out: Packed,
    shapes: Sequence[torch.Size],
) -> Gradients:
    """Gradients of `attention_forward` from x, y, scale, kept, mixed and that of y."""
    x, _, _, kept, mixed = saved
    dz, dx, d_mixed, changes = (torch.empty_like(part) for part in (x, x, mixed, kept))
    d_qkv, d_out = (torch.empty(shape) for shape in shapes)
    before = map(_at, (*saved, dy, qkv.backward, out.backward, dz, d_mixed, changes, dx))
    library().attention_backward(
        ctypes.byref(call), *before, ctypes.c_int64(_chunk(call)), _at(d_qkv), _at(d_out)
    )
    return dx, d_qkv, d_out


def _chunk(call: AttentionCall) -> int:
    """How many outer parts go through the phases of an attention together."""
    return -(-ROWS_A_THREAD * int(call.threads) // (int(call.length) * int(call.inner)))


def _at(tensor: Tensor | None) -> ctypes.c_void_p:
    assert tensor is None or tensor.is_contiguous()
    return ctypes.c_void_p(None if tensor is None else tensor.data_ptr())
