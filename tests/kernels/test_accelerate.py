"""An accelerated model is the same model: its numbers, its weights, its gradients, whatever way they are computed."""

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from serrm.kernels.accelerate import accelerate
from serrm.kernels.cpu.build import has_kernels
from serrm.kernels.precision import arithmetic
from serrm.kernels.products import Reproducible
from serrm.models.layers import Attention, SwiGLU
from serrm.models.recurrence import Network, RecurrentModel, Residual
from serrm.models.settings import ModelSizes
from tests.drawn import draw_tokens, gradients, seeded
from tests.models.test_flops import MODELS

# That kernels take.
SIZES: dict[str, dict[str, Any]] = {
    "se_rrm": {"symbol_head_dim": 16, "attention_dropout": 0.0},
    "trm": {},
    "hrm": {},
}


def build(family: str, seed: int) -> RecurrentModel:
    settings = MODELS[family].model_copy(update=SIZES[family])
    return settings.build(ModelSizes(6, num_positions=16), seeded(seed))


@pytest.fixture(params=SIZES)
def model(request: pytest.FixtureRequest) -> RecurrentModel:
    return build(request.param, seed=0)


def step(model: RecurrentModel, dtype: torch.dtype) -> list[Tensor]:
    """Logits and gradients of a supervision step."""
    logits = model(model.initial_state(3, 16, 6, dtype), draw_tokens()).logits
    return [logits.detach(), *gradients(model, logits).values()]


def error(found: list[Tensor], exact: list[Tensor]) -> float:
    """The mean relative error of logits and gradients."""
    errors = [(one - other).norm() / other.norm() for one, other in zip(found, exact, strict=True)]
    return float(torch.stack(errors).mean())


def test_native_kernels_run_where_they_fit_and_may(model: RecurrentModel) -> None:
    exact, plain, names = step(model, torch.float32), step(model, torch.bfloat16), model.state_dict().keys()
    accelerate(model, allows_native=False)
    assert all(torch.equal(*pair) for pair in zip(plain, step(model, torch.bfloat16), strict=True))
    accelerate(model, allows_native=True)
    fast = step(model, torch.bfloat16)
    assert torch.equal(fast[0], plain[0]) != has_kernels(torch.bfloat16)
    in_float32 = step(model, torch.float32)
    assert torch.equal(in_float32[0], exact[0]) != has_kernels(torch.float32)
    assert error(in_float32, exact) <= 1e-5
    assert model.state_dict().keys() == names


@pytest.mark.parametrize("family", SIZES)
def test_bfloat16_errs_no_more_in_kernels_than_in_pytorch(family: str) -> None:
    of_kernels, of_pytorch = 0.0, 0.0
    for seed in range(8):  # with one set of weights the errors differ by a factor of two, either way
        model = build(family, seed)
        exact = step(model, torch.float32)
        of_pytorch += error(step(model, torch.bfloat16), exact)
        accelerate(model)
        of_kernels += error(step(model, torch.bfloat16), exact)
    assert of_kernels <= 1.2 * of_pytorch


@pytest.mark.parametrize("kind", [Network, Residual, Attention, SwiGLU])
def test_a_familys_own_forward_is_the_one_that_runs(model: RecurrentModel, kind: type[nn.Module]) -> None:
    halved = type("Halved", (kind,), {"forward": lambda self, *args: kind.forward(self, *args) / 2})
    for part in model.networks.modules():
        if type(part) is kind:
            part.__class__ = halved
    with Reproducible():
        plain = step(model, torch.float32)
    accelerate(model)
    assert all(torch.equal(*pair) for pair in zip(plain, step(model, torch.float32), strict=True))
    assert "PyTorch" in arithmetic(model, "float32")


def test_a_hook_in_a_layer_runs(model: RecurrentModel) -> None:
    accelerate(model)
    norms: list[float] = []
    layer = next(part for part in model.networks.modules() if isinstance(part, SwiGLU))
    handle = layer.register_forward_hook(lambda _, args, output: norms.append(output.detach().norm().item()))
    step(model, torch.float32)
    assert norms and "PyTorch" in arithmetic(model, "float32")
    handle.remove()
    assert ("PyTorch" in arithmetic(model, "float32")) != has_kernels(torch.float32)


def saved(model: RecurrentModel) -> RecurrentModel:
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    loaded: RecurrentModel = torch.load(file, weights_only=False)
    return loaded


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model)), saved])
@pytest.mark.parametrize("compiles", [False, True])
def test_a_copy_computes_with_weights_of_its_own(
    model: RecurrentModel, copied: Callable[[RecurrentModel], RecurrentModel], compiles: bool
) -> None:
    accelerate(model, compiles=compiles)
    before = step(model, torch.float32)
    other = copied(model)
    assert all(torch.equal(*pair) for pair in zip(before, step(other, torch.float32), strict=True))
    assert arithmetic(other, "float32") == arithmetic(model, "float32")
    with torch.no_grad():
        for weight in other.parameters():
            weight.zero_()
    assert not step(other, torch.float32)[0].any()
    assert torch.equal(step(model, torch.float32)[0], before[0])
