"""States that a checkpoint left behind come back as they were, where the weights have not moved meanwhile."""

import logging
from pathlib import Path
from typing import Any

import pytest
import torch

from serrm.training import checkpoint as ckpt
from serrm.training.rebuild import lightened
from serrm.training.run import TrainingRun
from serrm.training.settings import Execution, TrainCell
from tests.training.running import MakeCell, interrupted

STILL = {
    "learning_rate": 1e-12,
    "weight_decay": 0.0,
    "warmup_steps": 0,
    "steps": 12,
    "max_supervision_steps": 5,
    "batch_size": 8,
}
# Seldom, so that slots grow old.
RANDOM = {"halting": {"kind": "random", "probability": 0.1}}


@pytest.fixture(params=["random", "random, with dropout", "q_learning"])
def cell(request: pytest.FixtureRequest, make_cell: MakeCell, trm_changes: dict[str, Any]) -> TrainCell:
    if request.param == "q_learning":
        types = {"task_types": {"learning_rate": 1e-12, "weight_decay": 0.0}}
        return make_cell(model=trm_changes["model"], train={**trm_changes["train"], **STILL, **types})
    dropout = 0.3 if "dropout" in request.param else 0.0
    return make_cell(train={**STILL, **RANDOM}, model={"attention_dropout": dropout})


def lighten(checkpoint: Path) -> None:
    """Leave behind what can be made again."""
    state = torch.load(checkpoint / ckpt.STATE, weights_only=True)
    weights, config = ckpt.read_weights(checkpoint), ckpt.read_config(checkpoint)
    ckpt.write_checkpoint(checkpoint, weights, lightened(state), config)


@pytest.mark.parametrize("micro_batch", [None, 3])
def test_rebuilt_states_are_those_carried_within_rounding(
    cell: TrainCell, arrays: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, micro_batch: int | None
) -> None:
    if cell.model.attention_dropout and micro_batch:
        pytest.skip("pieces of another size draw other masks")
    checkpoint = interrupted(cell, arrays, tmp_path, num_steps=4)
    folder, execution = checkpoint.parent, Execution(device="cpu", micro_batch=micro_batch)
    whole = TrainingRun(cell, arrays, folder, execution).trainer
    assert "not carried" not in caplog.text
    lighten(checkpoint)
    with caplog.at_level(logging.WARNING):
        rebuilt = TrainingRun(cell, arrays, folder, execution).trainer
    depths = torch.where(whole.slots.is_halted, 0, whole.slots.num_steps)
    assert depths.max() > 1 and (cell.train.halting.kind == "q_learning" or len(depths.unique()) > 1)
    assert "not carried" in caplog.text and f"up to {int(depths.max())} supervision steps" in caplog.text
    for ours, theirs in zip(rebuilt.slots.state, whole.slots.state, strict=True):
        is_alive = ~whole.slots.is_halted
        torch.testing.assert_close(ours[is_alive], theirs[is_alive], rtol=1e-4, atol=1e-5)
    for name in ("tokens", "targets", "task_types", "num_steps", "is_halted"):
        ours, theirs = getattr(rebuilt.slots, name), getattr(whole.slots, name)
        assert ours.dtype == theirs.dtype and torch.equal(ours, theirs)
    assert all(torch.equal(*pair) for pair in zip(rebuilt.average, whole.average, strict=True))
