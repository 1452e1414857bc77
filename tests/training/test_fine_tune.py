"""Fine-tuning: a training begins with another's averaged weights, and with nothing else of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from serrm.manifest import hash_file
from serrm.models.registry import build_model
from serrm.training import checkpoint as ckpt
from serrm.training.interrupt import Interrupted
from serrm.training.run import TrainingRun, train
from serrm.training.settings import Execution, TrainCell

pytestmark = pytest.mark.numeric

MakeCell = Callable[..., TrainCell]
MakeArrays = Callable[..., Path]
PLAIN = Execution(device="cpu")


@pytest.fixture(scope="module")
def first(make_cell: MakeCell, make_arrays: MakeArrays, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished training whose average is not its raw weights."""
    folder = tmp_path_factory.mktemp("first")
    train(make_cell(), make_arrays(side=4), folder / "run", folder / "scratch", PLAIN)
    return folder / "run"


def tuned(make_cell: MakeCell, first: Path, **changes: Any) -> TrainCell:
    return make_cell(train={"init_from": str(first)}, **changes)


def test_weights_and_average_begin_as_the_others_average(
    make_cell: MakeCell, make_arrays: MakeArrays, first: Path, tmp_path: Path
) -> None:
    run = TrainingRun(tuned(make_cell, first, seed=1), make_arrays(side=4), tmp_path, PLAIN)
    shipped = load_file(first / ckpt.MODEL)
    raw = torch.load(first / ckpt.STATE, weights_only=True)["weights"]
    assert any(not torch.equal(shipped[name], value) for name, value in raw.items())
    for weights in (run.trainer.model.state_dict(), run.trainer.averaged_weights()):
        assert weights.keys() == shipped.keys()
        assert all(torch.equal(value, shipped[name]) for name, value in weights.items())
    assert run.trainer.step == 0
    assert run.config()["initial_sha256"] == hash_file(first / ckpt.MODEL)


def test_stopped_it_goes_on_from_its_own_weights(
    make_cell: MakeCell, make_arrays: MakeArrays, first: Path, tmp_path: Path
) -> None:
    cell, arrays = tuned(make_cell, first), make_arrays(side=4)
    train(cell, arrays, tmp_path / "straight", tmp_path / "a", PLAIN)
    one_step = Execution(device="cpu", max_seconds=1e-9)
    for _ in range(cell.train.num_steps(8)):
        try:
            train(cell, arrays, tmp_path / "stopped", tmp_path / "b", one_step)
        except Interrupted:
            continue
    straight, stopped = (load_file(tmp_path / name / ckpt.MODEL) for name in ("straight", "stopped"))
    assert all(torch.equal(value, stopped[name]) for name, value in straight.items())
    assert not all(
        torch.equal(value, load_file(first / ckpt.MODEL)[name]) for name, value in straight.items()
    )


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"width": 16}, r"embedding\.\w+ of .* has the shape \(.*32\), this model \(.*16\)"),
        ({"layers": 1}, r"has a weight networks\.block\.layers\.1\..*, which this model has not"),
        ({"layers": 3}, r"has no weight networks\.block\.layers\.2\..*, which this model needs"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(
    make_cell: MakeCell,
    make_arrays: MakeArrays,
    first: Path,
    tmp_path: Path,
    model: dict[str, Any],
    message: str,
) -> None:
    with pytest.raises(ValueError, match=f"^train.init_from: .*{message}"):
        TrainingRun(tuned(make_cell, first, model=model), make_arrays(side=4), tmp_path, PLAIN)


def test_equivariant_weights_carry_over_to_another_size(
    make_cell: MakeCell, make_arrays: MakeArrays, first: Path, tmp_path: Path
) -> None:
    run = TrainingRun(tuned(make_cell, first), make_arrays(side=9), tmp_path, PLAIN)
    untouched = build_model(run.cell.model, 11, torch.Generator().manual_seed(0), num_positions=81)
    ours = run.trainer.model.state_dict()
    assert ours.keys() == untouched.state_dict().keys()
    assert not all(torch.equal(value, ours[name]) for name, value in untouched.state_dict().items())
