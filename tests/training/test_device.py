"""The device is the one asked for, its arithmetic repeatable, and what it cannot do is a warning."""

import logging
import os
import platform
import resource
from collections.abc import Iterator

import pytest
import torch

from serrm import devices
from serrm.devices import choose_device, keep_memory, prepare_device, repeat_arithmetic, supported

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


@pytest.fixture
def without_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def machine(monkeypatch: pytest.MonkeyPatch, *, has_bfloat16: bool, has_compiler: bool) -> None:
    monkeypatch.setattr(devices, "has_fast_bfloat16", lambda device: has_bfloat16)
    monkeypatch.setattr(devices, "find_compiler", lambda: "/bin/g++" if has_compiler else None)


def test_auto_is_the_gpu_if_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for has_gpu, expected in ((True, CUDA), (False, CPU)):
        monkeypatch.setattr(torch.cuda, "is_available", lambda has_gpu=has_gpu: has_gpu)
        assert choose_device("auto") == expected
    assert choose_device("cpu") == CPU


@pytest.mark.usefixtures("without_cuda")
@pytest.mark.parametrize("name", ["cuda", "cuda:1", "gpu", "cud", ""])
def test_a_device_that_is_not_here_is_refused_in_one_line(name: str) -> None:
    with pytest.raises(ValueError, match=f"^device '{name}': ") as caught:
        choose_device(name)
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("threads")
def test_threads_are_set_where_given() -> None:
    before = torch.get_num_threads()
    assert prepare_device("cpu") == CPU
    assert torch.get_num_threads() == before
    prepare_device("cpu", before + 1)
    assert torch.get_num_threads() == before + 1


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators are left as they are")
def test_a_freed_tensor_leaves_its_pages_to_the_next() -> None:
    keep_memory()
    numbers = 10 * 2**20  # 40 MB: malloc by itself maps anew, and gives back, whatever is above 32
    faults = []
    for _ in range(16):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        torch.ones(numbers)
        faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    # What malloc cuts off to align a tensor it keeps apart, up to seven times; after that hardly a page is new.
    assert max(faults[12:]) * resource.getpagesize() < numbers


@pytest.mark.parametrize(
    ("has_bfloat16", "has_compiler", "expected"),
    [
        (True, True, ("bfloat16", True)),
        (False, True, ("float32", False)),
        (True, False, ("float32", False)),
        (False, False, ("float32", False)),
    ],
)
def test_what_the_machine_cannot_do_falls_back_with_a_warning(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    has_bfloat16: bool,
    has_compiler: bool,
    expected: tuple[str, bool],
) -> None:
    machine(monkeypatch, has_bfloat16=has_bfloat16, has_compiler=has_compiler)
    with caplog.at_level(logging.WARNING):
        assert supported("bfloat16", True, CPU) == expected
    assert len(caplog.records) == (expected == ("float32", False))


@pytest.fixture
def switches() -> Iterator[None]:
    """PyTorch's global switches as they were."""
    matmul = torch.backends.cuda.matmul
    is_reduced = matmul.allow_bf16_reduced_precision_reduction
    yield
    torch.use_deterministic_algorithms(False)
    torch.utils.deterministic.fill_uninitialized_memory = True
    matmul.allow_bf16_reduced_precision_reduction = is_reduced


@pytest.mark.usefixtures("switches")
def test_a_gpu_adds_in_a_fixed_order_and_in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    repeat_arithmetic(CPU)
    assert not torch.are_deterministic_algorithms_enabled()
    repeat_arithmetic(torch.device("cuda", 1))
    assert torch.are_deterministic_algorithms_enabled()
    assert not torch.is_deterministic_algorithms_warn_only_enabled()
    assert not torch.utils.deterministic.fill_uninitialized_memory
    assert not torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8")  # a user's stays
    repeat_arithmetic(CUDA)
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":16:8"
