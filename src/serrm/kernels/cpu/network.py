"""A network run by native kernels: the same sublayers, residuals and norms, each as one call (equations 4 to 9).

Numbers differ from the plain form in rounding only: a sublayer stays in float32 from its last product to its norm.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import BFloat16
from torch import Tensor, nn

from serrm.kernels.cpu import kernels
from serrm.kernels.cpu.build import has_kernels
from serrm.kernels.cpu.kernels import AttentionCall, Packed
from serrm.models.layers import Attention, Rotation, SwiGLU

LANES = 16  # numbers that an instruction takes at once


@dataclass
class GatedSublayer:
    """norm(x + SwiGLU(x)), its weights packed."""

    layer: SwiGLU
    gate_up: Packed
    down: Packed

    def __call__(self, x: BFloat16[Tensor, "*places D"]) -> BFloat16[Tensor, "*places D"]:
        """The sublayer, differentiable where gradients are on."""
        y: Tensor
        if _needs_gradient(x, self.layer.gate_up):
            y = _Gated.apply(x, self.layer.gate_up, self.layer.down, self)  # type: ignore[no-untyped-call]
        else:
            y, *_ = kernels.gated_forward(x, self.gate_up, self.down, self.layer.down.shape[1], is_kept=False)
        return y


@dataclass
class AttentionSublayer:
    """norm(x + attention(x)) along one axis, its weights packed."""

    layer: Attention
    qkv: Packed
    out: Packed
    rotation: Rotation | None

    def __call__(self, x: BFloat16[Tensor, "*places D"]) -> BFloat16[Tensor, "*places D"]:
        """The sublayer, differentiable where gradients are on."""
        y: Tensor
        call = self._call(x)
        if _needs_gradient(x, self.layer.qkv):
            y = _Attention.apply(x, self.layer.qkv, self.layer.out, self, call)  # type: ignore[no-untyped-call]
        else:
            y, *_ = kernels.attention_forward(call, x, self.qkv, self.out, is_kept=False)
        return y

    def _call(self, x: Tensor) -> AttentionCall:
        layer, axis = self.layer, x.ndim + self.layer.axis
        outer, inner = x.shape[:axis].numel(), x.shape[axis + 1 : -1].numel()
        sizes = (outer, x.shape[axis], inner, x.shape[-1], layer.num_heads, layer.head_dim)
        tables = (None, None) if self.rotation is None else (table.data_ptr() for table in self.rotation)
        dropout = layer.dropout if layer.training else 0.0
        seed = int(torch.randint(2**62, ())) if dropout else 0
        return AttentionCall(*sizes, torch.get_num_threads(), *tables, dropout, seed)


class NativeNetwork:
    """`Network` for one step: its weights, packed when the step begins, and the rotation of its positions."""

    def __init__(self, layers: Sequence[Sequence[nn.Module]], rotation: Rotation | None) -> None:
        self.sublayers = [
            _packed(part, rotation if place == 0 else None)
            for parts in layers
            for place, part in enumerate(parts)
        ]

    def __call__(
        self, x: BFloat16[Tensor, "*places D"], injection: BFloat16[Tensor, "*places D"]
    ) -> BFloat16[Tensor, "*places D"]:
        """One application: x + injection through every sublayer."""
        x = (x + injection).contiguous()
        for sublayer in self.sublayers:
            x = sublayer(x)
        return x


def fits(layers: Sequence[Sequence[nn.Module]], like: Tensor) -> bool:
    """Whether the kernels can run these layers on a state such as `like`."""
    if like.dtype != torch.bfloat16 or like.device.type != "cpu":
        return False
    return all(_fits(part) for parts in layers for part in parts) and has_kernels()


def _fits(part: nn.Module) -> bool:
    """Sizes that fill whole registers."""
    if isinstance(part, SwiGLU):
        width, inner = part.down.shape
        return width % LANES == 0 and inner % (2 * LANES) == 0
    if isinstance(part, Attention):
        return part.out.shape[0] % LANES == 0 and part.head_dim % LANES == 0
    return False


def _packed(part: nn.Module, rotation: Rotation | None) -> Callable[[Tensor], Tensor]:
    """A sublayer ready to run."""
    has_backward = torch.is_grad_enabled()
    if isinstance(part, SwiGLU):
        gate_up = kernels.pack(part.gate_up, is_gated=True, has_backward=has_backward)
        return GatedSublayer(part, gate_up, kernels.pack(part.down, has_backward=has_backward))
    assert isinstance(part, Attention), "only what fits is run here"
    qkv, out = (kernels.pack(weight, has_backward=has_backward) for weight in (part.qkv, part.out))
    return AttentionSublayer(part, qkv, out, rotation)


def _needs_gradient(*tensors: Tensor) -> bool:
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


class _Gated(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, gate_up: Tensor, down: Tensor, sublayer: GatedSublayer) -> Tensor:
        packs = sublayer.gate_up, sublayer.down
        y, scale, kept = kernels.gated_forward(x, *packs, down.shape[1], is_kept=True)
        ctx.save_for_backward(x, y, scale, kept)
        ctx.packs, ctx.shapes = packs, (gate_up.shape, down.shape)
        return y

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        dy = grads[0].contiguous()
        gate_up, down = ctx.packs
        return *kernels.gated_backward(ctx.saved_tensors, dy, gate_up, down, ctx.shapes), None


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, qkv: Tensor, out: Tensor, sublayer: AttentionSublayer, call: AttentionCall
    ) -> Tensor:
        packs = sublayer.qkv, sublayer.out
        y, *others = kernels.attention_forward(call, x, *packs, is_kept=True)
        ctx.save_for_backward(x, y, *others)
        ctx.call, ctx.packs, ctx.shapes = call, packs, (qkv.shape, out.shape)
        ctx.rotation = sublayer.rotation  # the call points into it
        return y

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        dy = grads[0].contiguous()
        qkv, out = ctx.packs
        gradients = kernels.attention_backward(ctx.call, ctx.saved_tensors, dy, qkv, out, ctx.shapes)
        return *gradients, None, None
