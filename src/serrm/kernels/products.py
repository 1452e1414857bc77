"""Matrix products and SiLU that give the same numbers on every processor, for what no sublayer's kernel runs.

PyTorch's library chooses the code of a product, and with it the rounding, by the processor and the number of threads.
In float32 on a CPU the product of the native kernels replaces it: every sum runs in one order, with any vector width
and number of threads. Elsewhere (bfloat16, a GPU, no C++ compiler) products and SiLU are PyTorch's.
"""

import ctypes
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor
from torch.overrides import TorchFunctionMode

from serrm.kernels.cpu.build import has_kernels, library, pointer
from serrm.kernels.cpu.network import LANES


def is_reproducible(like: Tensor) -> bool:
    """Return True if products of tensors like this one give the same numbers on every processor."""
    return like.dtype == torch.float32 and like.device.type == "cpu" and has_kernels(like.dtype)


def product(
    a: Float[Tensor, "m k"], b: Float[Tensor, "k n"], *, is_native: bool = True
) -> Float[Tensor, "m n"]:
    """Compute a·b by the kernel, without gradient, if `is_native` and where `is_reproducible`, else by PyTorch."""
    if not is_native or not is_reproducible(a) or b.dtype != a.dtype:
        return a @ b
    (num_rows, num_terms), num_columns = a.shape, b.shape[1]
    if num_rows * num_terms * num_columns == 0:
        return a.new_zeros(num_rows, num_columns)
    right = F.pad(b.detach(), (0, -num_columns % LANES)).contiguous()  # with rows of whole vectors
    out = torch.empty(num_rows, right.shape[1])
    a_sizes, b_sizes = map(ctypes.c_int64, (*a.stride(), num_rows)), map(ctypes.c_int64, right.shape)
    threads = ctypes.c_int64(torch.get_num_threads())
    library(a.dtype).multiply(
        ctypes.c_void_p(a.data_ptr()), *a_sizes, pointer(right), *b_sizes, pointer(out), threads
    )
    return out[:, :num_columns].contiguous()


class _Linear(torch.autograd.Function):
    """x·Wᵀ by `product`, with the gradients of both."""

    @staticmethod
    def forward(
        ctx: Any, x: Float[Tensor, "rows k"], weight: Float[Tensor, "n k"]
    ) -> Float[Tensor, "rows n"]:
        ctx.save_for_backward(x, weight)
        return product(x, weight.T)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        x, weight = ctx.saved_tensors
        return product(gradients[0], weight), product(gradients[0].T, x)


def reproducible_linear(
    x: Float[Tensor, "... k"], weight: Float[Tensor, "n k"], bias: Float[Tensor, " n"] | None = None
) -> Float[Tensor, "... n"]:
    """Compute x·Wᵀ + b as `torch.nn.functional.linear`, differentiable, reproducible where `is_reproducible`."""
    if not is_reproducible(x) or weight.dtype != x.dtype:
        return F.linear(x, weight, bias)
    flat: Tensor = _Linear.apply(x.reshape(-1, x.shape[-1]), weight)  # type: ignore[no-untyped-call]
    result = flat.reshape(*x.shape[:-1], -1)
    return result if bias is None else result + bias


def reproducible_silu(x: Float[Tensor, "..."], inplace: bool = False) -> Float[Tensor, "..."]:
    """Compute x·σ(x) as `torch.nn.functional.silu`, differentiable, rounded from float64 where `is_reproducible`.

    PyTorch computes the last values of each thread's part of an array by other code than the rest, as in its sigmoid
    (see `serrm.models.q_head.rounded_sigmoid`).
    """
    return F.silu(x.double()).to(x.dtype) if is_reproducible(x) and not inplace else F.silu(x, inplace)


REPLACED: Mapping[Callable[..., Any], Callable[..., Any]] = {
    F.linear: reproducible_linear,
    F.silu: reproducible_silu,
}


class Reproducible(TorchFunctionMode):
    """While active, PyTorch's functions in REPLACED call the reproducible ones, so that models need no other code."""

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        return REPLACED.get(function, function)(*args, **(kwargs or {}))
