"""A network run by native kernels: the same sublayers, residuals and norms, each as one call (equations 4 to 9).

Numbers differ from the plain form in rounding only: a sublayer stays in float32 from its last product to its norm.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import BFloat16
from torch import Tensor, nn

from serrm.kernels.cpu import kernels
from serrm.kernels.cpu.build import has_kernels
from serrm.kernels.cpu.kernels import AttentionCall, Packed
from serrm.models.layers import Attention, Rotation, SwiGLU
from serrm.models.recurrence import Network, Residual

LANES = 16  # numbers that an instruction takes at once


@dataclass
class GatedSublayer:
    """norm(x + SwiGLU(x)), its weights packed."""

    layer: SwiGLU
    gate_up: Packed
    down: Packed

    def __call__(
        self, x: BFloat16[Tensor, "*places D"], rotation: Rotation | None
    ) -> BFloat16[Tensor, "*places D"]:
        """The sublayer, differentiable where gradients are on; features have no positions to rotate."""
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

    def __call__(
        self, x: BFloat16[Tensor, "*places D"], rotation: Rotation | None
    ) -> BFloat16[Tensor, "*places D"]:
        """The sublayer, differentiable where gradients are on."""
        y: Tensor
        call = self._call(x, rotation)
        if _needs_gradient(x, self.layer.qkv):
            weights = self.layer.qkv, self.layer.out
            y = _Attention.apply(x, *weights, self, call, rotation)  # type: ignore[no-untyped-call]
        else:
            y, *_ = kernels.attention_forward(call, x, self.qkv, self.out, is_kept=False)
        return y

    def _call(self, x: Tensor, rotation: Rotation | None) -> AttentionCall:
        layer, axis = self.layer, x.ndim + self.layer.axis
        outer, inner = x.shape[:axis].numel(), x.shape[axis + 1 : -1].numel()
        sizes = (outer, x.shape[axis], inner, x.shape[-1], layer.num_heads, layer.head_dim)
        tables = (None, None) if rotation is None else (table.data_ptr() for table in rotation)
        dropout = layer.dropout if layer.training else 0.0
        seed = int(torch.randint(2**62, ())) if dropout else 0
        return AttentionCall(*sizes, torch.get_num_threads(), *tables, dropout, seed)


class NativeNetwork:
    """`Network` for one step: its weights are packed when the step begins."""

    def __init__(self, network: Network) -> None:
        self.layers = [[_packed(part) for part in parts] for parts in _sublayers(network)]

    def __call__(
        self,
        x: BFloat16[Tensor, "*places D"],
        injection: BFloat16[Tensor, "*places D"],
        rotation: Rotation | None,
    ) -> BFloat16[Tensor, "*places D"]:
        """One application: x + injection through every sublayer, the first of a layer with the rotation."""
        x = (x + injection).contiguous()
        for over_positions, *others in self.layers:
            x = over_positions(x, rotation)
            for sublayer in others:
                x = sublayer(x, None)
        return x


def fits(network: Network, like: Tensor) -> bool:
    """Whether the kernels can run a network on a state such as `like`."""
    if like.dtype != torch.bfloat16 or like.device.type != "cpu":
        return False
    return all(_fits(part) for parts in _sublayers(network) for part in parts) and has_kernels()


def _sublayers(network: Network) -> list[list[nn.Module]]:
    """The parts of every layer without the residual and norm around them."""
    return [
        [part.sublayer if isinstance(part, Residual) else part for part in layer.children()]
        for layer in network.layers
    ]


def _fits(part: nn.Module) -> bool:
    """Sizes that fill whole registers."""
    if isinstance(part, SwiGLU):
        width, inner = part.down.shape
        return width % LANES == 0 and inner % (2 * LANES) == 0
    if isinstance(part, Attention):
        return part.out.shape[0] % LANES == 0 and part.head_dim % LANES == 0
    return False


def _packed(part: nn.Module) -> GatedSublayer | AttentionSublayer:
    """A sublayer ready to run."""
    has_backward = torch.is_grad_enabled()
    if isinstance(part, SwiGLU):
        gate_up = kernels.pack(part.gate_up, is_gated=True, has_backward=has_backward)
        return GatedSublayer(part, gate_up, kernels.pack(part.down, has_backward=has_backward))
    assert isinstance(part, Attention), "only what fits is run here"
    qkv, out = (kernels.pack(weight, has_backward=has_backward) for weight in (part.qkv, part.out))
    return AttentionSublayer(part, qkv, out)


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
        ctx: Any,
        x: Tensor,
        qkv: Tensor,
        out: Tensor,
        sublayer: AttentionSublayer,
        call: AttentionCall,
        rotation: Rotation | None,
    ) -> Tensor:
        packs = sublayer.qkv, sublayer.out
        y, *others = kernels.attention_forward(call, x, *packs, is_kept=True)
        ctx.save_for_backward(x, y, *others)
        ctx.call, ctx.packs, ctx.shapes = call, packs, (qkv.shape, out.shape)
        ctx.rotation = rotation  # the call points into it
        return y

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        dy = grads[0].contiguous()
        qkv, out = ctx.packs
        gradients = kernels.attention_backward(ctx.call, ctx.saved_tensors, dy, qkv, out, ctx.shapes)
        return *gradients, None, None, None
