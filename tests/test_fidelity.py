"""Faults of the published code that can be switched on in evaluation change scores, and nothing when they are off.

`bfloat16_embeddings` is tested in tests/training/test_loop.py, `shifted_rope2d` in tests/models/test_layers.py.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from serrm.arrays.arc import ArcEvaluation, open_arc_evaluation
from serrm.core.execution import Execution
from serrm.inference.evaluate import evaluate
from serrm.inference.gallery import Gallery
from serrm.inference.predict import LoadedModel, Predictor, load_snapshot
from serrm.inference.votes import votes
from serrm.models.registry import build_model
from serrm.puzzles.arc.grids import Pair, PairName
from serrm.scoring.tally import CONFIDENCE_UNIT, ArcTally
from serrm.training.checkpoint import write_snapshot
from tests.conftest import TRM_CHANGES, MakePath, MakeRun, scoring
from tests.drawn import seeded
from tests.references import write_arc_arrays

pytestmark = pytest.mark.numeric


@pytest.fixture(scope="module")
def checkpoint(trained: MakePath) -> Path:
    """A run with dropout."""
    model = {"attention_dropout": 0.5, "layers": 1, "h_cycles": 1}
    return trained(model=model, train={"steps": 2, "snapshots": 0})


@pytest.mark.parametrize("has_dropout", [False, True])
def test_scores_depend_on_the_seed_only_with_dropout_at_evaluation(
    checkpoint: Path, arrays: Path, has_dropout: bool
) -> None:
    def sets(seed: int) -> Any:
        fidelity = {"dropout_at_evaluation": has_dropout}
        cell = scoring(seed=seed, fidelity=fidelity, steps=range(1, 9), batch_size=5, curve_puzzles=0)
        return evaluate(checkpoint, arrays, cell, Execution(device="cpu"))[0].sets

    assert sets(0) == sets(0), "dropout too is a function of the seed"
    assert (sets(0) == sets(1)) != has_dropout


@pytest.fixture(scope="module")
def asked(make_run: MakeRun, tmp_path_factory: pytest.TempPathFactory) -> tuple[LoadedModel, ArcEvaluation]:
    """A TRM with two snapshots, both of random weights, and what it is asked."""
    folder = tmp_path_factory.mktemp("votes")
    rng = np.random.default_rng(0)
    grids = [rng.integers(0, 10, (2, 2), dtype=np.uint8) for _ in range(6)]
    named = {
        PairName("a", "training", "demonstration", 0): Pair(*grids[:2]),
        PairName("b", "evaluation", "demonstration", 0): Pair(*grids[2:4]),
        PairName("b", "evaluation", "test", 0): Pair(*grids[4:]),
    }
    arrays = write_arc_arrays(folder, named, canvas=3, num_variants=8)
    cell = make_run(task="arc_agi_1", **{**TRM_CHANGES, "arrays": {"num_augmentations": 7}})
    models = [build_model(cell.model, 12, seeded(n), num_positions=9, num_task_types=16) for n in range(2)]
    for number, model in enumerate(models):
        write_snapshot(folder / "snapshots", model.state_dict(), number, samples=1, loss=1.0)
    paths = tuple(sorted((folder / "snapshots").iterdir()))
    return LoadedModel(models[-1].eval(), cell, {"side": 3}, paths), open_arc_evaluation(arrays, 8)


def tally_of(loaded: LoadedModel, questions: ArcEvaluation, **fidelity: bool) -> ArcTally:
    cell, gallery = scoring("arc_agi_1", fidelity=fidelity, steps=(2,)), Gallery("arc_agi_1", 0)
    return votes(Predictor(loaded, 3), questions, cell, "right", gallery)[2]


def test_votes_of_snapshots_are_pooled_only_if_asked(asked: tuple[LoadedModel, ArcEvaluation]) -> None:
    loaded, questions = asked
    last = tally_of(loaded, questions)
    pooled = tally_of(loaded, questions, aggregated_voting=True)
    load_snapshot(loaded.model, loaded.snapshots[0])
    first = tally_of(loaded, questions)
    load_snapshot(loaded.model, loaded.snapshots[1])
    assert tally_of(loaded, questions).pools == last.pools, "the checkpoint is its last snapshot"
    assert pooled.pools != last.pools and sum(pool.num_votes for pool in pooled.pools["b", 0].values()) == 16
    first.include(last)
    assert pooled.pools == first.pools


def test_without_snapshots_there_is_nothing_to_pool(asked: tuple[LoadedModel, ArcEvaluation]) -> None:
    with pytest.raises(ValueError, match="aggregated_voting: the checkpoint has no snapshots"):
        tally_of(replace(asked[0], snapshots=()), asked[1], aggregated_voting=True)


def test_ties_are_ordered_by_the_halting_logit_only_if_asked(
    asked: tuple[LoadedModel, ArcEvaluation],
) -> None:
    loaded, questions = asked
    halting = torch.sigmoid(torch.tensor(-5.0)).item()  # of a Q head that is as it was made
    for is_on in (False, True):
        pools = tally_of(loaded, questions, ties_by_halting=is_on).pools["b", 0].values()
        means = [pool.confidence * CONFIDENCE_UNIT / pool.num_votes for pool in pools]
        assert all((mean == pytest.approx(halting)) == is_on for mean in means)
