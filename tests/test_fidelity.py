"""Each fault of the published code that can be switched on makes its difference, and none when it is off."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from serrm.arrays.puzzles import open_arrays
from serrm.arrays.stream import ExampleStream
from serrm.config import EvaluateCell, Execution, TrainCell, read_params
from serrm.inference.evaluate import evaluate
from serrm.inference.load import load_model
from serrm.models.recurrence import RecurrentModel
from serrm.models.registry import build_model
from serrm.resolve import train_cell
from serrm.training.loop import Trainer
from serrm.training.run import train

pytestmark = pytest.mark.numeric

PARAMS = read_params(Path(__file__).parents[1] / "params.yaml")
CPU = torch.device("cpu")
SHALLOW: dict[str, Any] = {"layers": 1, "h_cycles": 1}


def draw_tokens(side: int = 4) -> Tensor:
    return torch.randint(1, side + 2, (3, side**2), generator=torch.Generator().manual_seed(0))


# --- dropout_at_evaluation


@pytest.fixture(scope="module")
def arrays(make_arrays: Callable[..., Path]) -> Path:
    return make_arrays(side=4)


@pytest.fixture(scope="module")
def checkpoint(
    make_cell: Callable[..., TrainCell], arrays: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("dropout")
    cell = make_cell(model={"attention_dropout": 0.5, **SHALLOW}, train={"steps": 2, "snapshots": 0})
    train(cell, arrays, folder / "run", folder / "scratch", Execution(device="cpu"))
    return folder / "run"


@pytest.mark.parametrize("has_dropout", [False, True])
@torch.no_grad()
def test_logits_waver_only_with_dropout_at_evaluation(checkpoint: Path, has_dropout: bool) -> None:
    model = load_model(checkpoint, CPU, has_dropout=has_dropout).model
    state, tokens = model.initial_state(3, 16, 6), draw_tokens()
    torch.manual_seed(0)
    one, other = model(state, tokens).logits, model(state, tokens).logits
    assert torch.equal(one, other) != has_dropout


@pytest.mark.parametrize("has_dropout", [False, True])
def test_scores_depend_on_the_seed_only_with_dropout_at_evaluation(
    checkpoint: Path, arrays: Path, has_dropout: bool
) -> None:
    def sets(seed: int) -> dict[str, Any]:
        values = {
            "task": "sudoku",
            "variant": "tiny",
            "seed": seed,
            "evaluate": {
                "steps": tuple(range(1, 9)),
                "batch_size": 5,
                "precision": "float32",
                "compile": False,
                "curve_puzzles": 0,
            },
            "fidelity": {"dropout_at_evaluation": has_dropout},
            "deviations": [],
            "source": "made here",
        }
        found = evaluate(checkpoint, arrays, EvaluateCell.model_validate(values), CPU)["sets"]
        assert isinstance(found, dict)
        return found

    assert sets(0) == sets(0), "dropout too is a function of the seed"
    assert (sets(0) == sets(1)) != has_dropout


# --- bfloat16_embeddings


@pytest.fixture
def make_trainer(make_cell: Callable[..., TrainCell], arrays: Path) -> Callable[..., Trainer]:
    def make(**changes: Any) -> Trainer:
        cell = make_cell(**changes)
        puzzles = open_arrays(arrays, "train")
        model = build_model(cell.model, 6, torch.Generator().manual_seed(0), num_positions=16)
        return Trainer(model, ExampleStream(puzzles, 0, 0), cell.train, cell.seed, cell.fidelity)

    return make


def embeddings(trainer: Trainer) -> Tensor:
    """Every number of the input embedding, symbols and registers in one row."""
    return torch.cat([p.detach().flatten() for p in trainer.model.embedding.parameters()])


def averaged(trainer: Trainer) -> Tensor:
    named = trainer.averaged_weights().items()
    return torch.cat([value.flatten() for name, value in named if name.startswith("embedding.")])


@pytest.mark.parametrize("is_on", [False, True])
def test_embeddings_are_bfloat16_numbers_only_if_asked(
    make_trainer: Callable[..., Trainer], is_on: bool
) -> None:
    model = {"registers": 2, **SHALLOW}
    trainer = make_trainer(model=model, train={"steps": 1}, fidelity={"bfloat16_embeddings": is_on})
    trainer.run(lambda record: None, lambda: False)
    for values in (embeddings(trainer), averaged(trainer)):
        is_representable = values == values.bfloat16().float()
        assert is_representable.all() if is_on else is_representable.float().mean() < 0.1
    others = torch.cat([p.detach().flatten() for p in trainer.model.networks.parameters()])
    assert (others == others.bfloat16().float()).float().mean() < 0.1


@pytest.mark.parametrize("is_on", [False, True])
def test_small_updates_are_lost_in_bfloat16_embeddings(
    make_trainer: Callable[..., Trainer], is_on: bool
) -> None:
    # 20 steps of 1e-5 on numbers of size 1, of which bfloat16 knows every 128th part.
    recipe = {"steps": 20, "learning_rate": 1e-5, "warmup_steps": 0, "weight_decay": 0.0, "ema": 0.9}
    trainer = make_trainer(model=SHALLOW, train=recipe, fidelity={"bfloat16_embeddings": is_on})
    start = embeddings(trainer).bfloat16().float() if is_on else embeddings(trainer)
    trainer.run(lambda record: None, lambda: False)
    is_usual = start.abs() > 0.1
    has_moved = (embeddings(trainer) != start)[is_usual].float().mean()
    assert has_moved == 0 if is_on else has_moved > 0.6  # the vector of the pad symbol is never looked at


# --- shifted_rope2d


def small(variant: str) -> tuple[str, RecurrentModel]:
    """The positions of a variant of the smallest profile, and its model with weights that follow from a seed."""
    settings = train_cell(PARAMS, "ci", "sudoku", variant, 0).model
    return settings.positions, build_model(settings, 6, torch.Generator().manual_seed(0)).eval()


@pytest.mark.parametrize("halting", ["", "_random_halting"])
@torch.no_grad()
def test_the_shifted_rotation_changes_the_logits_and_nothing_else(halting: str) -> None:
    aligned_name, aligned = small(f"trm_rope2d{halting}")
    shifted_name, shifted = small(f"trm_rope2d{halting}_published")
    assert (aligned_name, shifted_name) == ("rope2d", "rope2d_shifted")
    weights, others = aligned.state_dict(), shifted.state_dict()
    assert all(torch.equal(value, others[name]) for name, value in weights.items())
    state, tokens = aligned.initial_state(3, 16, 6), draw_tokens()
    one, other = aligned(state, tokens).logits, shifted(state, tokens).logits
    assert float((one - other).abs().max()) > 1e-2


@pytest.mark.parametrize(
    ("family", "positions", "expected"),
    [
        ("trm", "rope2d", "rope2d_shifted"),
        ("hrm", "rope2d", "rope2d_shifted"),
        ("trm", "rope", "rope"),
        ("trm", "none", "none"),
        ("se_rrm", "rope2d", "rope2d"),
    ],
)
def test_the_switch_shifts_rope2d_behind_a_prefix_alone(family: str, positions: str, expected: str) -> None:
    variant = {"based_on": family, "positions": positions}
    for is_on, found in ((False, positions), (True, expected)):
        params = {
            **PARAMS,
            "fidelity": {**PARAMS["fidelity"], "shifted_rope2d": is_on},
            "model": {**PARAMS["model"], "mine": variant},
        }
        assert train_cell(params, "paper", "sudoku", "mine", 0).model.positions == found


def test_every_fault_is_off_unless_asked_for() -> None:
    assert not any(PARAMS["fidelity"].values())
    for name, entry in PARAMS["model"].items():
        faults = train_cell(PARAMS, "paper", "sudoku", name, 0).fidelity.model_dump()
        assert {fault for fault, is_on in faults.items() if is_on} == set(entry.get("fidelity", {}))
