"""A network run by native kernels: the same sublayers, residuals and norms, each as one call (equations 4 to 9).

Numbers differ from the plain form in rounding only: a sublayer stays in float32 from its last product to its norm.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from serrm.kernels.cpu import kernels
from serrm.kernels.cpu.build import has_kernels
from serrm.kernels.cpu.kernels import AttentionCall, GatedCall, Packed, State
from serrm.models.layers import Attention, Rotation, SwiGLU
from serrm.models.recurrence import Network, Residual

LANES = 16  # numbers that an instruction takes at once
FORWARD: dict[type, Callable[..., tuple[Tensor | None, ...]]] = {
    AttentionCall: kernels.attention_forward,
    GatedCall: kernels.gated_forward,
}
BACKWARD: dict[type, Callable[..., kernels.Gradients]] = {
    AttentionCall: kernels.attention_backward,
    GatedCall: kernels.gated_backward,
}


class Sublayer:
    """norm(x + f(x)) of one layer f, attention or SwiGLU, its two weights packed."""

    def __init__(self, layer: nn.Module) -> None:
        assert isinstance(layer, Attention | SwiGLU), "only what fits is run here"
        is_gated = isinstance(layer, SwiGLU)
        self.layer = layer
        self.weights = (layer.gate_up, layer.down) if isinstance(layer, SwiGLU) else (layer.qkv, layer.out)
        has_backward = torch.is_grad_enabled()
        self.packs = (
            kernels.pack(self.weights[0], is_gated=is_gated, has_backward=has_backward),
            kernels.pack(self.weights[1], has_backward=has_backward),
        )

    def __call__(self, x: State, rotation: Rotation | None) -> State:
        """The sublayer, differentiable where gradients are on; features have no positions to rotate."""
        call, y = self._call(x, rotation), None
        if torch.is_grad_enabled() and (x.requires_grad or self.weights[0].requires_grad):
            y = _Sublayer.apply(x, *self.weights, self.packs, call, rotation)  # type: ignore[no-untyped-call]
        else:
            y, *_ = FORWARD[type(call)](call, x, *self.packs, is_kept=False)
        assert y is not None
        return y

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


class NativeNetwork:
    """`Network` for one step: its weights are packed when the step begins."""

    def __init__(self, network: Network) -> None:
        self.layers = [[Sublayer(part) for part in parts] for parts in _sublayers(network)]

    def __call__(self, x: State, injection: State, rotation: Rotation | None) -> State:
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


class _Sublayer(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        first: Tensor,
        second: Tensor,
        packs: tuple[Packed, Packed],
        call: AttentionCall | GatedCall,
        rotation: Rotation | None,
    ) -> Tensor | None:
        y, *others = FORWARD[type(call)](call, x, *packs, is_kept=True)
        ctx.save_for_backward(x, y, *others)
        ctx.call, ctx.packs, ctx.shapes = call, packs, (first.shape, second.shape)
        ctx.rotation = rotation  # the call points into it
        return y

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        dy = grads[0].contiguous()
        gradients = BACKWARD[type(ctx.call)](ctx.call, ctx.saved_tensors, dy, *ctx.packs, ctx.shapes)
        return *gradients, None, None, None
