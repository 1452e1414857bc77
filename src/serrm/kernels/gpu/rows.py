"""Functions of all Triton kernels: the rows of a program, products, and the norm with its gradient.

Operands of a product have the dtype of the state, sums are float32. Rows beyond the last are read as zeros and not
written.
"""

import triton
import triton.language as tl

from serrm.models.layers import NORM_EPS

EPS = tl.constexpr(NORM_EPS)


@triton.jit
def product(a, b, total):
    """Compute total + a·b in float32, for float32 operands too, where Triton's default would be tf32."""
    return tl.dot(a, b, acc=total, input_precision="ieee")


@triton.jit
def read_rows(start, rows, is_row, D: tl.constexpr):
    """Read rows of D features of a program's block, which begins at `start`; the mask is one boolean per row."""
    features = tl.arange(0, D)
    return tl.load(start + rows[:, None] * D + features[None, :], mask=is_row[:, None], other=0.0)


@triton.jit
def write_rows(start, rows, is_row, values, D: tl.constexpr):
    """Write rows of D features in the dtype of the memory."""
    features = tl.arange(0, D)
    addresses = start + rows[:, None] * D + features[None, :]
    tl.store(addresses, values.to(start.dtype.element_ty), mask=is_row[:, None])


@triton.jit
def read_weight(start, first_row, first_column, stride, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Read a block of a weight (num_out, num_in) with `stride` numbers per row."""
    rows, columns = first_row + tl.arange(0, ROWS), first_column + tl.arange(0, COLUMNS)
    return tl.load(start + rows[:, None] * stride + columns[None, :])


@triton.jit
def write_norm(z, y_at, scale_at, rows, is_row, D: tl.constexpr):
    """Write y = z·scale and the scale, one over the root mean square of each row."""
    scale = tl.rsqrt(tl.sum(z * z, axis=1) / D + EPS)
    write_rows(y_at, rows, is_row, z * scale[:, None], D)
    tl.store(scale_at + rows, scale, mask=is_row)


@triton.jit
def read_norm_gradient(y_at, dy_at, scale_at, rows, is_row, D: tl.constexpr):
    """Compute the gradient of z, scale · (dy − y · mean(y·dy)), in float32."""
    y = read_rows(y_at, rows, is_row, D).to(tl.float32)
    dy = read_rows(dy_at, rows, is_row, D).to(tl.float32)
    scale = tl.load(scale_at + rows, mask=is_row, other=0.0)
    return scale[:, None] * (dy - y * (tl.sum(y * dy, axis=1) / D)[:, None])
