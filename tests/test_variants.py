"""Every model variant of params.yaml resolves and builds, and is its base but for what it names."""

from pathlib import Path
from typing import Any

import pytest
import torch

from serrm.config import read_params
from serrm.models.recurrence import num_parameters
from serrm.models.registry import build_model
from serrm.resolve import train_cell
from serrm.training.settings import TrainCell

PARAMS = read_params(Path(__file__).parents[1] / "params.yaml")
PROFILES = list(PARAMS["profiles"])
TASKS = ["sudoku", "maze", "arc_agi_1", "arc_agi_2"]
SECTIONS = ("model", "train", "fidelity", "arrays")
PUBLISHED = {"positions", "fidelity.shifted_rope2d"}  # what the published RoPE2D of TRM changes
RANDOM = {"train.halting"}
MATCHED = RANDOM | {
    "width",
    "heads",
    "positions",
    "attention_dropout",
    "train.batch_size",
    "train.epochs",
    "train.learning_rate",
}
# What each ablation of tables A5 to A7 changes in its base, on Sudoku at the paper's scale.
ABLATIONS = {
    "trm_mlp": {"mixer"},
    "trm_random_halting": RANDOM,
    "trm_rope2d": {"positions"},
    "trm_rope2d_published": PUBLISHED,
    "trm_rope2d_random_halting": {"positions"} | RANDOM,
    "trm_rope2d_random_halting_published": PUBLISHED | RANDOM,
    "trm_matched": MATCHED,
    "trm_matched_published": MATCHED | PUBLISHED,
    "se_rrm_rope": {"positions"},
    "se_rrm_trm_hyperparameters": {
        "positions",
        "attention_dropout",
        "train.batch_size",
        "train.epochs",
        "train.learning_rate",
    },
    "se_rrm_untied": {"symbols"},
    "se_rrm_tied": set(),  # tied is the default; the row of the table stands for itself
}


def flat(cell: TrainCell) -> dict[str, Any]:
    """The parameters of a cell by key: a model's bare, `train.` and `fidelity.` before the others, as in an entry."""
    dumped = cell.model_dump()
    return {
        key if section == "model" else f"{section}.{key}": value
        for section in SECTIONS
        for key, value in dumped[section].items()
    }


def differing(profile: str, task: str, variant: str, base: str) -> set[str]:
    """The keys in which a variant is not as another."""
    one, other = (flat(train_cell(PARAMS, profile, task, name, 0)) for name in (base, variant))
    assert one.keys() == other.keys()
    return {key for key, value in one.items() if value != other[key]}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("variant", PARAMS["model"])
def test_every_entry_resolves_and_builds(profile: str, variant: str) -> None:
    for task in TASKS:
        cell = train_cell(PARAMS, profile, task, variant, 0)
        with torch.device("meta"):
            model = build_model(cell.model, 11, num_positions=81)
        assert num_parameters(model) > 0
        has_q_head = hasattr(model.readout, "halt_weight")
        assert has_q_head or cell.train.halting.kind == "random"
        assert (cell.train.task_types is not None) or model.task_types is None


@pytest.mark.parametrize("variant", ABLATIONS)
def test_an_ablation_changes_what_the_table_says(variant: str) -> None:
    family = "se_rrm" if variant.startswith("se_rrm") else "trm"
    assert differing("paper", "sudoku", variant, family) == ABLATIONS[variant]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", ["trm_matched", "trm_matched_published"])
def test_matched_means_se_rrms_hyperparameters(task: str, name: str) -> None:
    """Tables A2 to A4: all of SE-RRM's column, and the dropout of its published command."""
    matched, model = (train_cell(PARAMS, "paper", task, each, 0) for each in (name, "se_rrm"))
    is_arc = task.startswith("arc")
    without = set() if is_arc else {"task_types"}  # SE-RRM has no table of them on Sudoku and mazes
    assert matched.train.model_dump(exclude=without) == model.train.model_dump(exclude=without)
    for key in ("width", "layers", "h_cycles", "l_cycles", "heads", "expansion", "attention_dropout"):
        assert getattr(matched.model, key) == getattr(model.model, key), key
    assert matched.model.positions == ("rope2d_shifted" if name.endswith("published") else "rope2d")
    expected = {"sudoku": (272, 0.05, 0.2), "maze": (64, 0.1, 0.0)}.get(task, (272, 0.1, 0.0))
    halting = matched.train.halting
    assert halting.kind == "random"
    assert (matched.train.batch_size, halting.probability, matched.model.attention_dropout) == expected


@pytest.mark.parametrize("task", ["sudoku", "maze"])
def test_trms_hyperparameters_are_its_optimisation_at_se_rrms_size(task: str) -> None:
    names = ("se_rrm_trm_hyperparameters", "trm", "se_rrm")
    ours, trm, se_rrm = (train_cell(PARAMS, "paper", task, name, 0) for name in names)
    of_se_rrm = {"halting", "task_types"}
    assert ours.train.model_dump(exclude=of_se_rrm) == trm.train.model_dump(exclude=of_se_rrm)
    assert ours.train.halting == se_rrm.train.halting
    assert (ours.model.positions, ours.model.attention_dropout) == ("rope", trm.model.attention_dropout)
    with torch.device("meta"):
        sizes = [num_parameters(build_model(cell.model, 11, num_positions=81)) for cell in (ours, se_rrm)]
    assert sizes[0] == sizes[1] and round(sizes[0] / 1e6) == 2
