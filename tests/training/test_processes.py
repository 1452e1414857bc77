"""Several processes, or pieces of a batch, train as one process does; whoever dies or stops, all end in order."""

import logging
import re
import socket
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from serrm.core.execution import Execution
from serrm.core.processes import Processes, joined_by_torchrun
from serrm.training.loop import Record
from serrm.training.settings import RunSettings
from tests import conftest
from tests.compiling import GPUS
from tests.conftest import run_settings
from tests.torchrun import ROOT, environment, torchrun
from tests.training import running

# The paper's learning rate; the larger one of the small recipes lets rounding grow tenfold every ten steps.
TWENTY = {"steps": 20, "log_every": 1, "batch_size": 8, "learning_rate": 5e-4, "warmup_steps": 8}
SHALLOW = {"layers": 1, "h_cycles": 1}


@pytest.fixture(params=["task types", "q_learning"])
def settings(request: pytest.FixtureRequest) -> RunSettings:
    if request.param == "task types":
        return run_settings(model={"task_types": "full", **SHALLOW}, train=TWENTY)
    model = {**conftest.TRM, "attention_dropout": 0.0}
    return run_settings(model=model, train={**conftest.Q_LEARNING, **TWENTY})


def run(settings: RunSettings, arrays: Path, folder: Path, **execution: Any) -> list[Record]:
    """Records of a finished training."""
    records: list[Record] = []
    running.run(settings, arrays, folder, Execution(device="cpu", **execution), records.append)
    return records


def test_pieces_train_as_the_whole_batch(settings: RunSettings, arrays: Path, tmp_path: Path) -> None:
    whole = run(settings, arrays, tmp_path / "whole")
    pieces = run(settings, arrays, tmp_path / "pieces", micro_batch=3)
    assert [record["step"] for record in pieces] == [record["step"] for record in whole]
    for left, right in zip(pieces, whole, strict=True):
        assert left["samples"] == right["samples"] and left["train_fsr"] == right["train_fsr"]
        assert abs(left["loss"] - right["loss"]) <= 1e-5


def run_in_two(settings: RunSettings, arrays: Path, folder: Path, *options: str) -> CompletedProcess[str]:
    """Train with two processes as one does on a machine without the pipeline."""
    return run_by_torchrun(2, settings, arrays, folder, "--device", "cpu", *options)


def run_by_torchrun(
    num: int, settings: RunSettings, arrays: Path, folder: Path, *options: str
) -> CompletedProcess[str]:
    """Train with so many processes."""
    folder.mkdir()
    file = folder / "settings.json"
    file.write_text(settings.model_dump_json())
    places = map(str, (file, arrays, folder / "run"))
    scratch = "--scratch", str(folder / "scratch")
    return torchrun(num, "-m", "serrm.training", *places, *scratch, *options)


def test_two_processes_train_as_one(settings: RunSettings, arrays: Path, tmp_path: Path) -> None:
    done = run_in_two(settings, arrays, tmp_path / "two")
    assert done.returncode == 0, done.stderr
    # Two pieces of one process add up the same two sums: every tensor is the same to the bit, the table's rows too.
    run(settings, arrays, tmp_path / "pieces", micro_batch=4)
    running.assert_same_checkpoint(tmp_path / "two" / "run", tmp_path / "pieces" / "run")
    assert running.facts_of(tmp_path / "two" / "run").processes == 2


@pytest.mark.parametrize("device", GPUS)
def test_one_process_of_torchrun_trains_as_without_it(arrays: Path, tmp_path: Path, device: str) -> None:
    """By nccl."""
    settings = run_settings(model=SHALLOW, train=TWENTY)
    done = run_by_torchrun(1, settings, arrays, tmp_path / "one", "--device", device)
    assert done.returncode == 0, done.stderr
    running.run(settings, arrays, tmp_path / "without", Execution(device=device))
    running.assert_same_checkpoint(tmp_path / "one" / "run", tmp_path / "without" / "run")


def test_two_stop_and_one_goes_on(arrays: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings = run_settings(model=SHALLOW, train=TWENTY)
    stopped = run_in_two(settings, arrays, tmp_path / "two", "--seconds", "1e-9")
    assert stopped.returncode
    assert stopped.stderr.count("step 1 of 20") == 1
    with caplog.at_level(logging.WARNING):
        run(settings, arrays, tmp_path / "two", micro_batch=4)
    assert re.search("processes 2, micro_batch None.*processes 1, micro_batch 4", caplog.text)
    run(settings, arrays, tmp_path / "pieces", micro_batch=4)
    running.assert_same_checkpoint(tmp_path / "two" / "run", tmp_path / "pieces" / "run")


def test_processes_that_cannot_connect_name_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        variables = {"RANK": 0, "WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        for name, value in variables.items():
            monkeypatch.setenv(name, str(value))
        with pytest.raises(ConnectionError, match=f"127.0.0.1:{port}"), joined_by_torchrun("cpu"):
            pass


def test_a_batch_that_does_not_divide_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\b4\b.*\b3\b"):
        Processes(num=3).local_range(4)
    assert [Processes(rank, 3).local_range(6) for rank in range(3)] == [slice(0, 2), slice(2, 4), slice(4, 6)]


@pytest.mark.parametrize(
    ("what", "code", "told"),
    [("75", 75, ""), ("dies", 1, "process 1 of 2 was killed by SIGKILL"), ("stops", 75, "saved")],
)
def test_a_command_in_two_processes_ends_as_they_do(what: str, code: int, told: str) -> None:
    command = [sys.executable, "-m", "tests.training.worker", what]
    ended = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    assert ended.returncode == code and told in ended.stdout + ended.stderr, ended.stderr
