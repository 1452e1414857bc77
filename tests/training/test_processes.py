"""Several processes, or pieces of a batch, train as one process does; whoever dies or stops, all end in order."""

import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor

from serrm.training import checkpoint as ckpt
from serrm.training.interrupt import Interrupted
from serrm.training.launch import run_in_processes
from serrm.training.loop import Record
from serrm.training.processes import Processes, joined_by_torchrun
from serrm.training.settings import Execution, TrainCell
from tests.compiling import DEVICES, apart
from tests.training import running
from tests.training.running import MakeCell

# The paper's learning rate; the larger one of the small recipes lets rounding grow tenfold every ten steps.
FIFTY = {"steps": 50, "log_every": 1, "batch_size": 8, "learning_rate": 5e-4, "warmup_steps": 20}
SHALLOW = {"layers": 1, "h_cycles": 1}


@pytest.fixture(params=["task types", "q_learning"])
def cell(request: pytest.FixtureRequest, make_cell: MakeCell, trm_changes: dict[str, Any]) -> TrainCell:
    task_types = {"learning_rate": 0.01, "weight_decay": 0.1}
    if request.param == "task types":
        return make_cell(model={"task_types": "full", **SHALLOW}, train={"task_types": task_types, **FIFTY})
    model = {**trm_changes["model"], "attention_dropout": 0.0}
    return make_cell(model=model, train={**trm_changes["train"], **FIFTY})


def run(cell: TrainCell, arrays: Path, folder: Path, **execution: Any) -> tuple[list[Record], dict[str, Any]]:
    """Records and state of a finished training."""
    records: list[Record] = []
    found = running.run(cell, arrays, folder, Execution(device="cpu", **execution), records.append)
    return records, torch.load(found / ckpt.STATE, weights_only=True)


def tensors(tree: Any) -> Iterator[Tensor]:
    """All tensors of a state, in its order."""
    for value in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from [value] if isinstance(value, Tensor) else tensors(value)


def assert_close_curves(one: list[Record], other: list[Record]) -> None:
    assert [record["step"] for record in one] == [record["step"] for record in other]
    for left, right in zip(one, other, strict=True):
        assert left["samples"] == right["samples"] and left["train_fsr"] == right["train_fsr"]
        assert abs(left["loss"] - right["loss"]) <= 1e-5


@pytest.mark.parametrize("size", [3, 4])
def test_pieces_train_as_the_whole_batch(cell: TrainCell, arrays: Path, tmp_path: Path, size: int) -> None:
    whole, _ = run(cell, arrays, tmp_path / "whole")
    assert_close_curves(run(cell, arrays, tmp_path / "pieces", micro_batch=size)[0], whole)


def test_two_processes_train_as_one(cell: TrainCell, arrays: Path, tmp_path: Path) -> None:
    whole, _ = run(cell, arrays, tmp_path / "one")
    records, state = run(cell, arrays, tmp_path / "two", processes=2)
    assert_close_curves(records, whole)
    # Two pieces of one process add up the same two sums: every tensor is the same to the bit, the table's rows too.
    pieces, expected = run(cell, arrays, tmp_path / "pieces", micro_batch=4)
    assert records == pieces
    found = list(tensors(state))
    assert len(found) > 20
    assert all(torch.equal(one, other) for one, other in zip(found, tensors(expected), strict=True))
    config = ckpt.read_config(tmp_path / "two" / "run")["training"]
    assert (config["processes"], config["samples"]) == (2, records[-1]["samples"])


def test_two_processes_stop_and_one_goes_on(
    make_cell: MakeCell, arrays: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cell = make_cell(model=SHALLOW, train={**FIFTY, "steps": 100})

    with pytest.raises(Interrupted, match=r"stopped at step .* of 100; resume with the same command"):
        two = Execution(device="cpu", processes=2)
        running.run(cell, arrays, tmp_path, two, running.stop_at(3))
    assert not (tmp_path / "run").exists()
    with caplog.at_level(logging.WARNING):
        records, state = run(cell, arrays, tmp_path, micro_batch=4)
    assert "begun on cpu, 2 processes, resuming on cpu, 4 puzzles at once: " in caplog.text
    pieces, expected = run(cell, arrays, tmp_path / "pieces", micro_batch=4)
    assert records == pieces
    assert all(torch.equal(*pair) for pair in zip(tensors(state), tensors(expected), strict=True))


def test_a_batch_that_does_not_divide_is_refused(make_cell: MakeCell, arrays: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^a batch of 4 slots does not divide by 3 processes"):
        run(make_cell(), arrays, tmp_path, processes=3)
    assert [Processes(rank, 3).own(6) for rank in range(3)] == [slice(0, 2), slice(2, 4), slice(4, 6)]


def work(what: str, tell: Callable[[Any], None]) -> str:
    """One process is wrong or dies, the other waits for it; or both wait to be ended."""
    with joined_by_torchrun("cpu") as processes:
        tell("begun")
        if what == "waits":
            time.sleep(60)
        if not processes.is_first:
            if what == "dies":
                os.kill(os.getpid(), signal.SIGKILL)
            raise ValueError("model.width: no")
        processes.agree(True)
    return "done"


def test_a_process_that_dies_ends_the_others() -> None:
    with pytest.raises(
        ChildProcessError, match=r"^process 1 of 2 was killed by SIGKILL, so the others were ended"
    ):
        run_in_processes(partial(work, "dies"), 2)


def test_an_error_of_one_process_is_that_of_all() -> None:
    messages: list[Any] = []
    with pytest.raises(ValueError, match=r"^model\.width: no$"):
        run_in_processes(partial(work, "refuses"), 2, messages.append)
    assert messages == ["begun"]


def test_work_that_heeds_no_signal_is_ended_by_it() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        run_in_processes(partial(work, "waits"), 2, lambda message: signal.raise_signal(signal.SIGINT))
    assert signal.getsignal(signal.SIGINT) is before


def test_a_message_that_cannot_be_handed_on_stops_the_work() -> None:
    def fail(message: Any) -> None:
        raise ConnectionError("the server is gone")

    with pytest.raises(ConnectionError, match="the server is gone"):
        run_in_processes(partial(work, "waits"), 2, fail)


def met(device: str) -> list[list[float]]:
    """What one process that is connected hears of itself: of its device and of the host."""
    with socket.create_server(("localhost", 0)) as free:
        port = free.getsockname()[1]
    os.environ |= {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}
    with joined_by_torchrun(device):
        told = [torch.arange(3.0, device=device), torch.tensor([0, 1], dtype=torch.uint8)]
        for each in told:
            dist.all_reduce(each)
        heard: list[object] = [None]
        dist.all_gather_object(heard, "self")
        assert heard == ["self"]
        return [each.tolist() for each in told]


@pytest.mark.parametrize("device", DEVICES)
def test_one_process_is_connected_by_the_backend_of_its_device(device: str) -> None:
    assert apart(met, device) == [[0, 1, 2], [0, 1]]
