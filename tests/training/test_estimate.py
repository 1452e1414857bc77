"""The estimate before the first step changes no number, is about right, and refuses what cannot fit."""

import logging
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from serrm.training import checkpoint as ckpt
from serrm.training import estimate as needs
from serrm.training.run import TrainingRun
from serrm.training.settings import Execution
from tests.training.running import MakeCell, run


def test_the_numbers_are_the_same_without_it(
    make_cell: MakeCell,
    trm_changes: dict[str, Any],
    arrays: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cells = make_cell(model={"attention_dropout": 0.3}), make_cell(**trm_changes)
    for number, cell in enumerate(cells):
        found = []
        for way in ("with", "without"):
            folder = tmp_path / f"{number} {way}"
            with monkeypatch.context() as patch:
                if way == "without":
                    patch.setattr(TrainingRun, "_log_needs", lambda run: None)
                run(cell, arrays, folder)
            state = torch.load(folder / "run" / ckpt.STATE, weights_only=True)
            found.append([*ckpt.read_weights(folder / "run").values(), *state["weights"].values()])
        assert all(torch.equal(*pair) for pair in zip(*found, strict=True))


def test_memory_grows_with_the_puzzles_and_falls_with_pieces(
    make_cell: MakeCell, arrays: Path, tmp_path: Path
) -> None:
    cell = make_cell(train={"batch_size": 4096})

    def needed(**execution: Any) -> int:
        trainer = TrainingRun(cell, arrays, tmp_path, Execution(device="cpu", **execution)).trainer
        return needs.memory_of(trainer) - needs.PROCESS_BYTES

    whole = needed()
    assert needed(micro_batch=64) < 0.5 * whole


def test_what_cannot_fit_is_refused_in_one_line(
    make_cell: MakeCell, arrays: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(needs, "total_memory", lambda device: 10**8)
    with pytest.raises(
        ValueError, match=r"^needs about \d\.\d GB, this machine has 0\.1 GB: lower .*micro_batch"
    ):
        run(make_cell(), arrays, tmp_path)
    assert not (tmp_path / "run").exists()


def test_it_is_told_before_the_first_step(
    make_cell: MakeCell, arrays: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        run(make_cell(), arrays, tmp_path)
    (line,) = [message for message in caplog.messages if "needs about" in message]
    assert re.fullmatch(
        r"sudoku-tiny-s0 needs about \d+\.\d GB and [\d.e-]+ s a step: \d+ s for 6 steps", line
    )
