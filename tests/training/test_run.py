"""A training that was stopped anywhere, however rudely, ends in exactly the tensors of one that was not."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file

from serrm.manifest import file_names
from serrm.models.flops import flops
from serrm.training import checkpoint as ckpt
from serrm.training.interrupt import Interrupted, StopRequests
from serrm.training.loop import Record
from serrm.training.run import Diverged, TrainingRun
from serrm.training.settings import Execution, TrainCell
from tests.training.running import (
    ONE_STEP,
    PLAIN,
    MakeCell,
    assert_same,
    assert_same_checkpoint,
    interrupted,
    run,
    stop_at,
)

NUM_KILLS = 20


@pytest.fixture(scope="module", params=["se_rrm", "se_rrm with all faults", "trm"])
def cell(request: pytest.FixtureRequest, make_cell: MakeCell, trm_changes: dict[str, Any]) -> TrainCell:
    """Trainings with everything that has a state: dropout, averages, task types, a schedule."""
    train = {"log_every": 1, "schedule": "cosine"}
    if request.param == "trm":
        return make_cell(
            model=trm_changes["model"], train={**trm_changes["train"], "optimizer": "muon", **train}
        )
    if request.param == "se_rrm":
        return make_cell(train=train, model={"attention_dropout": 0.2, "registers": 1})
    return make_cell(
        train={**train, "precision": "bfloat16"},
        model={"planes": "usual", "symbols": "untied"},
        fidelity={"bfloat16_embeddings": True, "dropout_at_evaluation": True},
    )


@pytest.fixture(scope="module")
def straight(cell: TrainCell, arrays: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(cell, arrays, tmp_path_factory.mktemp("straight"))


@pytest.mark.parametrize("step", [1, 4, 6])
def test_stopped_and_resumed_is_bit_identical(
    cell: TrainCell, arrays: Path, straight: Path, tmp_path: Path, step: int
) -> None:
    records: list[Record] = []
    if step < 6:
        with pytest.raises(Interrupted, match=f"stopped at step {step} of 6; resume with the same command"):
            run(cell, arrays, tmp_path, on_record=stop_at(step))
        assert not (tmp_path / "run").exists()
        torch.rand(5)  # the global generator of the next process is another
    else:
        run(cell, arrays, tmp_path, on_record=stop_at(step))  # a stop at the last step stops nothing
    assert_same_checkpoint(run(cell, arrays, tmp_path, on_record=records.append), straight)
    assert [record["step"] for record in records] == [1, 2, 3, 4, 5, 6]


def test_a_process_for_every_step_is_bit_identical(
    cell: TrainCell, arrays: Path, straight: Path, tmp_path: Path
) -> None:
    for step in range(1, 6):
        with pytest.raises(Interrupted, match=f"stopped at step {step} of 6"):
            run(cell, arrays, tmp_path, ONE_STEP)
        (scratch,) = (tmp_path / "scratch").iterdir()
        kept = [f"step_{each:09d}" for each in range(max(1, step - 1), step + 1)]
        assert sorted(path.name for path in scratch.glob("step_*")) == kept
    assert_same_checkpoint(run(cell, arrays, tmp_path, ONE_STEP), straight)


def test_success_leaves_a_checkpoint_with_snapshots(
    make_cell: MakeCell, arrays: Path, tmp_path: Path
) -> None:
    cell = make_cell(train={"steps": 6, "log_every": 2, "snapshots": 3})
    with pytest.raises(Interrupted):
        run(cell, arrays, tmp_path, on_record=stop_at(4))
    (folder,) = (tmp_path / "scratch").iterdir()
    at_stop = ckpt.read_weights(folder / "step_000000004")
    target = run(cell, arrays, tmp_path)
    snapshots = [f"snapshots/step_{step:09d}.safetensors" for step in (2, 4, 6)]
    assert file_names(target) == [
        "SHA256SUMS",
        "config.json",
        "model.safetensors",
        *snapshots,
        "training_state.pt",
    ]
    assert_same(load_file(target / snapshots[1]), at_stop)
    assert_same(load_file(target / snapshots[2]), ckpt.read_weights(target))
    config = ckpt.read_config(target)
    done = config["training"]
    with safe_open(target / snapshots[2], "pt") as file:
        assert file.metadata() == {
            "step": "6",
            "samples": str(done["samples"]),
            "loss": str(done["final_loss"]),
        }
    assert config["cell"] == cell.model_dump(mode="json")
    assert done["steps"] == 6 and done["samples"] >= 4 and done["final_loss"] > 0
    assert (config["num_symbols"], config["side"]) == (6, 4)
    assert done["operations"] == 6 * 4 * flops(cell.model, 16, 6, cell.train.halting)


def test_changed_data_are_refused_by_name(
    make_cell: MakeCell, make_arrays: Callable[..., Path], arrays: Path, tmp_path: Path
) -> None:
    cell = make_cell()
    interrupted(cell, arrays, tmp_path)
    other = make_arrays(side=4, seed=1)
    with pytest.raises(
        ValueError, match=r"step_000000001: made with another data_hash: '\w{64}', now '\w{64}'$"
    ):
        run(cell, other, tmp_path)
    run(cell, arrays, tmp_path)


def test_a_changed_parameter_starts_afresh(make_cell: MakeCell, arrays: Path, tmp_path: Path) -> None:
    first, second = make_cell(), make_cell(train={"learning_rate": 1e-3})
    interrupted(first, arrays, tmp_path)
    with pytest.raises(Interrupted, match="stopped at step 1 of 6"):
        run(second, arrays, tmp_path, ONE_STEP)
    with pytest.raises(Interrupted, match="stopped at step 2 of 6"):
        run(first, arrays, tmp_path, ONE_STEP)


def test_stop_requests_note_the_first_signal_and_pass_on_the_second() -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    with StopRequests() as requests:
        assert requests.received is None
        signal.raise_signal(signal.SIGINT)
        assert requests.received == "SIGINT"
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


PROGRAM = """
import sys
from pathlib import Path
import torch
from serrm.training.settings import Execution, TrainCell
from serrm.training.run import train

torch.set_num_threads(1)
cell, arrays, folder = sys.argv[1:]
train(
    TrainCell.model_validate_json(cell),
    Path(arrays),
    Path(folder, "run"),
    Path(folder, "scratch"),
    Execution(device="cpu", checkpoint_seconds=0.02),
    lambda record: print(record, flush=True),
)
"""


def test_an_explosion_stops_with_the_last_good_checkpoint(
    make_cell: MakeCell, arrays: Path, tmp_path: Path
) -> None:
    cell = make_cell(train={"steps": 60, "log_every": 1, "learning_rate": 1e30, "warmup_steps": 40})
    always = Execution(device="cpu", checkpoint_seconds=1e-9)
    with pytest.raises(Diverged, match=r"(loss is|not finite).* at step \d+.*; training stopped") as caught:
        run(cell, arrays, tmp_path, always)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()
    good = ckpt.latest_sound(tmp_path / "scratch" / cell.digest())
    where = "there is no checkpoint yet" if good is None else f"the last good checkpoint is {good}"
    assert where in str(caught.value)


def test_a_bad_state_takes_no_good_checkpoints_place(
    make_cell: MakeCell, arrays: Path, tmp_path: Path
) -> None:
    cell = make_cell()
    good = interrupted(cell, arrays, tmp_path)
    again = TrainingRun(cell, arrays, good.parent, PLAIN)
    again.trainer.step += 1
    with torch.no_grad():
        again.trainer.parameters[0].reshape(-1)[0] = float("nan")
    with pytest.raises(
        Diverged, match=f"weights or states are not finite at step 2; .* checkpoint is .*{good.name}"
    ):
        again._save()
    assert ckpt.latest(good.parent) == good and ckpt.damage(good) is None


def test_a_truncated_checkpoint_loses_only_itself(
    make_cell: MakeCell, arrays: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cell = make_cell(train={"log_every": 1})
    straight = run(cell, arrays, tmp_path / "straight")
    newest = interrupted(cell, arrays, tmp_path, num_steps=3)
    assert newest.name == "step_000000003"
    state = newest / ckpt.STATE
    state.write_bytes(state.read_bytes()[:1000])
    assert_same_checkpoint(run(cell, arrays, tmp_path), straight)
    assert "step_000000003 is damaged: training_state.pt is not what was written (1000 bytes)" in caplog.text


@pytest.mark.slow
def test_killed_at_random_moments_is_bit_identical(make_cell: MakeCell, arrays: Path, tmp_path: Path) -> None:
    cell = make_cell(
        train={"steps": 2000, "log_every": 4, "snapshots": 20},
        model={"attention_dropout": 0.2, "h_cycles": 1},
    )
    straight = run(cell, arrays, tmp_path / "straight")
    command = [sys.executable, "-c", PROGRAM, cell.model_dump_json(), str(arrays), str(tmp_path)]
    rng = np.random.default_rng(0)
    scratch, reached, num_kills = tmp_path / "scratch" / cell.digest(), [0], 0
    while num_kills < NUM_KILLS:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
        assert process.stdout is not None
        process.stdout.readline()  # the first record
        time.sleep(rng.uniform(0, 0.4))
        process.kill()  # SIGKILL: nothing in the process can react
        process.communicate()
        assert process.returncode == -signal.SIGKILL, "the training must last for all kills"
        num_kills += 1
        found = ckpt.latest(scratch)
        if found is not None:
            # Whatever moment it was, the newest checkpoint is whole, and no older than the one before.
            state = torch.load(found / ckpt.STATE, weights_only=True)
            assert found.name == f"step_{state['step']:09d}"
            assert state["step"] >= reached[-1]
            reached.append(state["step"])
            assert ckpt.read_weights(found).keys() == state["weights"].keys()
    assert len(set(reached)) > 3, f"too few different moments: {reached}"
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    assert_same_checkpoint(tmp_path / "run", straight)


def test_the_time_budget_counts_what_comes_before_the_first_step(
    make_cell: MakeCell, arrays: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TrainingRun, "_log_needs", lambda self: time.sleep(0.6))  # as compiling takes it
    with pytest.raises(Interrupted, match="stopped at step 1 of 6"):
        run(make_cell(), arrays, tmp_path, Execution(device="cpu", max_seconds=0.5))
