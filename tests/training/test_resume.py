"""A run that was stopped, however it was stopped, ends in exactly the tensors of one that was not."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch

from serrm.core.execution import Execution
from serrm.core.provenance import package_hash
from serrm.training.identity import PipelineRun
from serrm.training.log import read_training_log
from serrm.training.run import (
    EXIT_RESUMABLE,
    MEASURED_FILE,
    Interrupted,
    TrainingRun,
    read_measured,
    stop_requests,
    train,
)
from serrm.training.settings import RunSettings
from tests import conftest
from tests.compiling import GPUS, apart
from tests.conftest import MakePath, run_settings
from tests.training.running import ONE_STEP, assert_same_checkpoint, interrupted, run, stop_at

EACH = {"log_every": 1, "schedule": "cosine"}
# Everything that has a state: dropout, EMA, task types, schedule, hints, every kind of halting.
FAMILIES: dict[str, dict[str, Any]] = {
    "se_rrm": {
        "model": {"attention_dropout": 0.2, "registers": 1, "standard_length": 9},
        "train": {**EACH, "hints": {"max_cells": 6, "examples": 40}},
    },
    "se_rrm, bfloat16 kernels": {
        "model": {"attention_dropout": 0.2, "head_dim": 16, "symbol_head_dim": 16, "task_types": "factored"},
        "train": {**EACH, "precision": "bfloat16", **conftest.TASK_TYPES},
        "fidelity": {"bfloat16_embeddings": True, "dropout_at_evaluation": True},
    },
    "trm, shallower at first": {
        "model": conftest.TRM,
        "train": {
            **EACH,
            **conftest.TASK_TYPES,
            "loss": {"kind": "softmax", "smoothing": 0.1},
            "step_weight": 0.7,
            "curriculum": [{"until": 0.5, "h_cycles": 1, "l_cycles": 1}],
        },
    },
    "trm, muon": {"model": conftest.TRM, "train": {**conftest.Q_LEARNING, **EACH, "optimizer": "muon"}},
    "hrm, solved slots halt": {
        "model": conftest.HRM,
        "train": {
            **EACH,
            **conftest.TASK_TYPES,
            "halting": {"kind": "random", "probability": 0.1, "probability_solved": 0.7},
        },
    },
}


@pytest.fixture(scope="module", params=[*FAMILIES, "fine-tuning"])
def settings(
    request: pytest.FixtureRequest, arrays: Path, tmp_path_factory: pytest.TempPathFactory
) -> RunSettings:
    if request.param in FAMILIES:
        return run_settings(**FAMILIES[request.param])
    first = run(run_settings(), arrays, tmp_path_factory.mktemp("first"))
    return run_settings(train={**EACH, "init_from": str(first)})


@pytest.fixture(scope="module")
def straight(settings: RunSettings, arrays: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(settings, arrays, tmp_path_factory.mktemp("straight"))


def test_resumed_is_identical(settings: RunSettings, arrays: Path, straight: Path, tmp_path: Path) -> None:
    for step in range(1, 6):
        with pytest.raises(Interrupted, match=f"step {step} of 6"):
            run(settings, arrays, tmp_path, ONE_STEP)
        (scratch,) = (tmp_path / "scratch").iterdir()
        kept = [f"step_{number:09d}" for number in range(max(1, step - 1), step + 1)]
        assert sorted(path.name for path in scratch.glob("step_*")) == kept
    assert_same_checkpoint(run(settings, arrays, tmp_path), straight)
    assert [record["step"] for record in read_training_log(scratch / "log.csv")] == [1, 2, 3, 4, 5, 6]


def test_signals_stop_a_training_but_not_after_its_last_step(arrays: Path, tmp_path: Path) -> None:
    settings = run_settings(train=EACH)
    for number, step in ((signal.SIGTERM, 1), (signal.SIGINT, 4)):
        with pytest.raises(Interrupted, match=f"step {step} of 6"):
            run(settings, arrays, tmp_path, on_record=stop_at(step, number))
        assert not (tmp_path / "run").exists()
        torch.rand(5)  # the global generator of the next process is another
    resumed = run(settings, arrays, tmp_path, on_record=stop_at(6))
    assert_same_checkpoint(resumed, run(settings, arrays, tmp_path / "straight"))


@pytest.mark.parametrize("change", ["settings", "data", "code", "arithmetic"])
def test_an_edit_starts_anew_and_its_undo_goes_on(
    make_arrays: MakePath, arrays: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, change: str
) -> None:
    settings = run_settings()
    interrupted(settings, arrays, tmp_path)
    other = Execution(device="cpu", max_seconds=1e-9, native=change != "arithmetic")
    with pytest.raises(Interrupted, match="stopped at step 1 of 6"):
        train(
            run_settings(train={"learning_rate": 1e-3}) if change == "settings" else settings,
            make_arrays(side=4, seed=1) if change == "data" else arrays,
            tmp_path / "run",
            tmp_path / "scratch",
            other,
            pipeline_run=PipelineRun("", settings.name, "edited" if change == "code" else package_hash()),
        )
    (line,) = (message for message in caplog.messages if "starts anew" in message)
    assert change in line and "step 1" in line and str(tmp_path / "scratch") in line
    with pytest.raises(Interrupted, match="stopped at step 2 of 6"):
        run(settings, arrays, tmp_path, ONE_STEP)


def test_a_training_of_other_code_goes_on_only_on_demand_and_says_so(arrays: Path, tmp_path: Path) -> None:
    settings = run_settings()
    before = interrupted(settings, arrays, tmp_path, num_steps=2).parent
    edited, wanted = PipelineRun("", settings.name, "edited"), Execution(device="cpu", resume_other_code=True)
    places = tmp_path / "run", tmp_path / "scratch"
    for execution in (wanted.model_copy(update={"max_seconds": 1e-9}), wanted):
        with suppress(Interrupted):
            trained = train(settings, arrays, *places, execution, pipeline_run=edited)
    assert read_measured(trained.folder)["other_code"] == {"code": package_hash(), "until_step": 2}
    straight = run(settings, arrays, tmp_path / "straight")
    assert_same_checkpoint(tmp_path / "run", straight)
    assert before.is_dir() and "other_code" not in read_measured(before)


def test_one_process_at_a_time_trains_in_a_folder(arrays: Path, tmp_path: Path) -> None:
    first = TrainingRun(run_settings(), arrays, tmp_path, Execution(device="cpu"))
    with pytest.raises(ValueError, match="another process"):
        TrainingRun(run_settings(), arrays, tmp_path, Execution(device="cpu"))
    first.close()
    TrainingRun(run_settings(), arrays, tmp_path, Execution(device="cpu")).close()


def test_a_resumed_run_keeps_the_most_memory_that_it_took(arrays: Path, tmp_path: Path) -> None:
    machine = interrupted(run_settings(), arrays, tmp_path).parent / MEASURED_FILE
    machine.write_text(json.dumps(json.loads(machine.read_text()) | {"peak_memory_bytes": 10**15}))
    run(run_settings(), arrays, tmp_path)
    assert json.loads(machine.read_text())["peak_memory_bytes"] == 10**15


def test_moved_to_another_machine_and_back_is_bit_identical(arrays: Path, tmp_path: Path) -> None:
    settings = run_settings(train={"snapshots": 3}, model={"attention_dropout": 0.2})
    straight = run(settings, arrays, tmp_path / "straight")
    home, away = tmp_path / "home", tmp_path / "away"
    scratch = interrupted(settings, arrays, home, num_steps=2).parent
    shutil.copytree(scratch, away / "scratch" / scratch.name)
    shutil.copytree(arrays, away / "arrays", ignore=shutil.ignore_patterns("4x4"))
    shutil.rmtree(scratch)
    files = map(str, (away / "scratch" / scratch.name / "settings.json", away / "arrays", away / "run"))
    command = [sys.executable, "-m", "serrm.training", *files, "--device", "cpu"]
    command += ["--scratch", str(away / "scratch")]

    def go_on(*options: str) -> subprocess.CompletedProcess[str]:
        one_thread = os.environ | {"OMP_NUM_THREADS": "1"}  # as here: sums depend on the number of threads
        return subprocess.run(
            [*command, *options], env=one_thread, capture_output=True, text=True, check=False
        )

    stopped = go_on("--seconds", "1e-9")
    assert stopped.returncode == EXIT_RESUMABLE and "step 3 of 6" in stopped.stderr
    finished = go_on()
    assert finished.returncode == 0 and "sudoku-tiny-s0 at step 3" in finished.stderr
    assert_same_checkpoint(away / "run", straight)
    shutil.copytree(away / "scratch" / scratch.name, scratch)
    # A budget in which no step could be taken: nothing is trained, the log has every record.
    assert_same_checkpoint(run(settings, arrays, home, ONE_STEP), straight)
    assert len(read_training_log(scratch / "log.csv")) == 3


def test_a_second_signal_acts_as_usual() -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    with stop_requests() as received:
        signal.raise_signal(signal.SIGINT)
        assert received == ["SIGINT"]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


def test_the_time_budget_counts_what_comes_before_the_first_step(
    arrays: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "serrm.training.run.warm_up", lambda trainer: time.sleep(0.6)
    )  # as compiling takes it
    with pytest.raises(Interrupted, match="stopped at step 1 of 6"):
        run(run_settings(), arrays, tmp_path, Execution(device="cpu", max_seconds=0.5))


def trained(settings: RunSettings, arrays: Path, folder: Path, device: str, num_stops: int) -> Path:
    """The checkpoint of a run that is stopped after its first steps; what it compiles is its own."""
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder / "compiled")
    for _ in range(num_stops):
        with pytest.raises(Interrupted):
            run(settings, arrays, folder, Execution(device=device, max_seconds=1e-9))
    return run(settings, arrays, folder, Execution(device=device))


@pytest.mark.slow
@pytest.mark.parametrize("device", GPUS)
@pytest.mark.parametrize(
    ("precision", "compiles", "dropout"),
    [("float32", True, 0.2), ("bfloat16", True, 0.2), ("bfloat16", True, 0.0), ("bfloat16", False, 0.2)],
)
def test_resumed_by_other_processes_on_a_device_is_bit_identical(
    make_arrays: MakePath, tmp_path: Path, device: str, precision: str, compiles: bool, dropout: float
) -> None:
    """Long and short axes of attention, CUDA graphs or dropout, and task types that several slots share."""
    model = {"attention_dropout": dropout, "task_types": "factored", "layers": 1, "head_dim": 16}
    train = {"steps": 8, "precision": precision, "compile": compiles, **conftest.TASK_TYPES}
    settings, arrays = run_settings(model=model, train=train), make_arrays(side=9, tests=(9,))
    straight = apart(trained, settings, arrays, tmp_path / "straight", device, 0)
    stopped = apart(trained, settings, arrays, tmp_path / "stopped", device, 3)
    assert_same_checkpoint(stopped, straight)
