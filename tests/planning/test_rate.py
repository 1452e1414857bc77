"""The line of a forecast, what counts as done, and a rate that is really measured."""

import hashlib
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from serrm.cli import main
from serrm.planning import rate
from serrm.planning.done import still_to_do
from serrm.planning.rate import Rate, measured_rate, seconds_of, with_prefix, words
from serrm.planning.workload import Stage
from serrm.training.estimate import sample_of as real_sample_of
from serrm.training.loop import Trainer
from serrm.training.settings import Execution, TrainCell
from serrm.training.slots import Piece, PieceResult

ROOT = Path(__file__).parents[2]
STAGES = [
    Stage("download", "sudoku", "sudoku", "download/sudoku", "{}"),
    Stage("train", "sudoku-trm-s0", "sudoku", "train/sudoku-trm-s0", "a", 3 * 10**12),
    Stage("evaluate", "sudoku-trm-s0", "sudoku", "evaluate/sudoku-trm-s0", "b", 10**12),
]


def test_the_line() -> None:
    assert words("cpu", STAGES, Rate(4e10, "float32")).startswith(
        "profile cpu: 1 training, at most 4.0 TFLOP in all; this machine does about 40 GFLOP/s in float32: about "
    )
    assert "; at 40 GFLOP/s: about " in words("cpu", STAGES, Rate(4e10))
    assert seconds_of(STAGES, 4e10) == 100 + rate.DATA_SECONDS + 2 * rate.COMPUTING_SECONDS


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0.0, "0.0 "),
        (999.0, "999 "),
        (999.6, "1.0 k"),
        (3.8e13, "38 T"),
        (6.4e14, "640 T"),
        (3.2e21, "3.2 Z"),
    ],
)
def test_numbers_with_prefix(number: float, said: str) -> None:
    assert with_prefix(number) == said


def training(cell: TrainCell, operations: int) -> Stage:
    return Stage("train", cell.name, cell.task, f"train/{cell.name}", "", operations, cell=cell, side=4)


def test_the_longest_training_of_each_family_speaks_for_it(
    make_cell: Callable[..., TrainCell], trm_changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    se_rrm, trm = make_cell(variant="wide"), make_cell(variant="deep", **trm_changes)
    rates = {"wide": Rate(1e9, "float32"), "deep": Rate(3e9, "float32")}
    tried: list[TrainCell] = []

    def trial(cell: TrainCell, *others: object) -> Rate:
        tried.append(cell)
        return rates[cell.variant]

    monkeypatch.setattr(rate, "_tried", trial)
    stages = [
        training(se_rrm, 3 * 10**9),
        *STAGES,
        replace(training(make_cell(variant="other"), 10**9), name="evaluate"),
        training(trm, 6 * 10**9),
    ]
    assert measured_rate(stages, Execution(device="cpu")) == Rate(10e9 / 6, "float32")  # 10e9 in 4 s and 2 s
    assert tried == [se_rrm, trm]


@pytest.mark.parametrize("seconds", [0.0, 1e6])
def test_a_trial_is_a_training_in_small(
    seconds: float,
    make_cell: Callable[..., TrainCell],
    trm_changes: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []

    def sample_of(trainer: Trainer, num: int) -> Piece:
        asked.append(num)
        return real_sample_of(trainer, num)

    monkeypatch.setattr(rate, "TRIAL_SECONDS", seconds)
    monkeypatch.setattr("serrm.training.estimate.sample_of", sample_of)
    for cell in make_cell(train={"batch_size": 6}), make_cell(**trm_changes):
        asked.clear()
        found = measured_rate([training(cell, 10**9)], Execution(device="cpu"))
        assert found.operations > 0 and found.precision == "float32"
        assert max(asked) == (cell.train.batch_size if seconds else 1)


def test_a_trial_that_fills_the_gpu_tells_what_fitted(
    make_cell: Callable[..., TrainCell], monkeypatch: pytest.MonkeyPatch
) -> None:
    def work_on(trainer: Trainer, piece: Piece) -> PieceResult:
        if len(piece.tokens) > 2:
            raise torch.cuda.OutOfMemoryError
        fitted.append(len(piece.tokens))
        return real(trainer, piece)

    fitted: list[int] = []
    real = Trainer.work_on
    monkeypatch.setattr(rate, "TRIAL_SECONDS", 1e6)
    monkeypatch.setattr(Trainer, "work_on", work_on)
    assert measured_rate([training(make_cell(), 10**9)], Execution(device="cpu")).operations > 0
    assert fitted == [1, 1, 2]


def test_the_command_says_what_a_profile_takes_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate, "TRIAL_SECONDS", 0.0)
    shutil.copy(ROOT / "params.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["forecast", "--profile", "ci"]) == 0
    work = r"profile ci: 12 trainings, at most [\d.]+ TFLOP in all"
    pace = r"this machine does about [\d.]+ [GT]FLOP/s in \w+: about .*\n"
    assert re.fullmatch(f"{work}; {pace}", capsys.readouterr().out)


def locked(*stages: Stage) -> dict[str, str]:
    found = {stage.settings: hashlib.md5(stage.text.encode()).hexdigest() for stage in stages}
    return {f"data/config/cpu/{name}.json": md5 for name, md5 in found.items()}


def test_what_is_done_with_the_same_settings_does_not_count(tmp_path: Path) -> None:
    folders = ("raw/cpu/sudoku", "runs/cpu/sudoku-trm-s0", "predictions/cpu/sudoku-trm-s0")
    raw, run, predictions = (tmp_path / "data" / folder for folder in folders)
    for folder in (raw, run, predictions):
        folder.mkdir(parents=True)
    assert list(still_to_do(STAGES, "cpu", locked(*STAGES), tmp_path)) == []
    assert list(still_to_do(STAGES, "cpu", {}, tmp_path)) == STAGES
    assert list(still_to_do(STAGES, "cpu", locked(STAGES[0], STAGES[1]), tmp_path)) == STAGES[2:]
    run.rmdir()  # what follows a training that is to be done counts too
    assert list(still_to_do(STAGES, "cpu", locked(*STAGES), tmp_path)) == STAGES[1:]
    raw.rmdir()
    assert list(still_to_do(STAGES, "cpu", locked(*STAGES), tmp_path)) == STAGES
