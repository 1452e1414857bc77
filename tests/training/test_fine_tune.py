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
from serrm.training.run import TrainingRun
from serrm.training.settings import TrainCell
from tests.training.running import PLAIN, MakeCell, interrupted, run

pytestmark = pytest.mark.numeric


@pytest.fixture(scope="module")
def first(make_cell: MakeCell, arrays: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished training whose average is not its raw weights."""
    return run(make_cell(), arrays, tmp_path_factory.mktemp("first"))


def tuned(make_cell: MakeCell, first: Path, **changes: Any) -> TrainCell:
    return make_cell(train={"init_from": str(first)}, **changes)


def test_weights_and_average_begin_as_the_others_average(
    make_cell: MakeCell, arrays: Path, first: Path, tmp_path: Path
) -> None:
    begun = TrainingRun(tuned(make_cell, first, seed=1), arrays, tmp_path, PLAIN)
    shipped = load_file(first / ckpt.MODEL)
    raw = torch.load(first / ckpt.STATE, weights_only=True)["weights"]
    assert any(not torch.equal(shipped[name], value) for name, value in raw.items())
    for weights in (begun.trainer.model.state_dict(), begun.trainer.averaged_weights()):
        assert weights.keys() == shipped.keys()
        assert all(torch.equal(value, shipped[name]) for name, value in weights.items())
    assert begun.trainer.step == 0
    assert begun.config()["initial_sha256"] == hash_file(first / ckpt.MODEL)


def test_stopped_it_goes_on_from_its_own_weights(
    make_cell: MakeCell, arrays: Path, first: Path, tmp_path: Path
) -> None:
    cell = tuned(make_cell, first)
    run(cell, arrays, tmp_path / "straight")
    interrupted(cell, arrays, tmp_path / "stopped", num_steps=5)
    run(cell, arrays, tmp_path / "stopped")
    straight, stopped = (load_file(tmp_path / name / "run" / ckpt.MODEL) for name in ("straight", "stopped"))
    assert all(torch.equal(value, stopped[name]) for name, value in straight.items())
    assert not all(
        torch.equal(value, load_file(first / ckpt.MODEL)[name]) for name, value in straight.items()
    )


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"width": 16}, r"size mismatch for initial"),
        ({"layers": 1}, r"Unexpected key.* \"networks\.block\.layers\.1\."),
        ({"layers": 3}, r"Missing key.* \"networks\.block\.layers\.2\."),
    ],
)
def test_what_does_not_fit_is_refused_by_name(
    make_cell: MakeCell,
    arrays: Path,
    first: Path,
    tmp_path: Path,
    model: dict[str, Any],
    message: str,
) -> None:
    with pytest.raises(ValueError, match=f"^train.init_from: .*{message}"):
        TrainingRun(tuned(make_cell, first, model=model), arrays, tmp_path, PLAIN)


def test_equivariant_weights_carry_over_to_another_size(
    make_cell: MakeCell, make_arrays: Callable[..., Path], first: Path, tmp_path: Path
) -> None:
    begun = TrainingRun(tuned(make_cell, first), make_arrays(side=9), tmp_path, PLAIN)
    untouched = build_model(begun.cell.model, 11, torch.Generator().manual_seed(0), num_positions=81)
    ours = begun.trainer.model.state_dict()
    assert ours.keys() == untouched.state_dict().keys()
    assert not all(torch.equal(value, ours[name]) for name, value in untouched.state_dict().items())
