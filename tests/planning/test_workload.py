"""What is forecast is what is done: operations of a training and an evaluation, counted as they run."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from serrm.config import read_params
from serrm.datasets.settings import AUGMENT
from serrm.inference.evaluate import evaluate
from serrm.inference.settings import EvaluateCell, EvaluateSettings
from serrm.planning.operations import can_take, evaluation_operations, training_operations
from serrm.planning.tasks import TASKS, Counts
from serrm.planning.workload import Stage, workload
from serrm.sources.settings import DOWNLOAD
from serrm.training.run import train
from serrm.training.settings import Execution, TrainCell
from tests.drawn import counted

ROOT = Path(__file__).parents[2]
PARAMS = read_params(ROOT / "params.yaml")
COUNTS = Counts(4, 8, {4: 5, 9: 5})  # of the arrays below
EFFORT = {
    "num_puzzles": 3,
    "max_steps": [1, 4],
    "attempt_steps": 2,
    "restarts": [2],
    "symmetries": [1, 3],
    "guesses": [3],
}
PLAIN = {"batch_size": 2, "precision": "float32", "compile": False, "curve_puzzles": 3}


def evaluate_settings(**changes: Any) -> EvaluateSettings:
    return EvaluateSettings.model_validate({"steps": [1, 3], **PLAIN, "equivariance_pairs": 4, **changes})


@pytest.fixture(scope="module")
def arrays(make_arrays: Callable[..., Path]) -> Path:
    return make_arrays(side=4, tests=(4, 9))


@pytest.fixture(scope="module", params=["se_rrm", "trm"])
def trained(
    request: pytest.FixtureRequest,
    make_cell: Callable[..., TrainCell],
    trm_changes: dict[str, Any],
    arrays: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[TrainCell, Path]:
    cell = make_cell(**(trm_changes if request.param == "trm" else {"model": {"layers": 1}}))
    folder = tmp_path_factory.mktemp("checkpoint")
    config = train(cell, arrays, folder / "run", folder / "scratch", Execution(device="cpu"))
    assert config["training"]["operations"] == training_operations(cell, COUNTS)
    return cell, folder / "run"


def really_evaluated(trained: tuple[TrainCell, Path], arrays: Path, settings: EvaluateSettings) -> int:
    checkpoint = trained[1]
    values = {"task": "sudoku", "variant": "tiny", "seed": 0, "fidelity": {}, "source": "here"}
    asked = EvaluateCell.model_validate({**values, "evaluate": settings})
    return counted(lambda: evaluate(checkpoint, arrays, asked, torch.device("cpu")))


@pytest.mark.parametrize("deep", [{}, {"steps": [3, 17], "deep_puzzles": 2}])
def test_an_evaluation_does_what_is_forecast(
    trained: tuple[TrainCell, Path], arrays: Path, deep: dict[str, Any]
) -> None:
    settings = evaluate_settings(**deep)
    assert really_evaluated(trained, arrays, settings) == evaluation_operations(trained[0], settings, COUNTS)


def test_studies_of_effort_do_no_more_than_is_forecast(trained: tuple[TrainCell, Path], arrays: Path) -> None:
    settings = evaluate_settings(effort=EFFORT)
    without = evaluation_operations(trained[0], evaluate_settings(), COUNTS)
    done = really_evaluated(trained, arrays, settings)
    assert without < done <= evaluation_operations(trained[0], settings, COUNTS)


def test_a_model_that_refuses_a_size_spends_nothing_on_it(
    make_cell: Callable[..., TrainCell], trm_changes: dict[str, Any]
) -> None:
    assert can_take(make_cell(), 4, 9) and not can_take(make_cell(model={"symbols": "untied"}), 4, 9)
    trm = make_cell(**trm_changes)
    assert can_take(trm, 9, 4) and not can_take(trm, 4, 9)
    mixer = {"mixer": "mlp", "positions": "none"}
    bound = make_cell(**{**trm_changes, "model": {**trm_changes["model"], **mixer}})
    assert not can_take(bound, 9, 4) and can_take(bound, 9, 9)


@pytest.mark.parametrize("profile", PARAMS["profiles"])
def test_every_profile_has_a_workload(profile: str) -> None:
    stages = workload(PARAMS, profile)
    trainings = [stage for stage in stages if stage.name == "train"]
    assert len(trainings) == sum(stage.name == "evaluate" for stage in stages) > 0
    assert all(min(stage.operations, stage.memory, stage.disk, stage.side) > 0 for stage in trainings)
    built = [stage for stage in stages if stage.name == "build_arrays"]
    assert all(stage.operations == 0 and stage.disk > 0 for stage in built)


def arc_evaluation(task_types: list[str]) -> Stage:
    section = PARAMS["profiles"]["paper"]
    arc = {
        **section["evaluate"]["arc_agi"],
        "task_types": task_types,
        "demonstration_pairs": 0,
        "curve_puzzles": 0,
        "equivariance_pairs": 0,
    }
    changed = {**section, "evaluate": {**section["evaluate"], "arc_agi": arc}}
    stages = workload({**PARAMS, "profiles": {**PARAMS["profiles"], "paper": changed}}, "paper")
    return next(stage for stage in stages if (stage.name, stage.of) == ("evaluate", "arc_agi_1-trm-s0"))


def test_arc_is_asked_with_every_kind_of_task_type() -> None:
    assert arc_evaluation(["right", "blank", "random"]).operations == 3 * arc_evaluation(["right"]).operations


def test_generated_sets_are_counted_exactly() -> None:
    source = {"kind": "generated", "num_train": 30, "num_test": 20, "clues": [30, 40], "num_16x16": 2}
    source |= {"clues_16x16": [150, 200], "num_25x25": 0, "clues_25x25": [450, 550]}
    download = DOWNLOAD["sudoku"].model_validate({"source": source, "seed": 0})
    sizes = {"4x4": None, "16x16": 1, "25x25": None}
    values = {"num_train": 10, "num_test": None, "num_test_sizes": sizes, "seed": 0}
    counts = TASKS["sudoku"].counts(download.source, AUGMENT["sudoku"].model_validate(values))
    assert (counts.side, counts.num_train) == (9, 10)
    assert counts.tests == {9: 20, 4: 288, 16: 1, 25: 0}


def test_a_forecast_needs_no_torch() -> None:
    code = "import sys, serrm.planning.rate, serrm.planning.done; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
