"""Faster ways to a model's numbers, equal but for rounding: native kernels, compiled networks.

The one seam for speed, of which the models know nothing: an accelerated network has another `forward`, which goes
the fastest way that fits its state. A compiled network has one variant for every shape of its state in evaluation,
two in training, without gradient and with; networks alike in structure share them, whatever their weights.
"""

from collections.abc import Callable
from types import MethodType
from typing import Any

import torch
from torch import Tensor, nn

from serrm.kernels.cpu.network import NativeNetwork, fits
from serrm.models.layers import Features, Rotation
from serrm.models.recurrence import Network, RecurrentModel

Apply = Callable[[Tensor, Tensor, Rotation | None], Tensor]  # (state, injection, rotation) → new state
MOST_VARIANTS = 64  # in a process: PyTorch's own limit, an error here, is 8 for all networks together
# No kernel is chosen by timing where the choice changes numbers, so that another machine of the kind gives the same;
# and no CUDA graphs, which would write each output over the last one, while slots keep outputs and change rows of them.
OPTIONS: dict[str, str | int | bool | Callable[..., Any]] = {
    "deterministic": True,
    "triton.cudagraphs": False,
}


class FastNetwork:
    """What takes the place of a network's `forward`."""

    def __init__(self, network: Network, is_native: bool, compiles: bool) -> None:
        self.network, self.is_native, self.compiles = network, is_native, compiles
        plain = MethodType(Network.forward, network)
        self.plain: Apply = _compiled(plain) if compiles else plain
        self.native: NativeNetwork | None = None

    def runs_native(self, like: Tensor) -> bool:
        """Whether native kernels run the network on states such as `like`; packs no weights to find out."""
        return self.is_native and fits(self.network, like)

    def begin_step(self, like: Tensor) -> None:
        """Pack the weights for a supervision step, where native kernels run it."""
        self.native = NativeNetwork(self.network) if self.runs_native(like) else None

    def __call__(self, x: Features, injection: Features, rotation: Rotation | None) -> Features:
        """One application of the network."""
        return (self.native or self.plain)(x, injection, rotation)


def accelerate(model: RecurrentModel, *, is_native: bool = True, compiles: bool = False) -> None:
    """Let the networks of a model go the fastest way, in place.

    `is_native`: by kernels of our own where they fit; `compiles`: by torch.compile where they do not.
    """
    if not _ways(model):
        model.register_forward_pre_hook(_begin_step)
    for network in model.networks.values():
        assert isinstance(network, Network)
        network.forward = FastNetwork(network, is_native, compiles)  # type: ignore[method-assign]


def runs_compiled(model: RecurrentModel, dtype: torch.dtype) -> bool:
    """Whether compiled networks do the work on states of this dtype; native kernels come before them."""
    like = model.initial.to(dtype)
    return any(way.compiles and not way.runs_native(like) for way in _ways(model))


def _ways(model: RecurrentModel) -> list[FastNetwork]:
    """None for a model that was not accelerated."""
    forwards = [network.forward for network in model.networks.values()]
    return [forward for forward in forwards if isinstance(forward, FastNetwork)]


def _begin_step(model: nn.Module, args: tuple[Any, ...]) -> None:
    assert isinstance(model, RecurrentModel)
    for way in _ways(model):
        way.begin_step(args[0][0])


def _compiled(apply: Apply) -> Apply:
    import torch._dynamo  # takes a second or more, for those who compile

    torch._dynamo.config.recompile_limit = max(torch._dynamo.config.recompile_limit, MOST_VARIANTS)
    compiled: Apply = torch.compile(apply, dynamic=False, fullgraph=True, options=OPTIONS)
    return compiled
