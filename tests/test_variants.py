"""Every model variant of params.yaml resolves and builds, and is its base but for what it names."""

from pathlib import Path
from typing import Any

import pytest
import torch

from serrm.config import read_params
from serrm.models.recurrence import num_parameters
from serrm.models.registry import build_model
from serrm.models.settings import SeRrmSettings, TrmSettings
from serrm.resolve import resolve, section_of, train_cell
from serrm.training.settings import TrainCell
from tests.conftest import with_grid

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


def named(variant: str) -> dict[str, Any]:
    """The values that an entry gives itself, by the same keys."""
    own = dict(PARAMS["model"][variant])
    own.pop("based_on", None)
    nested = {f"{name}.{k}": v for name in SECTIONS[1:] for k, v in own.pop(name, {}).items()}
    return own | nested


def flat_recipe(recipes: dict[str, Any], task: str, variant: str) -> dict[str, Any]:
    """What recipes say of a variant on a task, by the same keys."""
    of_task = recipes.get(task, recipes.get(section_of(task), {}))
    return {
        key if section == "model" else f"{section}.{key}": value
        for section, values in of_task.get(variant, {}).items()
        for key, value in values.items()
    }


def differing(profile: str, task: str, variant: str, base: str) -> set[str]:
    """The keys in which a variant is not as another."""
    one, other = (flat(train_cell(PARAMS, profile, task, name, 0)) for name in (base, variant))
    assert one.keys() == other.keys()
    return {key for key, value in one.items() if value != other[key]}


def variants() -> list[str]:
    return [name for name, entry in PARAMS["model"].items() if "based_on" in entry]


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


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("variant", variants())
def test_a_variant_is_its_base_but_for_its_own_keys(profile: str, variant: str) -> None:
    for task in TASKS:
        # How long to train is for the profile to say, where it does; so is what it lays over this one variant.
        section = PARAMS["profiles"][profile]
        overrides = section.get("model", {}).get(variant, {}) | flat_recipe(
            section.get("recipe", {}), task, variant
        )
        length = set() if profile == "paper" else {"train.epochs", "train.steps"}
        own = named(variant) | flat_recipe(PARAMS["recipe"], task, variant) | overrides
        if own.get("fidelity.shifted_rope2d"):
            own["positions"] = "rope2d_shifted"
        cell = flat(train_cell(PARAMS, profile, task, variant, 0))
        assert differing(profile, task, variant, PARAMS["model"][variant]["based_on"]) <= own.keys()
        for key in own.keys() - length:
            given = own[key]
            stands = {k: cell[key][k] for k in given} if isinstance(given, dict) else cell[key]
            assert stands == given, key


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


@pytest.mark.parametrize("profile", PROFILES)
def test_a_new_variant_needs_its_entry_and_no_more(profile: str) -> None:
    mine = {"my_variant": {"based_on": "trm", "positions": "none"}}
    params = {**PARAMS, "model": {**PARAMS["model"], **mine}}
    everything = with_grid(params, profile, tasks=TASKS, models=["trm", "my_variant"], seeds=[0])
    files = resolve(everything, profile)
    for task in TASKS:
        base, cell = files[f"train/{task}-trm-s0"], files[f"train/{task}-my_variant-s0"]
        assert isinstance(base, TrainCell) and isinstance(cell, TrainCell)
        assert f"evaluate/{task}-my_variant-s0" in files
        expected = base.model_dump() | {"variant": "my_variant"}
        expected["model"] |= {"positions": "none"}
        assert cell.model_dump() == expected
        with torch.device("meta"):
            assert num_parameters(build_model(cell.model, 11, num_positions=81)) > 0


def test_a_misspelt_key_of_a_new_variant_is_named() -> None:
    mine = {"my_variant": {"based_on": "trm", "position": "none"}}
    params = {**PARAMS, "model": {**PARAMS["model"], **mine}}
    with pytest.raises(ValueError, match=r"my_variant.*position"):
        train_cell(params, "ci", "sudoku", "my_variant", 0)


def test_a_variant_is_parameters_and_no_class() -> None:
    kinds = {
        name: type(train_cell(PARAMS, "paper", "sudoku", name, 0).model)
        for name in ("trm_mlp", "se_rrm_rope")
    }
    assert kinds == {"trm_mlp": TrmSettings, "se_rrm_rope": SeRrmSettings}
