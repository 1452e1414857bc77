"""A run leaves its checkpoint, refuses what cannot come out well, and may begin with another run's weights."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file

from serrm.core import devices
from serrm.core.execution import Execution
from serrm.core.files import file_names, hash_file
from serrm.kernels import precision
from serrm.models.flops import flops
from serrm.models.settings import ModelSizes
from serrm.training import checkpoint as ckpt
from serrm.training.loop import Record
from serrm.training.run import Interrupted
from serrm.training.settings import RunSettings
from tests import conftest
from tests.conftest import MakePath, run_settings
from tests.training.running import (
    ONE_STEP,
    assert_same,
    assert_same_checkpoint,
    begun,
    facts_of,
    interrupted,
    run,
    stop_at,
)


def test_success_leaves_a_checkpoint_with_snapshots(arrays: Path, tmp_path: Path) -> None:
    settings = run_settings(train={"snapshots": 3})
    with pytest.raises(Interrupted):
        run(settings, arrays, tmp_path, on_record=stop_at(4))
    (folder,) = (tmp_path / "scratch").iterdir()
    at_stop = ckpt.read_weights(folder / "step_000000004")
    target = run(settings, arrays, tmp_path)
    snapshots = [f"snapshots/step_{step:09d}.safetensors" for step in (2, 4, 6)]
    others = ["SHA256SUMS", "config.json", "model.safetensors"]
    assert file_names(target) == [*others, *snapshots, "training_state.pt"]
    assert_same(load_file(target / snapshots[1]), at_stop)
    assert_same(load_file(target / snapshots[2]), ckpt.read_weights(target))
    config = ckpt.read_config(target)
    done = config.training
    with safe_open(target / snapshots[2], "pt") as file:
        facts = {"step": 6, "samples": done.samples, "loss": done.final_loss}
        assert json.loads(file.metadata()["facts"]) == facts
    assert config.run == settings
    assert done.steps == 6 and done.samples >= 4 and (done.final_loss or 0) > 0
    assert (config.num_symbols, config.side) == (6, 4)
    step = flops(settings.model, ModelSizes(6, 16), settings.train.halting)
    assert done.flops == 6 * 4 * step


@pytest.mark.numeric
def test_free_cores_change_no_number(arrays: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = run_settings()
    threads, seen = tmp_path / "threads", []

    def free_a_core(record: Record) -> None:
        seen.append(torch.get_num_threads())
        threads.write_text("2")

    alone = run(settings, arrays, tmp_path / "alone")
    monkeypatch.setenv(devices.THREADS_FILE, str(threads))
    try:
        shared = run(settings, arrays, tmp_path / "shared", on_record=free_a_core)
    finally:
        torch.set_num_threads(1)  # as in all tests
    is_exact = facts_of(alone).arithmetic == precision.EXACT
    assert seen == ([1, 2, 2] if is_exact else [1, 1, 1])
    assert_same(load_file(shared / "model.safetensors"), load_file(alone / "model.safetensors"))


def test_hints_reach_the_first_questions(arrays: Path, tmp_path: Path) -> None:
    both = run_settings(), run_settings(train={"hints": {"max_cells": 8, "examples": 1000}})
    streams = [begun(settings, arrays, tmp_path).trainer.stream for settings in both]
    (plain, answers, _), (shown, *_) = (stream.gather(0, 8) for stream in streams)
    is_given = plain == answers
    assert (shown[is_given] == answers[is_given]).all() and (shown == answers).sum() > is_given.sum()


def test_an_explosion_stops_with_the_last_good_checkpoint(arrays: Path, tmp_path: Path) -> None:
    settings = run_settings(train={"steps": 60, "log_every": 1, "learning_rate": 1e30, "warmup_steps": 40})
    always = Execution(device="cpu", checkpoint_seconds=1e-9)
    with pytest.raises(ValueError, match=r"step \d+") as caught:
        run(settings, arrays, tmp_path, always)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()
    (folder,) = (tmp_path / "scratch").iterdir()
    good = ckpt.latest_sound(folder)
    assert good is None or str(good) in str(caught.value)


def test_precision_auto_is_the_faster_one_and_another_one_starts_anew(
    arrays: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precision, "has_fast_bfloat16", lambda device: True)
    monkeypatch.setattr(precision, "faster_precision", lambda: "bfloat16")
    settings = run_settings(train={"precision": "auto"})
    found = interrupted(settings, arrays, tmp_path / "auto")
    assert facts_of(found).precision == "bfloat16"
    monkeypatch.setattr(precision, "faster_precision", lambda: "float32")
    target = run(settings, arrays, tmp_path / "auto")
    assert_same_checkpoint(target, run(run_settings(), arrays, tmp_path / "fixed"))
    assert facts_of(target).precision == "float32"


def test_left_variables_start_no_group(arrays: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        left = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        for name, value in left.items():
            monkeypatch.setenv(name, value)
        run(run_settings(), arrays, tmp_path)


TRUNK = {"log_every": 1, "snapshots": 2}


@pytest.fixture(scope="module")
def trunk(arrays: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished training at a constant rate, with everything that has a state."""
    settings = run_settings(train=TRUNK, model={"attention_dropout": 0.2})
    return run(settings, arrays, tmp_path_factory.mktemp("trunk"))


def test_fine_tuning_begins_with_the_ema_weights(make_arrays: MakePath, trunk: Path, tmp_path: Path) -> None:
    settings = run_settings(train={"init_from": str(trunk)}, seed=1)
    shipped = load_file(trunk / ckpt.MODEL)
    raw = torch.load(trunk / ckpt.STATE, weights_only=True)["weights"]
    assert any(not torch.equal(shipped[name], value) for name, value in raw.items())
    for side in (4, 9):
        training = begun(settings, make_arrays(side=side), tmp_path / str(side))
        assert_same(training.trainer.model.state_dict(), shipped)
        assert_same(training.trainer.ema_weights(), shipped)
        assert training.config().initial_sha256 == hash_file(trunk / ckpt.MODEL)


@pytest.mark.parametrize("model", [{"width": 16}, {"layers": 3}, conftest.TRM])
def test_unfit_weights_are_refused(arrays: Path, trunk: Path, tmp_path: Path, model: dict[str, Any]) -> None:
    train = {"init_from": str(trunk), **conftest.TASK_TYPES}
    with pytest.raises(ValueError, match=r"^train\.init_from: "):
        run(run_settings(model=model, train=train), arrays, tmp_path, ONE_STEP)


def continuing(trunk: Path, **changes: Any) -> RunSettings:
    train = {**TRUNK, "init_from": str(trunk), "continues": True, "steps": 3, **changes}
    return run_settings(train=train, model={"attention_dropout": 0.2})


def test_a_continued_training_equals_one_of_all_steps(arrays: Path, trunk: Path, tmp_path: Path) -> None:
    whole = run_settings(train={**TRUNK, "steps": 9}, model={"attention_dropout": 0.2})
    straight = run(whole, arrays, tmp_path / "straight")
    settings = continuing(trunk)
    interrupted(settings, arrays, tmp_path)  # and so does one that was stopped after its first step
    checkpoint = run(settings, arrays, tmp_path)
    states = [torch.load(folder / ckpt.STATE, weights_only=True) for folder in (checkpoint, straight)]
    assert_same(*states)
    assert_same(load_file(checkpoint / ckpt.MODEL), load_file(straight / ckpt.MODEL))
    facts, facts_before, all_facts = map(facts_of, (checkpoint, trunk, straight))
    assert (facts.steps, facts.steps_before) == (3, 6)
    assert facts.flops + facts_before.flops == all_facts.flops
    assert facts.samples + facts_before.samples == facts.samples + facts.samples_before == all_facts.samples
    assert [path.stem[-2:] for path in sorted((checkpoint / ckpt.SNAPSHOTS).iterdir())] == ["08", "09"]


def test_a_branch_decays_and_leaves_the_trunk_as_it_was(arrays: Path, trunk: Path, tmp_path: Path) -> None:
    before, rates = (trunk / ckpt.SUMS).read_bytes(), list[float]()
    settings = continuing(trunk, schedule="cosine", final_rate=0.0, steps=4)
    run(settings, arrays, tmp_path, on_record=lambda record: rates.append(record["learning_rate"]))
    peak = settings.train.learning_rate
    assert rates == pytest.approx([peak * share for share in (1, 0.853553, 0.5, 0.146447)], rel=1e-5)
    assert (trunk / ckpt.SUMS).read_bytes() == before and ckpt.damage_of(trunk) is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"batch_size": 2}, "train.batch_size"),
        ({"optimizer": "muon"}, "train.optimizer"),
        ({}, "weights alone"),
    ],
)
def test_other_settings_and_weights_alone_are_not_continued(
    arrays: Path, trunk: Path, tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    start = trunk if changes else tmp_path / "weights"
    if not changes:
        ckpt.copy_for_prediction(trunk, start)
    with pytest.raises(ValueError, match=rf"^train\.continues: .*{reason}"):
        run(continuing(start, **changes), arrays, tmp_path)


def test_without_slots_training_goes_on_with_new_ones_and_its_facts_say_so(
    arrays: Path, trunk: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As on another machine, to which the states of the slots were not copied."""
    small = tmp_path / "small"
    ckpt.copy_without_slots(trunk, small)
    assert ckpt.damage_of(small) is None
    settings = continuing(small)
    saved = torch.load(trunk / ckpt.STATE, weights_only=True)
    state = begun(settings, arrays, tmp_path / "begun").trainer.state_dict()
    for key in ("step", "weights", "ema", "optimizer"):
        assert_same(state[key], saved[key])
    assert state["slots"]["is_halted"].all() and state["slots"]["position"] == saved["slots"]["position"]
    interrupted(settings, arrays, tmp_path)
    assert facts_of(run(settings, arrays, tmp_path)).refilled == (6,)
    assert facts_of(trunk).refilled == ()
    assert any("filled anew" in message for message in caplog.messages)
