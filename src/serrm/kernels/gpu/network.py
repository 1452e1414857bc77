"""A network for a GPU whose sublayers are Triton kernels where they fit, norm and residual included.

PyTorch runs the rest: attention over positions, dropout, and sizes that the kernels do not support. Weights are cast as
in `serrm.models.layers.linear`, so their gradients are rounded as there.
"""

from importlib.util import find_spec

import torch
from torch import Tensor, nn

from serrm.kernels.sublayers import layer_for_kernels
from serrm.models.layers import Attention, Features, Rotation, SwiGLU
from serrm.models.recurrence import Network

WIDTHS = (16, 32, 64, 128, 256)  # of states
HEAD_DIMS = (16, 32, 64)
MIN_BLOCK = 16  # operands of a product in Triton have at least as many rows and columns
MAX_SYMBOLS = 16  # at most a quarter of a program's rows


class TritonNetwork:
    """The `forward` of a network with kernels for the sublayers that fit; torch.compile takes it whole."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.has_kernels = [
            [has_kernel(sublayer) for sublayer in layer.children()] for layer in network.layers
        ]

    def __call__(self, x: Features, injection: Features, rotation: Rotation | None) -> Features:
        """Apply the network once: x + injection through every sublayer, the first of a layer with the rotation."""
        x = x + injection
        for layer, (mixer_flag, *flags) in zip(self.network.layers, self.has_kernels, strict=True):
            position_mixer, *sublayers = layer.children()
            x = apply(position_mixer, x, rotation, has_kernel=mixer_flag and rotation is None)
            for sublayer, flag in zip(sublayers, flags, strict=True):
                x = apply(sublayer, x, has_kernel=flag)
        return x


def apply(sublayer: nn.Module, x: Features, *rotation: Rotation | None, has_kernel: bool) -> Features:
    """Apply a sublayer, by its kernel unless it has none or is attention with dropout or over a long axis."""
    layer = sublayer.get_submodule("sublayer") if has_kernel else None
    y: Tensor
    if isinstance(layer, SwiGLU):
        y, _ = torch.ops.serrm.gated_forward(x, layer.gate_up.to(x.dtype), layer.down.to(x.dtype))
    elif isinstance(layer, Attention) and x.shape[-2] <= MAX_SYMBOLS and not _drops(layer):
        weights = (layer.qkv.to(x.dtype), layer.out.to(x.dtype))
        y, _ = torch.ops.serrm.symbols_forward(x, *weights, layer.num_heads)
    else:
        y = sublayer(x, *rotation)
    return y


def fits(network: Network, like: Tensor) -> bool:
    """Return True if Triton is installed and kernels can run sublayers of a network on a state such as `like`.

    On a CPU Triton's interpreter runs them, for tests; it cannot multiply bfloat16 numbers.
    """
    if find_spec("triton") is None or type(network).forward is not Network.forward:
        return False
    sublayers = [sublayer for layer in network.layers for sublayer in layer.children()]
    return _runs(like) and any(has_kernel(sublayer) for sublayer in sublayers)


def has_kernel(sublayer: nn.Module) -> bool:
    """Return True for a residual sublayer of the two kinds that have a kernel, of sizes that it supports."""
    layer = layer_for_kernels(sublayer)
    if isinstance(layer, SwiGLU):
        width, inner = layer.down.shape
        return width in WIDTHS and inner % MIN_BLOCK == 0
    if layer is None or layer.axis != -2:
        return False
    return layer.out.shape[0] in WIDTHS and layer.head_dim in HEAD_DIMS


def _runs(like: Tensor) -> bool:
    """Register the kernels' operators, and return True if they run on a tensor's device in its dtype."""
    import triton

    from serrm.kernels.gpu import gated, symbols  # noqa: F401

    if like.is_cuda:
        return like.dtype == torch.bfloat16
    return bool(triton.knobs.runtime.interpret) and like.dtype == torch.float32


def _drops(layer: Attention) -> bool:
    """Return True if attention weights are dropped now."""
    return layer.training and layer.dropout > 0
