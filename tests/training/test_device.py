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


@pytest.mark.parametrize(
    ("has_bfloat16", "has_compiler", "expected"),
    [(True, True, ("bfloat16", True)), (False, True, ("float32", False)), (True, False, ("float32", False))],
)
def test_what_the_machine_cannot_do_falls_back_with_a_warning(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    has_bfloat16: bool,
    has_compiler: bool,
    expected: tuple[str, bool],
) -> None:
    monkeypatch.setattr(devices, "has_fast_bfloat16", lambda device: has_bfloat16)
    monkeypatch.setattr(devices, "find_compiler", lambda: "/bin/g++" if has_compiler else None)
    with caplog.at_level(logging.WARNING):
        assert supported("bfloat16", True, CPU) == expected
    assert len(caplog.records) == (expected == ("float32", False))


@pytest.mark.parametrize(("bfloat16", "expected"), [(0.85, "float32"), (0.75, "bfloat16")])
def test_bfloat16_is_chosen_where_a_step_is_faster_than_in_compiled_float32(
    monkeypatch: pytest.MonkeyPatch, bfloat16: float, expected: str
) -> None:
    monkeypatch.setattr(devices, "has_fast_bfloat16", lambda device: True)
    monkeypatch.setattr(devices, "find_compiler", lambda: "/bin/g++")
    now = [0.0]
    monkeypatch.setattr(devices, "perf_counter", lambda: now[0])

    def step_in(arithmetic: tuple[str, bool]) -> Callable[[], None]:
        def step() -> None:
            now[0] += {("float32", False): 1.0, ("bfloat16", True): bfloat16}[arithmetic]

        return step

    assert devices.fastest_arithmetic(step_in, True, CPU) == (expected, True)
