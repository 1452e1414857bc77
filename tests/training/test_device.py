"""The device is the one asked for, and what it cannot do is a warning."""

import logging
from collections.abc import Callable

import pytest
import torch

from serrm import devices
from serrm.devices import choose_device, supported

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


def test_auto_is_the_gpu_if_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for has_gpu, expected in ((True, CUDA), (False, CPU)):
        monkeypatch.setattr(torch.cuda, "is_available", lambda has_gpu=has_gpu: has_gpu)
        assert choose_device("auto") == expected
    assert choose_device("cpu") == CPU


@pytest.mark.parametrize("name", ["cuda", "cuda:1", "gpu"])
def test_a_device_that_is_not_here_is_refused_in_one_line(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match=f"^device '{name}': ") as caught:
        choose_device(name)
    assert "\n" not in str(caught.value)


def test_a_precision_that_the_machine_lacks_becomes_float32_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(devices, "has_fast_bfloat16", lambda device: False)
    with caplog.at_level(logging.WARNING):
        assert supported("bfloat16", False, CPU) == ("float32", False)
    assert len(caplog.records) == 1


def test_networks_are_compiled_on_a_gpu_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "has_fast_bfloat16", lambda device: True)
    assert supported("bfloat16", True, CPU) == ("bfloat16", False)
    assert supported("bfloat16", True, torch.device("cuda")) == ("bfloat16", True)


@pytest.mark.parametrize(("bfloat16", "expected"), [(1.1, "float32"), (0.9, "bfloat16")])
def test_the_precision_is_chosen_in_which_a_step_is_faster(
    monkeypatch: pytest.MonkeyPatch, bfloat16: float, expected: str
) -> None:
    monkeypatch.setattr(devices, "has_fast_bfloat16", lambda device: True)
    now = [0.0]
    monkeypatch.setattr(devices, "perf_counter", lambda: now[0])

    def step_in(arithmetic: tuple[str, bool]) -> Callable[[], None]:
        def step() -> None:
            now[0] += {("float32", False): 1.0, ("bfloat16", False): bfloat16}[arithmetic]

        return step

    assert devices.fastest_arithmetic(step_in, True, CPU) == (expected, False)
