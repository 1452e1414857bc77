"""The kernels are compiled once and shared; a machine that cannot is told why and goes on without."""

import logging
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from serrm.kernels.cpu import build
from serrm.kernels.precision import has_fast_bfloat16


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A machine with the instructions and an empty cache, whose one compiler is a script to be written."""
    monkeypatch.setattr("torch.cpu._is_avx512_bf16_supported", lambda: True)
    monkeypatch.setattr("torch.backends.cpu.get_cpu_capability", lambda: "AVX512")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    compiler = tmp_path / "g++"
    monkeypatch.setattr(
        "serrm.kernels.cpu.build.shutil.which", lambda name: str(compiler) if name == "g++" else None
    )
    build.has_kernels.cache_clear()
    yield compiler
    build.has_kernels.cache_clear()


def write_script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.mark.parametrize(
    ("dtype", "lacks", "has_instructions", "capability"),
    [
        (torch.bfloat16, "no AVX512-BF16", False, "AVX512"),
        (torch.bfloat16, "no AVX512-BF16", True, "AVX2"),
        (torch.float32, "no AVX2", False, "DEFAULT"),
    ],
)
def test_a_cpu_without_the_instructions_has_no_kernels(
    monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype, lacks: str, has_instructions: bool, capability: str
) -> None:
    monkeypatch.setattr("torch.cpu._is_avx512_bf16_supported", lambda: has_instructions)
    monkeypatch.setattr("torch.cpu._is_amx_tile_supported", lambda: has_instructions)
    monkeypatch.setattr("torch.backends.cpu.get_cpu_capability", lambda: capability)
    with pytest.raises(build.NoKernels, match=lacks):
        build.library.__wrapped__(dtype)
    assert not has_fast_bfloat16(torch.device("cpu"))


def test_a_machine_without_a_compiler_has_no_kernels(
    machine: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("serrm.kernels.cpu.build.shutil.which", lambda name: None)
    monkeypatch.setattr(build, "library", build.library.__wrapped__)
    with caplog.at_level(logging.WARNING):
        assert not build.has_kernels(torch.bfloat16)
    assert "g++, clang++, c++" in caplog.text


def test_a_compiler_that_fails_is_quoted_and_leaves_nothing(machine: Path, tmp_path: Path) -> None:
    write_script(machine, '[ "$1" = --version ] && echo 1 && exit 0\necho "tile.h: no such luck" >&2\nexit 1')
    with pytest.raises(build.NoKernels, match=r"tile\.h: no such luck"):
        build.library.__wrapped__(torch.bfloat16)
    assert list((tmp_path / "cache" / "serrm").iterdir()) == []
