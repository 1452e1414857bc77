"""The line of a forecast, what counts as done, and a rate that is really measured."""

import hashlib
from pathlib import Path

import pytest

from serrm.planning import rate
from serrm.planning.done import still_to_do
from serrm.planning.rate import Rate, measured_rate, seconds_of, with_prefix, words
from serrm.planning.workload import Stage
from serrm.training.settings import Execution

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


@pytest.mark.parametrize("num_rows", [64, 10**10])
def test_a_rate_is_measured(num_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate, "MEASURE_SECONDS", 0.01)
    monkeypatch.setattr(rate, "LEAST_OPERATIONS", 4e6)
    found = measured_rate((num_rows, 32), Execution(device="cpu"))
    assert found.operations > 0 and found.precision in ("float32", "bfloat16")


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
