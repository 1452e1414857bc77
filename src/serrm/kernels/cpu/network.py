"""A network run by native kernels: each sublayer with its residual and norm is one call into C++ (equations 4 to 9).

Numbers differ from the plain form in rounding only: a sublayer stays in float32 from its last product to its norm.
States are contiguous on the CPU, of bfloat16 or float32 numbers; weights and their gradients are float32. A gradient is
named d_ and what it is the gradient of.
"""

import ctypes
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Float32
from torch import Tensor, nn

from serrm.kernels.cpu.build import has_kernels, library, pointer
from serrm.kernels.sublayers import layer_for_kernels
from serrm.models.layers import Attention, Rotation, SwiGLU
from serrm.models.recurrence import Network

LANES = 16  # float32 numbers of a vector in the kernels, which is one register (AVX-512) or two (AVX2)
# Enough work for a thread between two barriers, with intermediate results that still fit its cache.
ROWS_PER_THREAD = 480
# The gradients of the weights are added up after every block of this many rows of the backward pass.
ROWS_OF_GRADIENT = 2048

Rows = Float[Tensor, "*positions D"]  # one state, as rows of features
Weight = Float32[Tensor, "num_out num_in"]


class Packed(NamedTuple):
    """A weight in the order in which x·Wᵀ reads it, and dy·W."""

    forward: Float[Tensor, " numbers"]
    backward: Float[Tensor, " numbers"] | None


Packs = tuple[Packed, Packed]


class WeightGradients:
    """The gradients of a sublayer's two weights, summed over all its applications in one backward pass."""

    def __init__(self, first: Weight, second: Float32[Tensor, "num_out_of_second num_in_of_second"]) -> None:
        self.shapes = first.shape, second.shape
        self.sums: tuple[Tensor, Tensor] | None = None

    def reserve(self) -> tuple[bool, Tensor, Tensor]:
        """Return the memory of the two sums, and before it True if it holds sums to add to."""
        is_added = self.sums is not None
        if self.sums is None:
            self.sums = torch.empty(self.shapes[0]), torch.empty(self.shapes[1])
        return is_added, *self.sums

    def take(self) -> tuple[Tensor, Tensor]:
        """Return the sums and forget them, for the next backward pass."""
        assert self.sums is not None, "no application had a backward pass"
        sums, self.sums = self.sums, None
        return sums


def pack(weight: Weight, dtype: torch.dtype, *, is_gated: bool = False, has_backward: bool) -> Packed:
    """Round and reorder a weight for states of `dtype`.

    `is_gated` is for SwiGLU's gate and up rows, whose products are used together.
    """
    forward = torch.empty(weight.numel(), dtype=dtype)
    backward = torch.empty_like(forward) if has_backward else None
    weight = weight.detach().contiguous()
    sizes = (ctypes.c_int64(size) for size in weight.shape)
    threads = ctypes.c_int64(torch.get_num_threads())
    library(dtype).pack(
        pointer(weight), *sizes, ctypes.c_int(is_gated), threads, pointer(forward), pointer(backward)
    )
    return Packed(forward, backward)


class GatedCall(ctypes.Structure):
    """`struct Gated` of sublayers.cpp, norm(x + SwiGLU(x)): rows of `width`, `inner` gates."""

    _fields_ = tuple((name, ctypes.c_int64) for name in ("rows", "width", "inner", "threads"))

    def forward(
        self, x: Rows, packs: Packs, *, is_kept: bool
    ) -> tuple[Rows, Float32[Tensor, " rows"], Float[Tensor, "rows twice_inner"] | None]:
        """Compute the output, one over the root mean squares, and gates and ups if `is_kept`."""
        y, scale = torch.empty_like(x), torch.empty(self.rows)
        gates_and_ups = torch.empty(self.rows, 2 * self.inner, dtype=x.dtype) if is_kept else None
        tensors = (x, packs[0].forward, packs[1].forward, y, scale, gates_and_ups)
        library(x.dtype).gated_forward(ctypes.byref(self), *map(pointer, tensors))
        return y, scale, gates_and_ups

    def backward(self, saved: tuple[Tensor, ...], dy: Rows, packs: Packs, gradients: WeightGradients) -> Rows:
        """Compute the gradient of x, from x and the results of `forward`; add those of the weights to `gradients`."""
        dx = torch.empty_like(saved[0])
        is_added, d_gate_up, d_down = gradients.reserve()
        rows = min(int(self.rows), ROWS_OF_GRADIENT)
        sizes = (self.width, self.inner, 2 * self.inner)
        dz, hidden, d_gates_and_ups = (torch.empty(rows, size, dtype=dx.dtype) for size in sizes)
        tensors = (*saved, dy, packs[0].backward, packs[1].backward, dz, hidden, d_gates_and_ups, dx)
        numbers = (ctypes.c_int64(rows), ctypes.c_int(is_added))
        library(dx.dtype).gated_backward(
            ctypes.byref(self), *map(pointer, tensors), *numbers, pointer(d_gate_up), pointer(d_down)
        )
        return dx


class AttentionCall(ctypes.Structure):
    """`struct Attention` of sublayers.cpp, norm(x + attention(x)): outer × length × inner rows, over `length`.

    `inner` is the product of the axes between the attended one and the features.
    """

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("outer", "length", "inner", "width")),
        *((name, ctypes.c_int64) for name in ("heads", "head_dim", "threads")),
        ("cos", ctypes.c_void_p),
        ("sin", ctypes.c_void_p),
        ("dropout", ctypes.c_double),
        ("seed", ctypes.c_int64),
    )

    @property
    def chunk(self) -> int:
        """Count the outer indices that go through the phases of an attention together."""
        return self.num_outer(ROWS_PER_THREAD * int(self.threads))

    def num_outer(self, rows: int) -> int:
        """Count the outer indices that have at least `rows` rows together, at most all."""
        return min(int(self.outer), -(-rows // (int(self.length) * int(self.inner))))

    def forward(
        self, x: Rows, packs: Packs, *, is_kept: bool
    ) -> tuple[
        Rows,
        Float32[Tensor, " rows"],
        Float[Tensor, "memory_rows qkv"],
        Float[Tensor, "memory_rows heads_width"],
        Float32[Tensor, "rows heads 2"] | None,
    ]:
        """Compute the output, one over the root mean squares, then what the backward pass needs.

        These are queries, keys and values, the outputs of the heads, and the two numbers of every softmax that turn
        scores into weights. Without `is_kept`, the first two do not cover every row, and the last is None.
        """
        outer = self.outer if is_kept else self.chunk
        rows, heads_width = outer * self.length * self.inner, self.heads * self.head_dim
        y, scale = torch.empty_like(x), torch.empty(x.numel() // self.width)
        projections, head_outputs = (
            torch.empty(rows, size, dtype=x.dtype) for size in (3 * heads_width, heads_width)
        )
        softmax = torch.empty(rows, self.heads, 2) if is_kept else None
        tensors = (x, packs[0].forward, packs[1].forward, y, scale, projections, head_outputs, softmax)
        library(x.dtype).attention_forward(
            ctypes.byref(self), *map(pointer, tensors), ctypes.c_int64(self.chunk)
        )
        return y, scale, projections, head_outputs, softmax

    def backward(self, saved: tuple[Tensor, ...], dy: Rows, packs: Packs, gradients: WeightGradients) -> Rows:
        """Compute the gradient of x, from x and the results of `forward`; add those of the weights to `gradients`."""
        dx = torch.empty_like(saved[0])
        is_added, d_qkv, d_out = gradients.reserve()
        group, heads_width = self.num_outer(ROWS_OF_GRADIENT), self.heads * self.head_dim
        rows, sizes = group * self.length * self.inner, (self.width, heads_width, 3 * heads_width)
        dz, d_head_outputs, d_projections = (torch.empty(rows, size, dtype=dx.dtype) for size in sizes)
        tensors = (*saved, dy, packs[0].backward, packs[1].backward, dz, d_head_outputs, d_projections, dx)
        numbers = (ctypes.c_int64(self.chunk), ctypes.c_int64(group), ctypes.c_int(is_added))
        library(dx.dtype).attention_backward(
            ctypes.byref(self), *map(pointer, tensors), *numbers, pointer(d_qkv), pointer(d_out)
        )
        return dx


class NativeNetwork:
    """`Network` for one supervision step: its weights are packed when the step begins."""

    def __init__(self, network: Network, dtype: torch.dtype) -> None:
        self.layers = [
            [NativeSublayer(sublayer.get_submodule("sublayer"), dtype) for sublayer in layer.children()]
            for layer in network.layers
        ]

    def __call__(self, x: Rows, injection: Rows, rotation: Rotation | None) -> Rows:
        """Apply the network once: x + injection through every sublayer, the first of a layer with the rotation."""
        with torch._C.DisableTorchFunction():  # so `serrm.kernels.products` replaces nothing here
            x = (x + injection).contiguous()
            for position_mixer, *sublayers in self.layers:
                x = position_mixer(x, rotation)
                for sublayer in sublayers:
                    x = sublayer(x, None)
        return x


def fits(network: Network, like: Tensor) -> bool:
    """Return True if the kernels can run every sublayer of a network on a state such as `like`."""
    if like.dtype not in (torch.bfloat16, torch.float32) or like.device.type != "cpu":
        return False
    if type(network).forward is not Network.forward:
        return False
    sublayers = (sublayer for layer in network.layers for sublayer in layer.children())
    return all(_fits(layer_for_kernels(sublayer)) for sublayer in sublayers) and has_kernels(like.dtype)


def _fits(layer: Attention | SwiGLU | None) -> bool:
    """Return True if the sizes of a layer fill whole registers."""
    if isinstance(layer, SwiGLU):
        width, inner = layer.down.shape
        return width % LANES == 0 and inner % (2 * LANES) == 0
    return layer is not None and layer.out.shape[0] % LANES == 0 and layer.head_dim % LANES == 0


class NativeSublayer:
    """norm(x + f(x)) of one layer f, attention or SwiGLU, its two weights packed."""

    def __init__(self, layer: nn.Module, dtype: torch.dtype) -> None:
        assert isinstance(layer, Attention | SwiGLU), "`fits` allows no other layer"
        is_gated = isinstance(layer, SwiGLU)
        self.layer = layer
        self.weights = (layer.gate_up, layer.down) if isinstance(layer, SwiGLU) else (layer.qkv, layer.out)
        has_backward = torch.is_grad_enabled()
        first = pack(self.weights[0], dtype, is_gated=is_gated, has_backward=has_backward)
        self.packs = first, pack(self.weights[1], dtype, has_backward=has_backward)
        self.gradients = WeightGradients(*self.weights)
        # One tensor represents the weights in all applications, so that autograd requests their gradients once.
        self.handle: Tensor = _Weights.apply(*self.weights, self.gradients)  # type: ignore[no-untyped-call]

    def __call__(self, x: Rows, rotation: Rotation | None) -> Rows:
        """Apply the sublayer, differentiably where gradients are on; features have no positions to rotate."""
        call = self._call(x, rotation)
        if torch.is_grad_enabled() and (x.requires_grad or self.weights[0].requires_grad):
            y: Rows = _Differentiable.apply(x, self.handle, self.packs, self.gradients, call, rotation)  # type: ignore[no-untyped-call]
            return y
        return call.forward(x, self.packs, is_kept=False)[0]

    def _call(self, x: Tensor, rotation: Rotation | None) -> AttentionCall | GatedCall:
        layer, threads = self.layer, torch.get_num_threads()
        if isinstance(layer, SwiGLU):
            return GatedCall(x.numel() // x.shape[-1], x.shape[-1], layer.down.shape[1], threads)
        axis = x.ndim + layer.axis
        outer, inner = x.shape[:axis].numel(), x.shape[axis + 1 : -1].numel()
        sizes = (outer, x.shape[axis], inner, x.shape[-1], layer.num_heads, layer.head_dim)
        tables = (None, None) if rotation is None else (table.data_ptr() for table in rotation)
        dropout = layer.dropout if layer.training else 0.0
        seed = int(torch.randint(2**62, ())) if dropout else 0
        return AttentionCall(*sizes, threads, *tables, dropout, seed)


class _Weights(torch.autograd.Function):
    """An empty tensor for two weights, whose backward pass follows those of all applications and returns the sums."""

    @staticmethod
    def forward(ctx: Any, first: Tensor, second: Tensor, gradients: WeightGradients) -> Tensor:
        ctx.gradients = gradients
        return torch.empty(0)

    @staticmethod
    def backward(ctx: Any, *_: Tensor) -> tuple[Tensor | None, ...]:
        return *ctx.gradients.take(), None


class _Differentiable(torch.autograd.Function):
    """A sublayer for autograd, with the gradient of x; those of the weights are added up beside it."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        handle: Tensor,
        packs: Packs,
        gradients: WeightGradients,
        call: AttentionCall | GatedCall,
        rotation: Rotation | None,
    ) -> Tensor:
        y, *intermediate = call.forward(x, packs, is_kept=True)
        ctx.save_for_backward(x, y, *intermediate)
        ctx.call, ctx.packs, ctx.gradients = call, packs, gradients
        ctx.rotation = rotation  # the call points into it
        return y

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        dx = ctx.call.backward(ctx.saved_tensors, grads[0].contiguous(), ctx.packs, ctx.gradients)
        return dx, torch.empty(0), None, None, None, None
