"""Triton kernels against the plain layers: by the interpreter on a CPU in float32, on a GPU in bfloat16.

The first need `pip install -e '.[gpu]'` and are run by `pytest -m triton`, the last by `pytest -m gpu`. The interpreter
is chosen when Triton is imported, so everything runs in processes of its own.
"""

import copy
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from serrm.kernels.accelerate import accelerate, runs_triton
from serrm.kernels.gpu.network import TritonNetwork, fits
from serrm.models.layers import Attention, SwiGLU
from serrm.models.recurrence import Network, RecurrentModel, Residual
from serrm.models.settings import ModelSizes
from tests.compiling import HAS_GPU, apart, traced_only
from tests.drawn import draw_tokens, gradients, seeded
from tests.models.test_flops import MODELS

has_triton = find_spec("triton") is not None
NEEDS_TRITON = (
    pytest.mark.triton,
    pytest.mark.skipif(not has_triton, reason="needs triton: pip install -e '.[gpu]'"),
)
NEEDS_GPU = (
    pytest.mark.gpu,
    pytest.mark.skipif(not (HAS_GPU and has_triton), reason="needs a CUDA device and triton"),
)


def swiglu(width: int, inner: int) -> SwiGLU:
    return SwiGLU(width, inner, seeded(0))


def attention(width: int, num_heads: int, head_dim: int) -> Attention:
    return Attention(width, num_heads, head_dim, axis=-2, generator=seeded(0))


Case = tuple[tuple[int, ...], nn.Module]  # a state's shape, and a layer
CASES: dict[str, Callable[[], Case]] = {
    "swiglu": lambda: ((2, 7, 5, 32), swiglu(32, 48)),
    "swiglu of two blocks of rows": lambda: ((3, 31, 256), swiglu(256, 32)),
    "symbols": lambda: ((2, 4, 9, 32), attention(32, 2, 16)),
    "symbols of three blocks of rows": lambda: ((13, 11, 256), attention(256, 1, 64)),
    "sixteen symbols": lambda: ((1, 2, 16, 64), attention(64, 1, 32)),
}
# The sizes of profiles gpu_sudoku and paper, with rows that end within a block.
FULL_CASES: dict[str, Callable[[], Case]] = {
    "swiglu, D 128": lambda: ((7, 81, 9, 128), swiglu(128, 384)),
    "swiglu, D 256": lambda: ((7, 85, 11, 256), swiglu(256, 768)),
    "symbols, D 128": lambda: ((7, 81, 9, 128), attention(128, 2, 32)),
    "symbols, D 256": lambda: ((7, 85, 11, 256), attention(256, 2, 64)),
}


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let further processes interpret the kernels."""
    monkeypatch.setenv("TRITON_INTERPRET", "1")


class Unmixed(nn.Module):
    """In place of the mix over positions."""

    def forward(self, x: Tensor, rotation: None) -> Tensor:
        return x


def errors(case: Case, dtype: torch.dtype, device: str) -> Tensor:
    """Relative errors of kernels and of PyTorch against float64, in y, dx and the weights' gradients."""
    shape, layer = case
    network = Network([[Unmixed(), Residual(layer)]]).to(device)
    x, dy = (torch.randn(shape, generator=seeded(seed)).to(device, dtype) for seed in (1, 2))
    assert fits(network, x)

    def results(network: Network, apply: Callable[..., Tensor], dtype: torch.dtype) -> list[Tensor]:
        start = x.to(dtype).requires_grad_()
        y = apply(start, torch.zeros((), dtype=dtype, device=device), None)
        return [y.detach(), *torch.autograd.grad(y, [start, *network.parameters()], dy.to(y.dtype))]

    wide = copy.deepcopy(network).double()
    exact = results(wide, wide, torch.float64)
    forms = (TritonNetwork(network), network)
    return torch.stack([relative_errors(results(network, form, dtype), exact) for form in forms])


def relative_errors(tensors: list[Tensor], exact: list[Tensor]) -> Tensor:
    pairs = zip(tensors, exact, strict=True)
    return torch.stack([(one.double() - other).norm() / other.norm() for one, other in pairs]).cpu()


def errors_interpreted(name: str) -> Tensor:
    return errors(CASES[name](), torch.float32, "cpu")


def errors_on_gpu(name: str) -> Tensor:
    return errors(FULL_CASES[name](), torch.bfloat16, "cuda")


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("name", [pytest.param(name, marks=NEEDS_TRITON) for name in CASES])
def test_interpreted_kernels_equal_the_plain_layers(name: str) -> None:
    of_kernels, _ = apart(errors_interpreted, name)
    assert of_kernels.shape == (4,) and (of_kernels < 2e-6).all(), of_kernels


@pytest.mark.parametrize("name", [pytest.param(name, marks=NEEDS_GPU) for name in FULL_CASES])
def test_bfloat16_errs_no_more_in_triton_kernels_than_in_pytorch(name: str) -> None:
    of_kernels, of_pytorch = apart(errors_on_gpu, name)
    assert (of_kernels < 1.2 * of_pytorch).all() and (of_kernels < 0.01).all(), (of_kernels, of_pytorch)


class Operators(TorchDispatchMode):
    """The names of the kernels' operators that were called."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.namespace == "serrm":
            self.names.append(func.__name__)
        return func(*args, **(kwargs or {}))


def small_model() -> RecurrentModel:
    changes = {"symbol_head_dim": 16, "attention_dropout": 0.0, "layers": 1, "h_cycles": 1, "l_cycles": 1}
    return MODELS["se_rrm"].model_copy(update=changes).build(ModelSizes(6, num_positions=16), seeded(0))


def step(model: RecurrentModel) -> list[Tensor]:
    """Logits and gradients of a supervision step."""
    logits = model(model.initial_state(2, 16, 6), draw_tokens(num=2)).logits
    return [logits.detach(), *gradients(model, logits).values()]


def step_of_a_model(allows_triton: bool, compiles: bool) -> tuple[float, list[str]]:
    """The largest relative error of a step's results, and the kernels that ran, which compiling hides."""
    model = small_model()
    exact = step(model)
    with traced_only():
        accelerate(model, allows_native=False, compiles=compiles, allows_triton=allows_triton)
        assert runs_triton(model, torch.float32) == allows_triton
        if compiles:
            return float(relative_errors(step(model), exact).max()), []
        with Operators() as operators:
            results = step(model)
    return float(relative_errors(results, exact).max()), operators.names


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("compiles", [pytest.param(value, marks=NEEDS_TRITON) for value in (False, True)])
def test_a_model_takes_the_same_step_with_triton_kernels(compiles: bool) -> None:
    error, names = apart(step_of_a_model, True, compiles)
    assert error < 1e-5
    kernels = {f"{name}_{way}.default" for name in ("gated", "symbols") for way in ("forward", "backward")}
    assert compiles or set(names) == kernels


def test_triton_kernels_run_only_where_they_are_allowed() -> None:
    assert step_of_a_model(False, False) == (0.0, [])
