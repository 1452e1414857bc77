"""Faster forms of a model's networks, equal up to rounding: native kernels on CPUs; torch.compile and Triton on GPUs.

`accelerate` replaces each network's `forward`. It also wraps the model's, so that linear maps and SiLUs which no kernel
runs (readouts, an MLP-mixer) are reproducible (`serrm.kernels.products`). Nothing in models/ depends on it. A network
is compiled once for every shape of its state in evaluation, and twice in training, with and without gradient; networks
of the same structure share the compiled code, whatever their weights.
"""

from collections.abc import Callable
from contextlib import nullcontext
from types import MethodType
from typing import Any

import torch
from torch import Tensor, nn

from serrm.kernels.cpu.network import NativeNetwork, fits
from serrm.kernels.gpu.attention import attend
from serrm.kernels.gpu.network import TritonNetwork
from serrm.kernels.gpu.network import fits as fits_triton
from serrm.kernels.products import Reproducible, is_reproducible
from serrm.models.layers import Attention, Features, Rotation
from serrm.models.layers import attend as plain_attend
from serrm.models.recurrence import Network, RecurrentModel, State, StepOutput

Apply = Callable[[Tensor, Tensor, Rotation | None], Tensor]  # (state, injection, rotation) → new state
# The limit for all compiled networks of a process together. PyTorch's default is 8, beyond which it raises an error.
MAX_COMPILATIONS = 64
NATIVE, PYTORCH = "native kernels", "PyTorch"  # names of what runs a network
# No kernel is chosen by timing where the choice changes numbers, so that equal machines give equal numbers.
OPTIONS: dict[str, str | int | bool | Callable[..., Any]] = {"deterministic": True}


class FastModel:
    """The `forward` of an accelerated model: linear maps that no kernel runs are reproducible where they can be.

    Like `FastNetwork` it is bound to its module as an attribute, so that a copy of the model has its own.
    """

    def __init__(self, model: RecurrentModel) -> None:
        self.model = model

    def __call__(self, state: State, *args: Any, **kwargs: Any) -> StepOutput:
        """Take a supervision step."""
        model = self.model
        with Reproducible() if _replaces_products(model, state[0]) else nullcontext():
            return type(model).forward(model, state, *args, **kwargs)


class FastNetwork:
    """The `forward` of an accelerated network: native kernels where they fit, else compiled or op by op.

    Compiled or not, Triton kernels run the sublayers they fit, where they are allowed.
    """

    def __init__(
        self, network: Network, allows_native: bool, compiles: bool, has_graphs: bool, allows_triton: bool
    ) -> None:
        self.network, self.allows_native = network, allows_native
        self.allows_triton, self.has_triton = allows_triton, False
        self.compiles, self.has_graphs = compiles, has_graphs
        self.compiled: Apply | None = None
        self.native: NativeNetwork | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is made again when it is needed: packed weights and compiled code."""
        return vars(self) | {"compiled": None, "native": None}

    def runs_native(self, like: Tensor) -> bool:
        """Return True if native kernels run the network on states such as `like`; packs no weights."""
        return self.allows_native and fits(self.network, like)

    def runs_triton(self, like: Tensor) -> bool:
        """Return True if Triton kernels run sublayers of the network on states such as `like`."""
        return self.allows_triton and not self.runs_native(like) and fits_triton(self.network, like)

    def begin_step(self, like: Tensor) -> None:
        """Pack the weights for a supervision step, where native kernels run it, and see if Triton's do."""
        self.native = NativeNetwork(self.network, like.dtype) if self.runs_native(like) else None
        if self.has_triton != (runs_triton := self.runs_triton(like)):
            self.has_triton, self.compiled = runs_triton, None

    def __call__(self, x: Features, injection: Features, rotation: Rotation | None) -> Features:
        """Apply the network once."""
        return (self.native or self._plain())(x, injection, rotation)

    def _plain(self) -> Apply:
        """Return the network on PyTorch, compiled at its first use."""
        if self.compiled is not None:
            return self.compiled
        plain: Apply = MethodType(type(self.network).forward, self.network)
        if self.has_triton:
            plain = TritonNetwork(self.network)
        if not self.compiles:
            return plain
        self.compiled = _compiled(plain, self.has_graphs)
        return self.compiled


def accelerate(
    model: RecurrentModel,
    *,
    allows_native: bool = True,
    compiles: bool = False,
    allows_graphs: bool = True,
    allows_triton: bool = False,
) -> None:
    """Give the networks of a model their fastest form, in place.

    `allows_native`: native kernels where they fit; `compiles`: torch.compile where they do not; `allows_graphs`: with
    CUDA graphs, unless the network is in training mode and has dropout; `allows_triton`: on a GPU in bfloat16, Triton
    kernels for the sublayers that they fit. Copies and pickles of the model are accelerated too, with weights of their
    own.
    """
    if not _fast_networks(model):
        model.register_forward_pre_hook(_begin_step)
        model.forward = FastModel(model)  # type: ignore[method-assign]
    for network in model.networks.values():
        assert isinstance(network, Network)
        has_graphs = allows_graphs and not (network.training and has_dropout(network))
        network.forward = FastNetwork(  # type: ignore[method-assign]
            network, allows_native, compiles, has_graphs, allows_triton
        )
        for layer in network.modules():
            if isinstance(layer, Attention) and layer.attend is plain_attend:
                layer.attend = attend


def may_run_native(model: RecurrentModel) -> bool:
    """Return True for a model that was accelerated with native kernels allowed."""
    return any(network.allows_native for network in _fast_networks(model))


def runs_compiled(model: RecurrentModel, dtype: torch.dtype) -> bool:
    """Return True if a compiled network runs on states of this dtype; native kernels come first."""
    like = model.initial.to(dtype)
    return any(network.compiles and not network.runs_native(like) for network in _fast_networks(model))


def runs_triton(model: RecurrentModel, dtype: torch.dtype) -> bool:
    """Return True if Triton kernels run sublayers on states of this dtype."""
    like = model.initial.to(dtype)
    return any(network.runs_triton(like) for network in _fast_networks(model))


def reuse_memory(model: RecurrentModel) -> None:
    """Let compiled networks on a GPU overwrite what they returned before this call, gradients included.

    CUDA graphs write to the same memory each time. So call it once before each step, and copy what outlives the step.
    """
    if model.initial.is_cuda and any(network.compiles for network in _fast_networks(model)):
        torch.compiler.cudagraph_mark_step_begin()


def implementations(model: RecurrentModel, dtype: torch.dtype) -> set[str]:
    """List what runs a model that is not compiled, on states of this dtype: NATIVE, PYTORCH or both."""
    like, networks = model.initial.to(dtype), _fast_networks(model)
    names = {NATIVE if network.runs_native(like) else PYTORCH for network in networks}
    if networks and _replaces_products(model, like):  # then the kernels' product runs all linear maps
        names.add(NATIVE)
    return names or {PYTORCH}


def has_dropout(network: nn.Module) -> bool:
    """Return True if a layer of the network has a probability of dropout above 0."""
    return any(
        (isinstance(layer, nn.Dropout) and layer.p > 0)
        or (isinstance(rate := getattr(layer, "dropout", None), float) and rate > 0)
        for layer in network.modules()
    )


def _replaces_products(model: RecurrentModel, like: Tensor) -> bool:
    """Return True if linear maps and SiLUs that no kernel runs are replaced; torch.compile refuses to run meanwhile."""
    is_allowed = all(network.allows_native for network in _fast_networks(model))
    return is_allowed and is_reproducible(like) and not runs_compiled(model, like.dtype)


def _fast_networks(model: RecurrentModel) -> list[FastNetwork]:
    """List the accelerated networks; empty for a model that was not accelerated."""
    forwards = [network.forward for network in model.networks.values()]
    return [forward for forward in forwards if isinstance(forward, FastNetwork)]


def _begin_step(model: nn.Module, args: tuple[Any, ...]) -> None:
    assert isinstance(model, RecurrentModel)
    for network in _fast_networks(model):
        network.begin_step(args[0][0])


def _compiled(apply: Apply, has_graphs: bool) -> Apply:
    """Compile a network, if `has_graphs` with CUDA graphs, each of which launches all its kernels at once.

    Without them a small model waits for Python most of the time. With them, trainings with dropout sometimes gave other
    bits on an equal machine (docs/performance.md).
    """
    import torch._dynamo  # takes a second or more, so only when compiling

    torch._dynamo.config.recompile_limit = max(torch._dynamo.config.recompile_limit, MAX_COMPILATIONS)
    options = {**OPTIONS, "triton.cudagraphs": has_graphs}
    compiled: Apply = torch.compile(apply, dynamic=False, fullgraph=True, options=options)
    return compiled
