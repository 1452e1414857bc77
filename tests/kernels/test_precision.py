"""The precision that a machine chooses, and the description of a model's arithmetic."""

from typing import Any

import pytest
import torch

from serrm.kernels.accelerate import accelerate
from serrm.kernels.cpu.build import has_kernels
from serrm.kernels.precision import arithmetic, has_fast_bfloat16
from serrm.models.build import build_model
from serrm.models.families import FAMILIES
from serrm.models.recurrence import RecurrentModel
from tests.conftest import HRM, TRM
from tests.drawn import seeded

WHOLE_REGISTERS = {"width": 32, "expansion": 2.0, "swiglu_multiple": 32}


def build(**changes: Any) -> RecurrentModel:
    settings = FAMILIES[changes["family"]].model_validate({**changes, **WHOLE_REGISTERS})
    return build_model(settings, 6, seeded(0), num_positions=16)


@pytest.mark.parametrize(
    ("model", "allows_native", "implementation"),
    [
        (HRM, True, "native kernels"),
        (TRM, True, "native kernels"),
        ({**TRM, "gate": "normed"}, True, "native kernels and PyTorch"),
        ({**TRM, "mixer": "mlp"}, True, "native kernels and PyTorch"),
        ({**TRM, "heads": 4}, True, "native kernels and PyTorch"),  # heads of 8 features fit no kernel
        (TRM, False, "PyTorch"),
    ],
)
def test_arithmetic_names_what_runs_the_networks(
    model: dict[str, Any], allows_native: bool, implementation: str
) -> None:
    if not has_kernels(torch.float32):
        pytest.skip("no native kernels here")
    accelerated, threads = build(**model), torch.get_num_threads()
    accelerate(accelerated, allows_native=allows_native)
    expected = f"float32, {implementation}"
    if implementation != "native kernels":
        expected += f", cpu {torch.backends.cpu.get_cpu_capability()}, {threads} "
        expected += "thread" if threads == 1 else "threads"
    assert arithmetic(accelerated, "float32") == expected


@pytest.mark.skipif(not has_kernels(torch.bfloat16), reason="this machine has no such kernels")
def test_in_bfloat16_a_model_that_fits_no_kernel_runs_on_pytorch() -> None:
    fitting, mixer = build(**TRM), build(**{**TRM, "mixer": "mlp"})
    for model in (fitting, mixer):
        accelerate(model)
    assert arithmetic(fitting, "bfloat16").startswith("bfloat16, native kernels, cpu ")
    assert arithmetic(mixer, "bfloat16").startswith("bfloat16, PyTorch, cpu ")


def test_a_gpu_that_emulates_bfloat16_is_not_fast_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def is_supported(including_emulation: bool = True) -> bool:
        return including_emulation

    monkeypatch.setattr(torch.cuda, "is_bf16_supported", is_supported)
    assert not has_fast_bfloat16(torch.device("cuda"))
