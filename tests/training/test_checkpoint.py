"""A checkpoint is there whole or not at all, and is refused by name of what does not fit."""

from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np
import pytest
import torch

from serrm.training import checkpoint as ckpt
from tests.conftest import config_of, run_settings
from tests.drawn import CPU
from tests.training.running import files_limited

STATE: dict[str, Any] = {"step": 3, "optimizer": {"state": {0: {"mean": torch.arange(3.0)}}}, "note": None}
WEIGHTS = {"a": torch.arange(6.0).reshape(2, 3), "b.c": torch.full((2,), 0.1)}


def write(target: Path, **facts: Any) -> Path:
    """Write a checkpoint with these facts in its config.json."""
    ckpt.write_checkpoint(target, WEIGHTS, STATE, config_of(run_settings(), **facts))
    return target


@pytest.mark.parametrize("most", [100, 1000], ids=["in the weights", "in the state"])
def test_a_failed_write_leaves_what_was_there(tmp_path: Path, most: int) -> None:
    target = write(tmp_path / "step_1", data_hash="old")
    for other in (target, tmp_path / "step_2"):
        with pytest.raises(OSError, match="File too large"), files_limited(most):
            write(other)
    assert ckpt.read_config(target).data_hash == "old"
    assert {path.name for path in tmp_path.iterdir()} == {"step_1"}


def test_a_state_that_would_run_code_is_not_loaded(tmp_path: Path) -> None:
    target = write(tmp_path / "step_1")
    torch.save({"step": np.random.default_rng(0)}, target / ckpt.STATE)
    with pytest.raises(UnpicklingError, match="Weights only load failed"):
        ckpt.read_training_state(target, CPU)


def test_the_latest_whole_checkpoint_is_kept(tmp_path: Path) -> None:
    assert ckpt.latest(tmp_path) is None
    for step in (9, 10, 100):
        write(tmp_path / f"step_{step:09d}")
    (tmp_path / ".step_000000999.tmp").mkdir()  # left by a process that was killed while writing
    (tmp_path / "snapshots").mkdir()
    newest = ckpt.latest(tmp_path)
    assert newest.name == "step_000000100"
    ckpt.prune(tmp_path, 2)
    assert {path.name for path in tmp_path.iterdir()} == {"step_000000100", "step_000000010", "snapshots"}


@pytest.mark.parametrize("name", ["model.safetensors", "training_state.pt", "config.json", "SHA256SUMS"])
def test_a_damaged_checkpoint_gives_way_to_the_one_before(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    older, newer = write(tmp_path / "step_1"), write(tmp_path / "step_2")
    assert ckpt.latest_sound(tmp_path) == newer and not caplog.records
    content = (newer / name).read_bytes()
    (newer / name).write_bytes(content[: len(content) // 2])
    assert ckpt.latest_sound(tmp_path) == older and not newer.exists()
    (line,) = caplog.messages
    assert "step_2 is damaged" in line and "continuing from step_1" in line and "\n" not in line
    (older / name).unlink()
    with pytest.raises(ValueError, match=r"\bstep_1\b"):
        ckpt.latest_sound(tmp_path)
    assert older.exists()
