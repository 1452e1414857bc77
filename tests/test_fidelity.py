"""Each fault of the published code that can be switched on makes its difference, and none when it is off."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from serrm.arrays.arc import ArcEvaluation, open_arc_evaluation
from serrm.arrays.build import build_arc_arrays
from serrm.config import read_params
from serrm.datasets.arc import AUDIT, PAIRS, write_pairs
from serrm.files import write_json
from serrm.inference.evaluate import Gallery, evaluate, votes
from serrm.inference.load import LoadedModel, load_snapshot
from serrm.inference.predict import Predictor
from serrm.inference.settings import EvaluateCell
from serrm.models.recurrence import RecurrentModel
from serrm.models.registry import build_model
from serrm.puzzles.arc import Pair, PairName
from serrm.scoring.arc import CONFIDENCE_UNIT, ArcTally
from serrm.training.loop import Trainer
from serrm.training.run import train
from serrm.training.settings import Execution, TrainCell

pytestmark = pytest.mark.numeric

PAPER = read_params(Path(__file__).parents[1] / "profiles" / "paper.yaml")
CPU = torch.device("cpu")
SHALLOW: dict[str, Any] = {"layers": 1, "h_cycles": 1}


def draw_tokens(side: int = 4) -> Tensor:
    return torch.randint(1, side + 2, (3, side**2), generator=torch.Generator().manual_seed(0))


# --- dropout_at_evaluation


@pytest.fixture(scope="module")
def checkpoint(
    make_cell: Callable[..., TrainCell], arrays: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("dropout")
    cell = make_cell(model={"attention_dropout": 0.5, **SHALLOW}, train={"steps": 2, "snapshots": 0})
    train(cell, arrays, folder / "run", folder / "scratch", Execution(device="cpu"))
    return folder / "run"


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
            "source": "made here",
        }
        found = evaluate(checkpoint, arrays, EvaluateCell.model_validate(values), Execution(device="cpu"))[0][
            "sets"
        ]
        assert isinstance(found, dict)
        return found

    assert sets(0) == sets(0), "dropout too is a function of the seed"
    assert (sets(0) == sets(1)) != has_dropout


# --- bfloat16_embeddings, of which tests/training/test_loop.py says what is rounded


def embeddings(trainer: Trainer) -> Tensor:
    """Every number of the input embedding, symbols and registers in one row."""
    return torch.cat([p.detach().flatten() for p in trainer.model.embedding.parameters()])


@pytest.mark.parametrize("is_on", [False, True])
def test_small_updates_are_lost_in_bfloat16_embeddings(
    make_trainer: Callable[..., Trainer], is_on: bool
) -> None:
    # 20 steps of 1e-5 on numbers of size 1, of which bfloat16 knows every 128th part.
    recipe = {"steps": 20, "learning_rate": 1e-5, "warmup_steps": 0, "weight_decay": 0.0, "ema": 0.9}
    trainer = make_trainer(model=SHALLOW, train=recipe, fidelity={"bfloat16_embeddings": is_on})
    start = embeddings(trainer).bfloat16().float() if is_on else embeddings(trainer)
    list(trainer.steps())
    is_usual = start.abs() > 0.1
    has_moved = (embeddings(trainer) != start)[is_usual].float().mean()
    assert has_moved == 0 if is_on else has_moved > 0.6  # the vector of the pad symbol is never looked at


# --- shifted_rope2d


def small(variant: str) -> tuple[str, RecurrentModel]:
    """The positions of a run of the paper, and a small model of its kind with weights that follow from a seed."""
    settings = PAPER.train_settings(f"sudoku-{variant}-s0").model
    settings = settings.model_copy(update={"width": 32, "layers": 1, "h_cycles": 1, "heads": 2, "prefix": 2})
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


# --- aggregated_voting, ties_by_halting


@pytest.fixture(scope="module")
def voters(
    make_cell: Callable[..., TrainCell], trm_changes: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., tuple[LoadedModel, ArcEvaluation]]:
    """A TRM with two snapshots, both of random weights, and what it is asked."""
    folder = tmp_path_factory.mktemp("votes")
    rng = np.random.default_rng(0)
    grids = [rng.integers(0, 10, (2, 2), dtype=np.uint8) for _ in range(6)]
    named = {
        PairName("a", "training", "demonstration", 0): Pair(*grids[:2]),
        PairName("b", "evaluation", "demonstration", 0): Pair(*grids[2:4]),
        PairName("b", "evaluation", "test", 0): Pair(*grids[4:]),
    }
    write_pairs(folder / PAIRS, named, {name for name in named if not name.is_evaluated})
    write_json(folder / AUDIT, {"canvas": 3})
    build_arc_arrays(folder, folder / "arrays", task="arc_agi_1", num_variants=8, seed=0)
    cell = make_cell(task="arc_agi_1", **{**trm_changes, "arrays": {"num_augmentations": 7}})
    models = [
        build_model(cell.model, 12, torch.Generator().manual_seed(n), num_positions=9, num_task_types=16)
        for n in range(2)
    ]
    paths = tuple(folder / f"step_{n}.safetensors" for n in range(2))
    for model, path in zip(models, paths, strict=True):
        save_file(model.state_dict(), path, {"step": "1"})
    questions = open_arc_evaluation(folder / "arrays", 8)
    return lambda num=2: (LoadedModel(models[-1].eval(), cell, {"side": 3}, paths[:num]), questions)


def voting_cell(**fidelity: bool) -> EvaluateCell:
    evaluate = {"steps": (2,), "batch_size": 3, "precision": "float32", "compile": False, "curve_puzzles": 0}
    facts = {"task": "arc_agi_1", "variant": "tiny", "seed": 0, "source": "made here"}
    return EvaluateCell.model_validate({**facts, "evaluate": evaluate, "fidelity": fidelity})


def tally_of(loaded: LoadedModel, questions: ArcEvaluation, **fidelity: bool) -> ArcTally:
    cell, gallery = voting_cell(**fidelity), Gallery("arc_agi_1", 0)
    return votes(Predictor(loaded, 3), questions, cell, "right", gallery)[2]


def test_votes_of_snapshots_are_pooled_only_if_asked(voters: Callable[..., Any]) -> None:
    loaded, questions = voters()
    last = tally_of(loaded, questions)
    pooled = tally_of(loaded, questions, aggregated_voting=True)
    load_snapshot(loaded.model, loaded.snapshots[0])
    first = tally_of(loaded, questions)
    load_snapshot(loaded.model, loaded.snapshots[1])
    assert tally_of(loaded, questions).pools == last.pools, "the checkpoint is its last snapshot"
    assert pooled.pools != last.pools and sum(pool.num_votes for pool in pooled.pools["b", 0].values()) == 16
    first.include(last)
    assert pooled.pools == first.pools


def test_without_snapshots_there_is_nothing_to_pool(voters: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="aggregated_voting: the checkpoint has no snapshots"):
        tally_of(*voters(0), aggregated_voting=True)


def test_ties_are_ordered_by_the_halting_logit_only_if_asked(voters: Callable[..., Any]) -> None:
    loaded, questions = voters()
    halting = torch.sigmoid(torch.tensor(-5.0)).item()  # of a Q head that is as it was made
    for is_on in (False, True):
        pools = tally_of(loaded, questions, ties_by_halting=is_on).pools["b", 0].values()
        means = [pool.confidence * CONFIDENCE_UNIT / pool.num_votes for pool in pools]
        assert all((mean == pytest.approx(halting)) == is_on for mean in means)
