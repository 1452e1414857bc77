"""What an evaluation measures beside the scores: compute curves and equivariance, on a small trained cell."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from serrm.inference.evaluate_sets import of_trained_size
from serrm.inference.load import LoadedModel, load_model
from serrm.inference.predict import Work
from serrm.inference.settings import EvaluateSettings
from serrm.inference.studies import studies

CPU = torch.device("cpu")
EFFORT = {
    "num_puzzles": 5,
    "max_steps": [1, 2, 4],
    "attempt_steps": 2,
    "restarts": [1, 2],
    "symmetries": [1, 3],
    "guesses": [1, 4],
}


@pytest.fixture(scope="module")
def arrays(make_arrays: Callable[..., Path]) -> Path:
    return make_arrays(side=4, tests=(4, 9))


@pytest.fixture(scope="module", params=["se_rrm", "trm"])
def loaded(
    request: pytest.FixtureRequest, trained: Callable[..., Path], trm_changes: dict[str, Any]
) -> LoadedModel:
    changes = trm_changes if request.param == "trm" else {"model": {"layers": 1, "h_cycles": 1}}
    return load_model(trained(**changes), CPU)


def work(loaded: LoadedModel, **evaluate: Any) -> Work:
    common = {"steps": [1], "batch_size": 2, "precision": "float32", "compile": False, "curve_puzzles": 0}
    return Work.begin(loaded, EvaluateSettings.model_validate({**common, **evaluate}), CPU)


def test_compute_curves_have_a_point_for_each_setting(loaded: LoadedModel, arrays: Path) -> None:
    found = studies(work(loaded, effort=EFFORT), arrays, 0)
    assert found.keys() == {"adaptive", "breadth"}
    assert [point["max_steps"] for point in found["adaptive"]] == [1, 2, 4]
    means = [point["mean_steps"] for point in found["adaptive"]]
    assert means == sorted(means) and means[0] >= 1 and means[-1] <= 4
    kinds = [(point["kind"], point["num"]) for point in found["breadth"]]
    assert kinds == [
        *(("restarts", 1), ("restarts", 2), ("symmetries", 1), ("symmetries", 3)),
        *(("guesses", 1), ("guesses", 4)),
    ]
    for point in (*found["adaptive"], *found["breadth"]):
        assert 0 <= point["fsr_lo"] <= point["fsr"] <= point["fsr_hi"] <= 1


def test_equivariance_compares_what_was_permuted(loaded: LoadedModel, arrays: Path) -> None:
    found = studies(work(loaded, equivariance_pairs=4), arrays, 0)["equivariance"]
    assert found["num_pairs"] == 4
    if loaded.cell.model.family == "se_rrm":
        assert found["num_identical"] == 4
    example = found["example"]
    permutation = np.array(example["permutation"])
    assert permutation[:2].tolist() == [0, 1] and sorted(permutation) == list(range(6))
    assert permutation[example["question"]].tolist() == example["permuted_question"]
    puzzles = of_trained_size(work(loaded), arrays)
    assert puzzles is not None and puzzles.questions[0].tolist() == example["question"]


def test_nothing_is_measured_that_was_not_asked_for(loaded: LoadedModel, arrays: Path) -> None:
    assert studies(work(loaded), arrays, 0) == {}
