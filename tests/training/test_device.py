"""The device is the one asked for, and what it cannot do is a warning."""

import logging

import pytest
import torch

from serrm.core.devices import choose_device
from serrm.kernels import precision
from serrm.kernels.precision import supported

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


@pytest.mark.parametrize("name", ["cuda", "cuda:1", "gpu"])
def test_a_device_that_is_not_here_is_refused_in_one_line(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match=f"^device '{name}': ") as caught:
        choose_device(name)
    assert "\n" not in str(caught.value)


def test_a_precision_that_the_machine_lacks_becomes_float32_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(precision, "has_fast_bfloat16", lambda device: False)
    with caplog.at_level(logging.WARNING):
        assert supported("bfloat16", CPU) == "float32"
    assert len(caplog.records) == 1
