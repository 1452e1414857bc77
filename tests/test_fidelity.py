"""Faults of the published code that can be switched on in evaluation change scores, and nothing when they are off.

`bfloat16_embeddings` is tested in tests/training/test_loop.py, `shifted_rope2d` in tests/models/test_layers.py.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from serrm.arrays.arc import ArcEvaluation, open_arc_evaluation
from serrm.arrays.build import build_arc_arrays
from serrm.datasets.arc import AUDIT, PAIRS, write_pairs
from serrm.files import write_json
from serrm.inference.evaluate import Gallery, evaluate, votes
from serrm.inference.predict import LoadedModel, Predictor, load_snapshot
from serrm.inference.settings import ScoringSettings
from serrm.models.registry import build_model
from serrm.puzzles.arc.grids import Pair, PairName
from serrm.scoring import CONFIDENCE_UNIT, ArcTally
from serrm.training.settings import Execution, RunSettings
from tests.conftest import TRM_CHANGES

pytestmark = pytest.mark.numeric

CPU = torch.device("cpu")


def scoring(task: str, seed: int, steps: Sequence[int], **fidelity: bool) -> ScoringSettings:
    """Settings of an evaluation with the given faults."""
    sizes = {"steps": [*steps], "batch_size": 5, "curve_puzzles": 0}
    evaluate = {**sizes, "precision": "float32", "compile": False}
    facts = {"task": task, "variant": "tiny", "seed": seed, "source": "made here"}
    return ScoringSettings.model_validate({**facts, "evaluate": evaluate, "fidelity": fidelity})


@pytest.fixture(scope="module")
def checkpoint(trained: Callable[..., Path]) -> Path:
    """A run with dropout."""
    model = {"attention_dropout": 0.5, "layers": 1, "h_cycles": 1}
    return trained(model=model, train={"steps": 2, "snapshots": 0})


@pytest.mark.parametrize("has_dropout", [False, True])
def test_scores_depend_on_the_seed_only_with_dropout_at_evaluation(
    checkpoint: Path, arrays: Path, has_dropout: bool
) -> None:
    def sets(seed: int) -> Any:
        settings = scoring("sudoku", seed, range(1, 9), dropout_at_evaluation=has_dropout)
        return evaluate(checkpoint, arrays, settings, Execution(device="cpu"))[0]["sets"]

    assert sets(0) == sets(0), "dropout too is a function of the seed"
    assert (sets(0) == sets(1)) != has_dropout


@pytest.fixture(scope="module")
def voters(
    make_run: Callable[..., RunSettings],
    tmp_path_factory: pytest.TempPathFactory,
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
    cell = make_run(task="arc_agi_1", **{**TRM_CHANGES, "arrays": {"num_augmentations": 7}})
    models = [
        build_model(cell.model, 12, torch.Generator().manual_seed(n), num_positions=9, num_task_types=16)
        for n in range(2)
    ]
    paths = tuple(folder / f"step_{n}.safetensors" for n in range(2))
    for model, path in zip(models, paths, strict=True):
        save_file(model.state_dict(), path, {"step": "1"})
    questions = open_arc_evaluation(folder / "arrays", 8)
    return lambda num=2: (LoadedModel(models[-1].eval(), cell, {"side": 3}, paths[:num]), questions)


def tally_of(loaded: LoadedModel, questions: ArcEvaluation, **fidelity: bool) -> ArcTally:
    cell, gallery = scoring("arc_agi_1", 0, [2], **fidelity), Gallery("arc_agi_1", 0)
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
