"""An accelerated model is the same model: its numbers, its weights, its gradients, whatever way they are computed."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from serrm.kernels.accelerate import accelerate
from serrm.kernels.cpu.network import has_avx512, has_kernels
from serrm.models.recurrence import RecurrentModel
from serrm.models.registry import build_model
from tests.compiling import apart
from tests.drawn import draw_tokens, gradients, seeded
from tests.models.test_flops import MODELS

SIZES: dict[str, dict[str, Any]] = {
    "se_rrm": {"symbol_head_dim": 16},
    "trm": {},
    "hrm": {},
}  # that kernels take


@pytest.fixture(params=SIZES)
def model(request: pytest.FixtureRequest) -> RecurrentModel:
    settings = MODELS[request.param].model_copy(update=SIZES[request.param])
    return build_model(settings, 6, seeded(0), num_positions=16)


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
    accelerate(model, is_native=False)
    assert all(torch.equal(*pair) for pair in zip(plain, step(model, torch.bfloat16), strict=True))
    accelerate(model, is_native=True)
    fast = step(model, torch.bfloat16)
    assert torch.equal(fast[0], plain[0]) != has_kernels()
    assert error(fast, exact) <= 1.2 * error(plain, exact)
    assert model.state_dict().keys() == names


def compiled_error(family: str) -> float:
    """How far logits and gradients of a compiled model are from those of the same model op by op."""
    model = build_model(MODELS[family], 6, seeded(0), num_positions=16)
    plain = step(model, torch.float32)
    accelerate(model, is_native=False, compiles=True)
    return error(step(model, torch.float32), plain)


@pytest.mark.slow
@pytest.mark.skipif(not has_avx512(), reason="needs AVX-512")
def test_code_compiled_for_avx512_is_not_run_with_avx2(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Processes share PyTorch's cache of compiled graphs."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    for capability in ("avx512", "avx2"):
        monkeypatch.setenv("ATEN_CPU_CAPABILITY", capability)
        assert apart(compiled_error, "hrm") < 1e-5
