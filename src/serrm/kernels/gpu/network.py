"""A network for a GPU whose sublayers are Triton kernels where they fit, norm and residual included.

PyTorch runs the rest: attention over positions, dropout, and sizes for which the kernels were not laid out. Weights are
cast as in `serrm.models.layers.linear`, so their gradients are rounded as there.
"""

from importlib.util import find_spec

import torch
from torch import Tensor, nn

from serrm.kernels.cpu.network import is_exactly
from serrm.kernels.gpu.attention import attend
from serrm.models import layers
from serrm.models.layers import Attention, Features, Rotation, SwiGLU
from serrm.models.recurrence import Network, Residual

WIDTHS = (16, 32, 64, 128, 256)  # of states
HEAD_DIMS = (16, 32, 64)
LEAST_BLOCK = 16  # operands of a product in Triton have at least as many rows and columns
MOST_SYMBOLS = 16  # at most a quarter of a program's rows


class TritonNetwork:
    """The `forward` of a network with kernels for the sublayers that fit; torch.compile takes it whole."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.has_kernels = [[has_kernel(part) for part in layer.children()] for layer in network.layers]

    def __call__(self, x: Features, injection: Features, rotation: Rotation | None) -> Features:
        """One application: x + injection through every sublayer, the first of a layer with the rotation."""
        x = x + injection
        for layer, (of_mixer, *of_sublayers) in zip(self.network.layers, self.has_kernels, strict=True):
            position_mixer, *sublayers = layer.children()
            x = applied(position_mixer, x, rotation, has_kernel=of_mixer and rotation is None)
            for sublayer, of_sublayer in zip(sublayers, of_sublayers, strict=True):
                x = applied(sublayer, x, has_kernel=of_sublayer)
        return x


def applied(part: nn.Module, x: Features, *rotation: Rotation | None, has_kernel: bool) -> Features:
    """Apply a sublayer, by its kernel unless it has none or is attention with dropout or over a long axis."""
    layer = part.get_submodule("sublayer") if has_kernel else None
    y: Tensor
    if isinstance(layer, SwiGLU):
        y, _ = torch.ops.serrm.gated_forward(x, layer.gate_up.to(x.dtype), layer.down.to(x.dtype))
    elif isinstance(layer, Attention) and x.shape[-2] <= MOST_SYMBOLS and not _drops(layer):
        weights = (layer.qkv.to(x.dtype), layer.out.to(x.dtype))
        y, _ = torch.ops.serrm.symbols_forward(x, *weights, layer.num_heads)
    else:
        y = part(x, *rotation)
    return y


def fits(network: Network, like: Tensor) -> bool:
    """True if kernels can run sublayers of a network on a state such as `like`, and Triton is there.

    On a CPU Triton's interpreter runs them, for tests; it cannot multiply bfloat16 numbers.
    """
    if find_spec("triton") is None or type(network).forward is not Network.forward:
        return False
    parts = [part for layer in network.layers for part in layer.children()]
    return _runs(like) and any(has_kernel(part) for part in parts)


def has_kernel(part: nn.Module) -> bool:
    """True for a residual sublayer of the two kinds that have a kernel, of sizes for which it was laid out."""
    layer = part.get_submodule("sublayer") if is_exactly(Residual, part) else None
    if isinstance(layer, SwiGLU) and is_exactly(SwiGLU, layer):
        width, inner = layer.down.shape
        return width in WIDTHS and inner % LEAST_BLOCK == 0
    if isinstance(layer, Attention) and is_exactly(Attention, layer):
        has_usual_scores = layer.attend in (layers.attend, attend)
        has_sizes = layer.out.shape[0] in WIDTHS and layer.head_dim in HEAD_DIMS
        return layer.axis == -2 and has_usual_scores and has_sizes
    return False


def _runs(like: Tensor) -> bool:
    """True if the kernels run on a tensor's device in its dtype; registers their operators."""
    import triton

    from serrm.kernels.gpu import gated, symbols  # noqa: F401

    if like.is_cuda:
        return like.dtype == torch.bfloat16
    return bool(triton.knobs.runtime.interpret) and like.dtype == torch.float32


def _drops(layer: Attention) -> bool:
    """True if attention weights are dropped now."""
    return layer.training and layer.dropout > 0
