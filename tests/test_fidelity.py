"""Faults of the published code that can be switched on in evaluation change scores, and nothing when they are off.

`bfloat16_embeddings` is tested in tests/training/test_loop.py, `shifted_rope2d` in tests/models/test_layers.py.
"""

from pathlib import Path
from typing import Any

import pytest

from serrm.core.execution import Execution
from serrm.inference.evaluate import evaluate
from tests.conftest import MakePath, scoring

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
        settings = scoring(seed=seed, fidelity=fidelity, steps=range(1, 9), batch_size=5, curve_puzzles=0)
        return evaluate(checkpoint, arrays, settings, Execution(device="cpu"))[0].sets

    assert sets(0) == sets(0), "dropout too is a function of the seed"
    assert (sets(0) == sets(1)) != has_dropout
