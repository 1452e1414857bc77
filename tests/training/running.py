"""What tests of trainings share: a training in a folder, stopped or not, and two of them compared bit for bit."""

import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from serrm.core.execution import Execution
from serrm.core.files import file_names
from serrm.training import checkpoint as ckpt
from serrm.training.identity import unfinished_trainings
from serrm.training.log import Record, TrainingLog
from serrm.training.run import Interrupted, TrainingRun, train
from serrm.training.settings import RunSettings, TrainingFacts

PLAIN = Execution(device="cpu")
ONE_STEP = Execution(device="cpu", max_seconds=1e-9)


def run(
    settings: RunSettings,
    arrays: Path,
    folder: Path,
    execution: Execution = PLAIN,
    on_record: Callable[[Record], None] = lambda record: None,
) -> Path:
    """Train into `folder`; the checkpoint. `on_record` gets every new record after it has been logged."""
    append = TrainingLog.append

    def append_and_tell(log: TrainingLog, record: Record) -> None:
        append(log, record)
        on_record(record)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TrainingLog, "append", append_and_tell)
        train(settings, arrays, folder / "run", folder / "scratch", execution)
    return folder / "run"


def begun(settings: RunSettings, arrays: Path, folder: Path) -> TrainingRun:
    """Set up a training without taking a step."""
    training = TrainingRun(settings, arrays, folder, PLAIN)
    training.close()
    return training


def stop_at(step: int, number: signal.Signals = signal.SIGTERM) -> Callable[[Record], None]:
    """Send this process a signal when the record of a step comes."""

    def on_record(record: Record) -> None:
        if record["step"] == step:
            signal.raise_signal(number)

    return on_record


def assert_same(one: Any, other: Any, where: str = "") -> None:
    """Plain values and tensors, equal bit for bit."""
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            assert_same(one[key], other[key], f"{where}.{key}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), where
        for index, (left, right) in enumerate(zip(one, other, strict=True)):
            assert_same(left, right, f"{where}.{index}")
    elif isinstance(one, torch.Tensor):
        assert one.dtype == other.dtype and torch.equal(one, other), where
    else:
        assert one == other, where


def assert_same_checkpoint(one: Path, other: Path) -> None:
    """Averaged weights, snapshots, raw weights, optimiser, slots and records."""
    states = []
    for folder in (one, other):
        state = torch.load(folder / ckpt.STATE, weights_only=True)
        states.append(state)
    assert states[0].keys() >= {"step", "weights", "ema", "optimizer", "slots", "tally", "records"}
    assert_same(states[0], states[1])
    assert file_names(one) == file_names(other)
    for name in file_names(one):
        if name.endswith(".safetensors"):
            assert_same(load_file(one / name), load_file(other / name), name)
    assert (one / ckpt.STATE).read_bytes() == (other / ckpt.STATE).read_bytes(), (
        "the same values, written otherwise"
    )


def interrupted(settings: RunSettings, arrays: Path, folder: Path, num_steps: int = 1) -> Path:
    """A training stopped after every one of some steps; its newest checkpoint."""
    for _ in range(num_steps):
        with pytest.raises(Interrupted):
            run(settings, arrays, folder, ONE_STEP)
    (newest, *_) = unfinished_trainings(folder / "scratch")
    return ckpt.latest(newest.folder)


def facts_of(checkpoint: Path) -> TrainingFacts:
    """The facts of a checkpoint's training."""
    return ckpt.read_config(checkpoint).training


@contextmanager
def files_limited(num_bytes: int) -> Iterator[None]:
    """No file may grow beyond so many bytes: writing fails in the middle, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
