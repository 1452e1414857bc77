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
from serrm.training import checkpoint as ckpt
from serrm.training.loop import Record
from serrm.training.run import Interrupted, TrainingRun
from serrm.training.settings import RunSettings
from tests import conftest
from tests.conftest import MakePath, MakeRun
from tests.training.running import (
    ONE_STEP,
    PLAIN,
    assert_same,
    assert_same_checkpoint,
    facts_of,
    interrupted,
    run,
    stop_at,
)


def test_success_leaves_a_checkpoint_with_snapshots(make_run: MakeRun, arrays: Path, tmp_path: Path) -> None:
    settings = make_run(train={"steps": 6, "log_every": 2, "snapshots": 3})
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
    assert done is not None
    with safe_open(target / snapshots[2], "pt") as file:
        facts = {"step": 6, "samples": done.samples, "loss": done.final_loss}
        assert json.loads(file.metadata()["facts"]) == facts
    assert config.run == settings
    assert done.steps == 6 and done.samples >= 4 and (done.final_loss or 0) > 0
    assert (config.num_symbols, config.side) == (6, 4)
    step = flops(settings.model, settings.train.halting, num_symbols=6, num_positions=16)
    assert done.flops == 6 * 4 * step


def test_steps_of_a_curriculum_count_with_the_cycles_that_they_had(
    make_run: MakeRun, arrays: Path, tmp_path: Path
) -> None:
    phases = [{"until": 0.5, "h_cycles": 1, "l_cycles": 1}]
    settings = make_run(train={"curriculum": phases})
    shallow = settings.model.model_copy(update={"h_cycles": 1, "l_cycles": 1})
    sizes = {"num_symbols": 6, "num_positions": 16}
    of_step = [flops(model, settings.train.halting, **sizes) for model in (shallow, settings.model)]
    config = ckpt.read_config(run(settings, arrays, tmp_path))
    assert config.training.flops == 3 * 4 * sum(of_step) and of_step[0] < of_step[1]


@pytest.mark.numeric
def test_free_cores_change_the_threads_and_no_number(
    make_run: MakeRun, arrays: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = make_run(train={"steps": 6, "log_every": 2, "precision": "float32"})
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


def test_hints_reach_the_first_questions(make_run: MakeRun, arrays: Path, tmp_path: Path) -> None:
    hints = {"max_cells": 8, "examples": 1000}
    both = make_run(), make_run(train={"hints": hints})
    runs = [TrainingRun(settings, arrays, tmp_path, PLAIN) for settings in both]
    streams = [training.trainer.stream for training in runs]
    for training in runs:
        training.close()
    (plain, answers, _), (shown, *_) = (stream.gather(0, 8) for stream in streams)
    is_given = plain == answers
    assert (shown[is_given] == answers[is_given]).all() and (shown == answers).sum() > is_given.sum()


def test_an_explosion_stops_with_the_last_good_checkpoint(
    make_run: MakeRun, arrays: Path, tmp_path: Path
) -> None:
    settings = make_run(train={"steps": 60, "log_every": 1, "learning_rate": 1e30, "warmup_steps": 40})
    always = Execution(device="cpu", checkpoint_seconds=1e-9)
    with pytest.raises(ValueError, match=r"step \d+") as caught:
        run(settings, arrays, tmp_path, always)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()
    (folder,) = (tmp_path / "scratch").iterdir()
    good = ckpt.latest_sound(folder)
    assert good is None or str(good) in str(caught.value)


@pytest.mark.parametrize("chosen", ["bfloat16", "float32"])
def test_precision_auto_is_the_faster_one_and_another_one_starts_anew(
    make_run: MakeRun, arrays: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: str
) -> None:
    monkeypatch.setattr(precision, "has_fast_bfloat16", lambda device: True)
    monkeypatch.setattr(precision, "faster_precision", lambda: chosen)
    settings = make_run(train={"precision": "auto"})
    found = interrupted(settings, arrays, tmp_path / "auto")
    assert facts_of(found).precision == chosen
    other = {"bfloat16": "float32", "float32": "bfloat16"}[chosen]
    monkeypatch.setattr(precision, "faster_precision", lambda: other)
    target = run(settings, arrays, tmp_path / "auto")
    fixed = run(make_run(train={"precision": other}), arrays, tmp_path / "fixed")
    assert_same_checkpoint(target, fixed)
    assert facts_of(target).precision == other


def test_variables_that_torchrun_left_start_no_group(
    make_run: MakeRun, arrays: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        left = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        for name, value in left.items():
            monkeypatch.setenv(name, value)
        run(make_run(), arrays, tmp_path)


@pytest.fixture(scope="module")
def first(make_run: MakeRun, arrays: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run whose EMA is not its raw weights."""
    return run(make_run(), arrays, tmp_path_factory.mktemp("first"))


def test_fine_tuning_begins_with_the_ema_weights(
    make_run: MakeRun, arrays: Path, make_arrays: MakePath, first: Path, tmp_path: Path
) -> None:
    settings = make_run(train={"init_from": str(first)}, seed=1)
    begun = TrainingRun(settings, arrays, tmp_path / "begun", PLAIN)
    begun.close()
    shipped = load_file(first / ckpt.MODEL)
    raw = torch.load(first / ckpt.STATE, weights_only=True)["weights"]
    assert any(not torch.equal(shipped[name], value) for name, value in raw.items())
    assert_same(begun.trainer.model.state_dict(), shipped)
    assert_same(begun.trainer.ema_weights(), shipped)
    assert begun.config().initial_sha256 == hash_file(first / ckpt.MODEL)
    # Equivariant weights carry over to another size.
    on_larger_grids = TrainingRun(settings, make_arrays(side=9), tmp_path / "larger", PLAIN)
    on_larger_grids.close()
    larger = on_larger_grids.trainer.model.state_dict()
    assert larger.keys() == shipped.keys()
    same = [name for name, value in larger.items() if value.shape == shipped[name].shape]
    assert same and all(torch.equal(larger[name], shipped[name]) for name in same)


@pytest.mark.parametrize("model", [{"width": 16}, {"layers": 1}, {"layers": 3}, conftest.TRM])
def test_weights_that_do_not_fit_are_refused_by_name(
    make_run: MakeRun, arrays: Path, first: Path, tmp_path: Path, model: dict[str, Any]
) -> None:
    train = {"init_from": str(first), **conftest.TASK_TYPES}
    with pytest.raises(ValueError, match=r"^train\.init_from: "):
        run(make_run(model=model, train=train), arrays, tmp_path, ONE_STEP)


TRUNK = {"log_every": 1, "snapshots": 2}


@pytest.fixture(scope="module")
def trunk(make_run: MakeRun, arrays: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished training at a constant rate, with everything that has a state."""
    settings = make_run(train=TRUNK, model={"attention_dropout": 0.2})
    return run(settings, arrays, tmp_path_factory.mktemp("trunk"))


def continuing(make_run: MakeRun, trunk: Path, **changes: Any) -> RunSettings:
    train = {**TRUNK, "init_from": str(trunk), "continues": True, "steps": 3, **changes}
    return make_run(train=train, model={"attention_dropout": 0.2})


def test_a_continued_training_equals_one_of_all_steps_bit_for_bit(
    make_run: MakeRun, arrays: Path, trunk: Path, tmp_path: Path
) -> None:
    whole = make_run(train={**TRUNK, "steps": 9}, model={"attention_dropout": 0.2})
    straight = run(whole, arrays, tmp_path / "straight")
    settings = continuing(make_run, trunk)
    interrupted(settings, arrays, tmp_path)  # and so does one that was stopped after its first step
    checkpoint = run(settings, arrays, tmp_path)
    states = [torch.load(folder / ckpt.STATE, weights_only=True) for folder in (checkpoint, straight)]
    assert_same(*states)
    assert_same(load_file(checkpoint / ckpt.MODEL), load_file(straight / ckpt.MODEL))
    facts, facts_before, all_facts = map(facts_of, (checkpoint, trunk, straight))
    assert (facts.steps, facts.steps_before) == (3, 6)
    assert facts.flops + facts_before.flops == all_facts.flops
    assert facts.samples + facts_before.samples == facts.samples + facts.samples_before == all_facts.samples
    assert [path.stem for path in sorted((checkpoint / ckpt.SNAPSHOTS).iterdir())] == [
        "step_000000008",
        "step_000000009",
    ]


def test_a_branch_decays_by_itself_and_leaves_the_trunk_as_it_was(
    make_run: MakeRun, arrays: Path, trunk: Path, tmp_path: Path
) -> None:
    before = (trunk / ckpt.SUMS).read_bytes()
    rates = []
    settings = continuing(make_run, trunk, schedule="cosine", final_rate=0.0, steps=4)
    run(settings, arrays, tmp_path, on_record=lambda record: rates.append(record["learning_rate"]))
    peak = settings.train.learning_rate
    assert rates == pytest.approx([peak * share for share in (1, 0.853553, 0.5, 0.146447)], rel=1e-5)
    assert (trunk / ckpt.SUMS).read_bytes() == before and ckpt.damage_of(trunk) is None


@pytest.mark.parametrize(
    ("changes", "name"),
    [({"batch_size": 2}, "train.batch_size"), ({"optimizer": "muon"}, "train.optimizer")],
)
def test_a_training_of_other_settings_is_not_continued(
    make_run: MakeRun, arrays: Path, trunk: Path, tmp_path: Path, changes: dict[str, Any], name: str
) -> None:
    with pytest.raises(ValueError, match=rf"^train\.continues: .*{name}"):
        run(continuing(make_run, trunk, **changes), arrays, tmp_path)


def test_weights_alone_are_not_continued(
    make_run: MakeRun, arrays: Path, trunk: Path, tmp_path: Path
) -> None:
    ckpt.copy_for_prediction(trunk, tmp_path / "weights")
    with pytest.raises(ValueError, match=r"^train\.continues: .*weights alone"):
        run(continuing(make_run, tmp_path / "weights"), arrays, tmp_path)


def test_without_slots_training_goes_on_with_new_ones_and_its_facts_say_so(
    make_run: MakeRun, arrays: Path, trunk: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As on another machine, to which the states of the slots were not copied."""
    small = tmp_path / "small"
    ckpt.copy_without_slots(trunk, small)
    assert ckpt.damage_of(small) is None
    settings = continuing(make_run, small)
    begun = TrainingRun(settings, arrays, tmp_path / "begun", PLAIN)
    begun.close()
    saved, state = (torch.load(trunk / ckpt.STATE, weights_only=True), begun.trainer.state_dict())
    for key in ("step", "weights", "ema", "optimizer"):
        assert_same(state[key], saved[key])
    assert state["slots"]["is_halted"].all() and state["slots"]["position"] == saved["slots"]["position"]
    interrupted(settings, arrays, tmp_path)
    assert facts_of(run(settings, arrays, tmp_path)).refilled == (6,)
    assert facts_of(trunk).refilled == ()
    assert any("filled anew" in message for message in caplog.messages)
