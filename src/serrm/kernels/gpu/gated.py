"""norm(x + SwiGLU(x)) of equation 9 as one Triton kernel forward and one backward.

A program computes a block of rows and reads the weights in blocks of gates. The backward kernel computes the gates
again and writes the gradients of each row, which PyTorch's products sum to those of the weights, in a fixed order.
"""

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

ROWS_OF_PROGRAM, WARPS, STAGES = 64, 8, 2


@triton.jit
def _gate_and_up(x, gate_up_at, first, N: tl.constexpr, D: tl.constexpr, GATES: tl.constexpr):
    gate_weight = read_weight(gate_up_at, first, 0, D, GATES, D)
    up_weight = read_weight(gate_up_at, N + first, 0, D, GATES, D)
    zeros = tl.zeros((x.shape[0], GATES), tl.float32)
    return product(x, tl.trans(gate_weight), zeros), product(x, tl.trans(up_weight), zeros)


@triton.jit
def _forward(
    x_at, gate_up_at, down_at, y_at, scale_at, num_rows,
    N: tl.constexpr, D: tl.constexpr, ROWS: tl.constexpr, GATES: tl.constexpr,
):  # fmt: skip
    start, rows = tl.program_id(0).to(tl.int64) * ROWS, tl.arange(0, ROWS)
    is_row = rows < num_rows - start
    x = read_rows(x_at + start * D, rows, is_row, D)
    z = x.to(tl.float32)
    for first in range(0, N, GATES):
        gate, up = _gate_and_up(x, gate_up_at, first, N, D, GATES)
        hidden = (gate * tl.sigmoid(gate) * up).to(x.dtype)
        z = product(hidden, tl.trans(read_weight(down_at, 0, first, N, D, GATES)), z)
    write_norm(z, y_at + start * D, scale_at + start, rows, is_row, D)


@triton.jit
def _backward(
    x_at, gate_up_at, down_at, y_at, scale_at, dy_at, dx_at, dz_at, hidden_at, d_gate_up_at, num_rows,
    N: tl.constexpr, D: tl.constexpr, ROWS: tl.constexpr, GATES: tl.constexpr,
):  # fmt: skip
    start, rows = tl.program_id(0).to(tl.int64) * ROWS, tl.arange(0, ROWS)
    is_row = rows < num_rows - start
    x = read_rows(x_at + start * D, rows, is_row, D)
    dx = read_norm_gradient(y_at + start * D, dy_at + start * D, scale_at + start, rows, is_row, D)
    dz = dx.to(x.dtype)
    write_rows(dz_at + start * D, rows, is_row, dz, D)
    hidden_at += start * N
    d_gate_up_at += start * (2 * N)
    for first in range(0, N, GATES):
        gate, up = _gate_and_up(x, gate_up_at, first, N, D, GATES)
        down = read_weight(down_at, 0, first, N, D, GATES)
        d_hidden = product(dz, down, tl.zeros((ROWS, GATES), tl.float32))
        share = tl.sigmoid(gate)
        silu = gate * share
        d_gate = (d_hidden * up * share * (1 + gate * (1 - share))).to(x.dtype)
        d_up = (d_hidden * silu).to(x.dtype)
        columns = first + tl.arange(0, GATES)
        offsets = rows[:, None] * N + columns[None, :]
        tl.store(hidden_at + offsets, (silu * up).to(x.dtype), mask=is_row[:, None])
        offsets = rows[:, None] * (2 * N) + columns[None, :]
        tl.store(d_gate_up_at + offsets, d_gate, mask=is_row[:, None])
        tl.store(d_gate_up_at + offsets + N, d_up, mask=is_row[:, None])
        dx = product(d_gate, read_weight(gate_up_at, first, 0, D, GATES, D), dx)
        dx = product(d_up, read_weight(gate_up_at, N + first, 0, D, GATES, D), dx)
    write_rows(dx_at + start * D, rows, is_row, dx, D)


def sizes(width: int, inner: int, *, is_backward: bool) -> dict[str, int]:
    """Return a program's constants, with which it fits the registers and the 227 KB of shared memory of an H100."""
    max_gates = 16 if is_backward and width > 128 else 32
    return {
        "N": inner,
        "D": width,
        "ROWS": ROWS_OF_PROGRAM,
        "GATES": min(max_gates, inner & -inner),  # a power of two that divides the number of gates
        "num_warps": WARPS,
        "num_stages": STAGES,
    }


@torch.library.custom_op("serrm::gated_forward", mutates_args=())
def gated(x: Tensor, gate_up: Tensor, down: Tensor) -> tuple[Tensor, Tensor]:
    """Compute norm(x + SwiGLU(x)), and one over the root mean square of each row."""
    x, gate_up, down = x.contiguous(), gate_up.contiguous(), down.contiguous()
    y, scale = torch.empty_like(x), x.new_empty(x.shape[:-1], dtype=torch.float32)
    grid = (triton.cdiv(scale.numel(), ROWS_OF_PROGRAM),)
    constants = sizes(x.shape[-1], down.shape[1], is_backward=False)
    _forward[grid](x, gate_up, down, y, scale, scale.numel(), **constants)
    return y, scale


@torch.library.custom_op("serrm::gated_backward", mutates_args=())
def gated_backward(
    x: Tensor, gate_up: Tensor, down: Tensor, y: Tensor, scale: Tensor, dy: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute the gradients of x and of both weights."""
    x, gate_up, down, dy = x.contiguous(), gate_up.contiguous(), down.contiguous(), dy.contiguous()
    num_rows, inner, width = scale.numel(), down.shape[1], x.shape[-1]
    dx, dz = torch.empty_like(x), x.new_empty(num_rows, width)
    hidden, d_gate_up = x.new_empty(num_rows, inner), x.new_empty(num_rows, 2 * inner)
    grid = (triton.cdiv(num_rows, ROWS_OF_PROGRAM),)
    tensors = (x, gate_up, down, y, scale, dy, dx, dz, hidden, d_gate_up)
    _backward[grid](*tensors, num_rows, **sizes(width, inner, is_backward=True))
    return dx, d_gate_up.T @ x.view(num_rows, width), dz.T @ hidden


@gated.register_fake
def _(x: Tensor, gate_up: Tensor, down: Tensor) -> tuple[Tensor, Tensor]:
    return x.new_empty(x.shape), x.new_empty(x.shape[:-1], dtype=torch.float32)


@gated_backward.register_fake
def _(
    x: Tensor, gate_up: Tensor, down: Tensor, y: Tensor, scale: Tensor, dy: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    return x.new_empty(x.shape), gate_up.new_empty(gate_up.shape), down.new_empty(down.shape)


def _save(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, Tensor]) -> None:
    ctx.save_for_backward(*inputs, *output)


def _gradients(ctx: Any, dy: Tensor, _: Tensor) -> tuple[Tensor, ...]:
    gradients: tuple[Tensor, ...] = gated_backward(*ctx.saved_tensors, dy)
    return gradients


gated.register_autograd(_gradients, setup_context=_save)
