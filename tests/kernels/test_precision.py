"""The device and the precision that a machine has, and the description of a model's arithmetic."""

import logging
from typing import Any

import pytest
import torch

from serrm.core.devices import choose_device
from serrm.kernels.accelerate import accelerate
from serrm.kernels.cpu.build import has_kernels
from serrm.kernels.precision import arithmetic, has_fast_bfloat16, supported
from serrm.models.families import FAMILIES
from serrm.models.layers import DTYPES
from serrm.models.recurrence import RecurrentModel
from serrm.models.settings import ModelSizes
from tests.conftest import HRM, TRM
from tests.drawn import CPU, seeded

WHOLE_REGISTERS = {"width": 32, "expansion": 2.0, "swiglu_multiple": 32}


def build(**changes: Any) -> RecurrentModel:
    settings = FAMILIES[changes["family"]].model_validate({**changes, **WHOLE_REGISTERS})
    return settings.build(ModelSizes(6, num_positions=16), seeded(0))


@pytest.mark.parametrize(
    ("model", "precision", "allows_native", "implementation"),
    [
        (HRM, "float32", True, "native kernels"),
        (TRM, "float32", True, "native kernels"),
        (TRM, "bfloat16", True, "native kernels"),
        ({**TRM, "gate": "normed"}, "float32", True, "native kernels and PyTorch"),
        ({**TRM, "mixer": "mlp"}, "float32", True, "native kernels and PyTorch"),
        ({**TRM, "mixer": "mlp"}, "bfloat16", True, "PyTorch"),
        # Heads of 8 features fit no kernel.
        ({**TRM, "heads": 4}, "float32", True, "native kernels and PyTorch"),
        (TRM, "float32", False, "PyTorch"),
    ],
)
def test_arithmetic_names_what_runs_the_networks(
    model: dict[str, Any], precision: str, allows_native: bool, implementation: str
) -> None:
    if not has_kernels(DTYPES[precision]):
        pytest.skip("no native kernels here")
    accelerated = build(**model)
    accelerate(accelerated, allows_native=allows_native)
    name, parts, *machine = arithmetic(accelerated, precision).split(", ")
    assert (name, parts) == (precision, implementation)
    assert bool(machine) == ((precision, implementation) != ("float32", "native kernels"))


def test_a_gpu_that_emulates_bfloat16_is_not_fast_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def is_supported(including_emulation: bool = True) -> bool:
        return including_emulation

    monkeypatch.setattr(torch.cuda, "is_bf16_supported", is_supported)
    assert not has_fast_bfloat16(torch.device("cuda"))


@pytest.mark.parametrize("name", ["cuda", "cuda:1", "gpu"])
def test_a_device_that_is_not_here_is_refused_in_one_line(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match=f"^device '{name}': ") as caught:
        choose_device(name)
    assert "\n" not in str(caught.value)


def test_a_precision_that_the_machine_lacks_becomes_float32_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("serrm.kernels.precision.has_fast_bfloat16", lambda device: False)
    with caplog.at_level(logging.WARNING):
        assert supported("bfloat16", CPU) == "float32"
    assert len(caplog.records) == 1
