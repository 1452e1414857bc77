"""The float32 kernels give the same bits with AVX2 and with AVX-512, and with one thread and with two."""

import json
import os
import subprocess
import sys

import pytest
import torch

from serrm.kernels.cpu.build import find_compiler


def digests(**environment: str) -> dict[str, dict[str, str]]:
    """Hashes of outputs, gradients and updates by the number of threads, in a process of its own."""
    command = [sys.executable, "-m", "tests.kernels.kernel_hashes"]
    run = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    found: dict[str, dict[str, str]] = json.loads(run.stdout)
    return found


@pytest.mark.skipif(
    find_compiler() is None or torch.backends.cpu.get_cpu_capability() not in ("AVX2", "AVX512"),
    reason="this machine has no such kernels",
)
def test_no_bit_depends_on_the_instruction_set_or_the_threads() -> None:
    free, held = digests(), digests(ATEN_CPU_CAPABILITY="avx2")
    assert free["1"] == free["2"]
    assert held == free
