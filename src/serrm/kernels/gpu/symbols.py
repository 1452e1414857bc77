"""norm(x + attention over the symbols of a position) of equation 8 as one Triton kernel forward and one backward.

A program computes as many whole sequences as fit its rows, separated by a block-diagonal mask, because with so few
symbols the products with the weights are nearly all of the work. To save registers it reads the weights head by head,
and for each head x again, in blocks of features. PyTorch's products sum the gradients of the weights, in a fixed order,
and that of x, for which the backward kernel has no registers left.
"""

import math
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from serrm.kernels.gpu.rows import (
    product,
    read_norm_gradient,
    read_rows,
    read_weight,
    write_norm,
    write_rows,
)

ROWS_OF_PROGRAM, FEATURES = 64, 64
WARPS, STAGES = 8, 1


@triton.jit
def _rows(num_rows, K: tl.constexpr, ROWS: tl.constexpr):
    """Return a program's first row, the numbers of its rows, a mask of those in use, and one of pairs in a sequence."""
    rows = tl.arange(0, ROWS)
    in_use: tl.constexpr = ROWS // K * K
    start = tl.program_id(0).to(tl.int64) * in_use
    is_row = (rows < in_use) & (rows < num_rows - start)
    return start, rows, is_row, rows[:, None] // K == rows[None, :] // K


@triton.jit
def _heads(
    x_at, qkv_at, rows, is_row, head, HEADS: tl.constexpr, D: tl.constexpr, HEAD: tl.constexpr,
    ROWS: tl.constexpr, FEATURES: tl.constexpr,
):  # fmt: skip
    """Compute queries, keys and values of a head."""
    query = tl.zeros((ROWS, HEAD), tl.float32)
    key = query
    value = query
    for first in tl.range(0, D, FEATURES, num_stages=2):
        offsets = rows[:, None] * D + (first + tl.arange(0, FEATURES))[None, :]
        x = tl.load(x_at + offsets, mask=is_row[:, None], other=0.0)
        query_weight = read_weight(qkv_at, head * HEAD, first, D, HEAD, FEATURES)
        key_weight = read_weight(qkv_at, (HEADS + head) * HEAD, first, D, HEAD, FEATURES)
        value_weight = read_weight(qkv_at, (2 * HEADS + head) * HEAD, first, D, HEAD, FEATURES)
        query = product(x, tl.trans(query_weight), query)
        key = product(x, tl.trans(key_weight), key)
        value = product(x, tl.trans(value_weight), value)
    dtype = x_at.dtype.element_ty
    return query.to(dtype), key.to(dtype), value.to(dtype)


@triton.jit
def _weights(query, key, is_same, SCALE: tl.constexpr):
    """Compute the softmax over the symbols of a row's sequence, in float32."""
    zeros = tl.zeros((query.shape[0], query.shape[0]), tl.float32)
    scores = tl.where(is_same, product(query, tl.trans(key), zeros) * SCALE, float("-inf"))
    weights = tl.exp(scores - tl.max(scores, axis=1)[:, None])
    return weights / tl.sum(weights, axis=1)[:, None]


@triton.jit
def _forward(
    x_at, qkv_at, out_at, y_at, scale_at, num_rows, SCALE: tl.constexpr, HEADS: tl.constexpr,
    K: tl.constexpr, D: tl.constexpr, HEAD: tl.constexpr, ROWS: tl.constexpr, FEATURES: tl.constexpr,
):  # fmt: skip
    start, rows, is_row, is_same = _rows(num_rows, K, ROWS)
    x_at += start * D
    dtype = x_at.dtype.element_ty
    z = read_rows(x_at, rows, is_row, D).to(tl.float32)
    for head in range(HEADS):
        query, key, value = _heads(x_at, qkv_at, rows, is_row, head, HEADS, D, HEAD, ROWS, FEATURES)
        weights = _weights(query, key, is_same, SCALE).to(dtype)
        head_output = product(weights, value, tl.zeros((ROWS, HEAD), tl.float32)).to(dtype)
        z = product(head_output, tl.trans(read_weight(out_at, 0, head * HEAD, HEADS * HEAD, D, HEAD)), z)
    write_norm(z, y_at + start * D, scale_at + start, rows, is_row, D)


@triton.jit
def _backward(
    x_at, qkv_at, out_at, y_at, scale_at, dy_at, dz_at, head_output_at, d_qkv_at, num_rows,
    SCALE: tl.constexpr, HEADS: tl.constexpr, K: tl.constexpr, D: tl.constexpr, HEAD: tl.constexpr,
    ROWS: tl.constexpr, FEATURES: tl.constexpr,
):  # fmt: skip
    start, rows, is_row, is_same = _rows(num_rows, K, ROWS)
    dtype = x_at.dtype.element_ty
    x_at += start * D
    dz = read_norm_gradient(y_at + start * D, dy_at + start * D, scale_at + start, rows, is_row, D).to(dtype)
    write_rows(dz_at + start * D, rows, is_row, dz, D)
    zeros = tl.zeros((ROWS, HEAD), tl.float32)
    width: tl.constexpr = HEADS * HEAD
    head_output_at += start * width
    d_qkv_at += start * (3 * width)
    for head in range(HEADS):
        query, key, value = _heads(x_at, qkv_at, rows, is_row, head, HEADS, D, HEAD, ROWS, FEATURES)
        weights = _weights(query, key, is_same, SCALE)
        rounded = weights.to(dtype)
        features = head * HEAD + tl.arange(0, HEAD)
        offsets = rows[:, None] * width + features[None, :]
        tl.store(head_output_at + offsets, product(rounded, value, zeros).to(dtype), mask=is_row[:, None])
        d_head_output = product(dz, read_weight(out_at, 0, head * HEAD, width, D, HEAD), zeros).to(dtype)
        offsets = rows[:, None] * (3 * width) + features[None, :]
        d_value = product(tl.trans(rounded), d_head_output, zeros).to(dtype)
        tl.store(d_qkv_at + offsets + 2 * width, d_value, mask=is_row[:, None])
        d_weights = product(d_head_output, tl.trans(value), tl.zeros((ROWS, ROWS), tl.float32))
        mean = tl.sum(weights * d_weights, axis=1)[:, None]
        d_scores = (weights * (d_weights - mean) * SCALE).to(dtype)
        d_query = product(d_scores, key, zeros).to(dtype)
        tl.store(d_qkv_at + offsets, d_query, mask=is_row[:, None])
        d_key = product(tl.trans(d_scores), query, zeros).to(dtype)
        tl.store(d_qkv_at + offsets + width, d_key, mask=is_row[:, None])


def sizes(num_symbols: int, width: int, num_heads: int, head_dim: int) -> dict[str, int | float]:
    """Return a program's constants, with which it fits the registers and the 227 KB of shared memory of an H100."""
    return {
        "SCALE": 1 / math.sqrt(head_dim),
        "HEADS": num_heads,
        "K": num_symbols,
        "D": width,
        "HEAD": head_dim,
        "ROWS": ROWS_OF_PROGRAM,
        "FEATURES": min(FEATURES, width),
        "num_warps": WARPS,
        "num_stages": STAGES,
    }


def _sizes(x: Tensor, out: Tensor, num_heads: int) -> dict[str, int | float]:
    return sizes(x.shape[-2], x.shape[-1], num_heads, out.shape[1] // num_heads)


def _grid(x: Tensor) -> tuple[int]:
    num_symbols = x.shape[-2]
    return (triton.cdiv(math.prod(x.shape[:-2]), ROWS_OF_PROGRAM // num_symbols),)


@torch.library.custom_op("serrm::symbols_forward", mutates_args=())
def symbols(x: Tensor, qkv: Tensor, out: Tensor, num_heads: int) -> tuple[Tensor, Tensor]:
    """Compute norm(x + attention(x)) of `... K D` over K, and one over the root mean square of each row."""
    x, qkv, out = x.contiguous(), qkv.contiguous(), out.contiguous()
    y, scale = torch.empty_like(x), x.new_empty(x.shape[:-1], dtype=torch.float32)
    _forward[_grid(x)](x, qkv, out, y, scale, scale.numel(), **_sizes(x, out, num_heads))
    return y, scale


@torch.library.custom_op("serrm::symbols_backward", mutates_args=())
def symbols_backward(
    x: Tensor, qkv: Tensor, out: Tensor, num_heads: int, y: Tensor, scale: Tensor, dy: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute the gradients of x and of both weights."""
    x, qkv, out, dy = x.contiguous(), qkv.contiguous(), out.contiguous(), dy.contiguous()
    num_rows, width = scale.numel(), x.shape[-1]
    dz, head_output, d_qkv = (x.new_empty(num_rows, size) for size in (width, out.shape[1], qkv.shape[0]))
    tensors = (x, qkv, out, y, scale, dy, dz, head_output, d_qkv)
    _backward[_grid(x)](*tensors, num_rows, **_sizes(x, out, num_heads))
    weight_gradients = d_qkv.T @ x.view(num_rows, width), dz.T @ head_output
    return dz.addmm_(d_qkv, qkv).view(x.shape), *weight_gradients


@symbols.register_fake
def _(x: Tensor, qkv: Tensor, out: Tensor, num_heads: int) -> tuple[Tensor, Tensor]:
    return x.new_empty(x.shape), x.new_empty(x.shape[:-1], dtype=torch.float32)


@symbols_backward.register_fake
def _(
    x: Tensor, qkv: Tensor, out: Tensor, num_heads: int, y: Tensor, scale: Tensor, dy: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    return x.new_empty(x.shape), qkv.new_empty(qkv.shape), out.new_empty(out.shape)


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    *tensors, ctx.num_heads = inputs
    ctx.save_for_backward(*tensors, *output)


def _gradients(ctx: Any, dy: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
    x, qkv, out, y, scale = ctx.saved_tensors
    return *symbols_backward(x, qkv, out, ctx.num_heads, y, scale, dy), None


symbols.register_autograd(_gradients, setup_context=_save)
