"""An accelerated model is the same model: its numbers, its weights, its gradients, whatever way they are computed."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from serrm.kernels.accelerate import accelerate, runs_compiled
from serrm.kernels.cpu.build import has_kernels
from serrm.models.recurrence import RecurrentModel
from serrm.models.registry import build_model
from serrm.models.settings import SeRrmSettings

SETTINGS = {"head_dim": 16, "symbol_head_dim": 16}


@pytest.fixture
def model(make_settings: Callable[..., SeRrmSettings]) -> RecurrentModel:
    return build_model(make_settings(**SETTINGS), 6, torch.Generator().manual_seed(0))


def step(model: RecurrentModel, dtype: torch.dtype) -> list[Tensor]:
    """Logits and gradients of a supervision step."""
    model.zero_grad()
    logits = model(model.initial_state(2, 16, 6, dtype), torch.arange(32).view(2, 16) % 6).logits
    logits.square().sum().backward()
    return [logits.detach(), *(p.grad.clone() for p in model.parameters() if p.grad is not None)]


def test_native_kernels_run_where_they_fit_and_may(model: RecurrentModel) -> None:
    plain, names = step(model, torch.bfloat16), model.state_dict().keys()
    accelerate(model, is_native=False)
    assert all(torch.equal(*pair) for pair in zip(plain, step(model, torch.bfloat16), strict=True))
    accelerate(model, is_native=True)
    fast = step(model, torch.bfloat16)
    assert torch.equal(fast[0], plain[0]) != has_kernels()
    for one, other in zip(fast, plain, strict=True):
        torch.testing.assert_close(one, other, rtol=0.1, atol=0.1 * float(other.abs().max()))
    assert model.state_dict().keys() == names


def test_compiled_networks_run_where_no_kernels_do(model: RecurrentModel) -> None:
    assert not runs_compiled(model, torch.float32)
    accelerate(model, compiles=True)
    assert runs_compiled(model, torch.float32)
    assert runs_compiled(model, torch.bfloat16) != has_kernels()
    accelerate(model, is_native=False, compiles=True)
    assert runs_compiled(model, torch.bfloat16)
