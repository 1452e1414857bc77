"""Profiles that are too long to run in a test begin as they did when their losses were committed."""

import os
import platform
from pathlib import Path

import pytest
import torch

from serrm.kernels.cpu.build import has_kernels
from tests.training.first_losses import RUNS, first_losses

DOWNLOADED = ("published", "arc_10x10", "maze_hard")
MIRROR = os.environ.get("SERRM_MIRROR")


@pytest.mark.slow
@pytest.mark.numeric
@pytest.mark.parametrize("profile", RUNS)
def test_the_first_losses_are_the_committed_ones(profile: str, tmp_path: Path) -> None:
    if platform.machine() != "x86_64" or not has_kernels(torch.float32):
        pytest.skip("numbers are the same on x86 with native kernels")
    if profile in DOWNLOADED and MIRROR is None:
        pytest.skip("SERRM_MIRROR names no folder with the publishers' files")
    mirror = Path(MIRROR) if MIRROR and profile in DOWNLOADED else None
    committed = Path(__file__).with_name("losses") / f"{profile}.txt"
    assert first_losses(profile, mirror, tmp_path) == committed.read_text()
