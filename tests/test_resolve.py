"""A cell is composed of base, recipe, profile and variant, the stronger over the weaker."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serrm.config import read_params
from serrm.describe import TASKS as RECORDS
from serrm.grid import Grid
from serrm.inference.settings import EvaluateCell
from serrm.models.settings import SeRrmSettings
from serrm.planning.operations import training_operations
from serrm.planning.tasks import TASKS as PLANNED
from serrm.resolve import compose, deviations, resolve, train_cell, write
from serrm.training.settings import TrainCell
from tests.conftest import with_grid

PARAMS = Path(__file__).parents[1] / "params.yaml"
PROFILES = list(read_params(PARAMS)["profiles"])
TASKS = ["sudoku", "maze", "arc_agi_1", "arc_agi_2"]
# The places a value may stand in, weakest first.
PLACES = ["base", "recipe of base", "profile for family"]
PLACES += ["variant", "recipe of variant", "profile for variant"]
presence = st.lists(st.booleans(), min_size=len(PLACES), max_size=len(PLACES))


@pytest.fixture(scope="module")
def params() -> dict[str, Any]:
    return read_params(PARAMS)


def tree(is_there: list[bool], section: str) -> dict[str, Any]:
    """Parameters in which `x` stands in the places marked, as the name of its place."""
    found = [{"x": place} if there else {} for place, there in zip(PLACES, is_there, strict=True)]
    base, recipe, profile, own, own_recipe, own_profile = found

    def entry(values: dict[str, str]) -> dict[str, Any]:
        return values if section == "model" else {section: values}

    overrides: dict[str, Any] = {"family": profile, "variant": own_profile}
    if section != "model":
        overrides = {"maze": {name: {section: values} for name, values in overrides.items()}}
    return {
        "model": {
            "base": {"family": "family", **entry(base)},
            "variant": {"based_on": "base", **entry(own)},
        },
        "recipe": {"maze": {"base": {section: recipe}, "variant": {section: own_recipe}}},
        "profiles": {"ci": {"model" if section == "model" else "recipe": overrides}},
    }


@pytest.mark.parametrize("section", ["model", "train", "arrays"])
@pytest.mark.parametrize(("name", "num_places"), [("variant", 6), ("base", 3)])
@given(is_there=presence)
def test_the_strongest_place_wins(section: str, name: str, num_places: int, is_there: list[bool]) -> None:
    """A base knows nothing of what stands at its variants."""
    values = compose(tree(is_there, section), "ci", "maze", name, section)
    there = [place for place, marked in zip(PLACES[:num_places], is_there, strict=False) if marked]
    assert values.get("x") == (there[-1] if there else None)
    assert "based_on" not in values


@pytest.mark.parametrize("section", ["model", "train", "arrays"])
@given(is_there=presence, is_own=st.booleans())
def test_a_variant_of_a_variant_is_it_but_for_its_own(
    section: str, is_there: list[bool], is_own: bool
) -> None:
    params = tree(is_there, section)
    own = {"x": "third"} if is_own else {}
    params["model"]["third"] = {"based_on": "variant", **(own if section == "model" else {section: own})}
    expected = compose(params, "ci", "maze", "variant", section) | own
    assert compose(params, "ci", "maze", "third", section) == expected


def test_how_long_a_variant_of_a_variant_trains_is_the_profiles_to_say() -> None:
    params = tree([False] * 6, "train")
    params["model"]["third"] = {"based_on": "variant", "train": {"steps": 9, "ema": 0.5}}
    of_profile = params["profiles"]["ci"]["recipe"]["maze"]
    for name, steps in (("family", 1), ("variant", 2), ("third", 3)):
        of_profile[name] = {"train": {"steps": steps}}
        assert compose(params, "ci", "maze", "third", "train") == {"steps": steps, "ema": 0.5}


@pytest.mark.parametrize("bases", [{"variant": "variant"}, {"variant": "third", "third": "variant"}])
def test_a_variant_based_on_itself_is_refused(bases: dict[str, str]) -> None:
    broken = tree([False] * 6, "model")
    broken["model"] |= {name: {"based_on": base} for name, base in bases.items()}
    with pytest.raises(ValueError, match=r"model\.\w+\.based_on: '\w+' is itself based on '\w+'$"):
        compose(broken, "ci", "maze", "variant", "model")


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_resolves_for_every_model(params: dict[str, Any], profile: str) -> None:
    everything = with_grid(params, profile, tasks=TASKS, models=list(params["model"]), seeds=[0, 3])
    files = resolve(everything, profile)
    expected = {"tabulate"} | {
        f"{stage}/{task}" for stage in ("download", "augment", "arrays") for task in TASKS
    }
    expected |= {
        f"{stage}/{task}-{model}-s{seed}"
        for stage in ("train", "evaluate")
        for task in TASKS
        for model in params["model"]
        for seed in (0, 3)
    }
    assert files.keys() == expected
    assert isinstance(files["tabulate"], Grid)
    for name, settings in files.items():
        if name.startswith("evaluate/"):
            assert isinstance(settings, EvaluateCell)
            assert settings.source


def test_the_papers_sudoku_recipe(params: dict[str, Any]) -> None:
    """Table A2, and what the published code adds."""
    cell = train_cell(params, "paper", "sudoku", "se_rrm", 0)
    assert isinstance(cell.model, SeRrmSettings)
    model, recipe = cell.model, cell.train
    assert (model.width, model.layers, model.h_cycles, model.l_cycles) == (256, 2, 3, 6)
    assert (model.heads, model.head_dim, model.symbol_heads, model.symbol_head_dim) == (4, 64, 2, 64)
    assert (model.registers, model.symbols, model.planes) == (4, "tied", "all")
    assert model.attention_dropout == 0.2
    assert recipe.num_steps(1000) == 36_764, "10,000 · 1,000 / 272 is 36,764.7, and a part of a step is none"
    assert recipe.halting.model_dump() == {"kind": "random", "probability": 0.05, "probability_solved": 0.0}
    assert recipe.max_supervision_steps == 16
    assert (recipe.learning_rate, recipe.warmup_steps, recipe.weight_decay) == (5e-4, 2000, 1.0)
    assert (recipe.betas, recipe.ema) == ((0.9, 0.95), 0.999)
    assert cell.arrays.num_augmentations == 1000
    assert not any(cell.fidelity.model_dump().values())


def test_a_profile_speaks_of_a_task_louder_than_of_all(params: dict[str, Any]) -> None:
    cells = [train_cell(params, "cpu", task, "se_rrm", 0).model for task in ("sudoku", "maze", "arc_agi_2")]
    assert all(isinstance(model, SeRrmSettings) and model.width == 64 for model in cells)
    # Walls and ends of grids stand in answers, so their planes must be there; the blank of Sudoku never does.
    assert [getattr(model, "planes", None) for model in cells] == ["usual", "all", "all"]
    assert [getattr(model, "symbols", None) for model in cells] == ["tied", "untied", "tied"]


def test_both_arc_sets_share_their_sections_unless_one_has_its_own(params: dict[str, Any]) -> None:
    one, two = (train_cell(params, "paper", f"arc_agi_{version}", "se_rrm", 0) for version in (1, 2))
    assert one.model_dump(exclude={"task"}) == two.model_dump(exclude={"task"})
    assert one.arrays.num_augmentations == 7
    recipe = params["recipe"]
    own = {
        **recipe,
        "arc_agi_2": {**recipe["arc_agi"], "se_rrm": {**recipe["arc_agi"]["se_rrm"], "arrays": {}}},
    }
    cells = [
        train_cell({**params, "recipe": own}, "paper", f"arc_agi_{version}", "se_rrm", 0)
        for version in (1, 2)
    ]
    assert [cell.arrays.num_augmentations for cell in cells] == [7, 1000]


@pytest.mark.parametrize(
    ("task", "model", "batch_size", "epochs", "decay"),
    [
        ("maze", "se_rrm", 64, 10_000, 1.0),
        ("maze", "trm", 768, 50_000, 1.0),
        ("maze", "hrm", 384, 20_000, 1.0),
        ("arc_agi_1", "se_rrm", 272, 100_000, 0.1),
        ("arc_agi_2", "trm", 768, 100_000, 0.1),
        ("arc_agi_2", "hrm", 768, 100_000, 0.1),
    ],
)
def test_the_papers_other_recipes(
    params: dict[str, Any], task: str, model: str, batch_size: int, epochs: int, decay: float
) -> None:
    """Tables A3 and A4."""
    cell = train_cell(params, "paper", task, model, 0)
    recipe = cell.train
    assert (recipe.batch_size, recipe.epochs, recipe.weight_decay) == (batch_size, epochs, decay)
    assert (recipe.max_supervision_steps, recipe.warmup_steps) == (16, 2000)
    cycles = (2, 2) if model == "hrm" else (3, 4)
    assert (cell.model.h_cycles, cell.model.l_cycles) == cycles
    assert recipe.learning_rate == (5e-4 if model == "se_rrm" else 1e-4)
    is_cosine = model == "se_rrm" and task.startswith("arc")
    assert recipe.schedule == ("cosine" if is_cosine else "constant")


def with_variant(params: dict[str, Any], profile: str, **entry: Any) -> dict[str, Any]:
    """The parameters with one more model in the grid."""
    return {
        **with_grid(params, profile, models=["se_rrm", "mine"], seeds=[0]),
        "model": {**params["model"], "mine": {"based_on": "se_rrm", **entry}},
    }


@pytest.mark.parametrize("profile", PROFILES)
def test_a_variant_is_its_base_but_for_what_it_names(params: dict[str, Any], profile: str) -> None:
    files = resolve(with_variant(params, profile, positions="none", train={"ema": 0.5}), profile)
    base, mine = files["train/sudoku-se_rrm-s0"], files["train/sudoku-mine-s0"]
    assert isinstance(base, TrainCell) and isinstance(mine, TrainCell)
    changed = {"model": {"positions": "none"}, "train": {"ema": 0.5}}
    expected = base.model_dump() | {"variant": "mine"}
    for section, values in changed.items():
        expected[section] = expected[section] | values
    assert mine.model_dump() == expected


def test_profiles_may_switch_faults_on(params: dict[str, Any]) -> None:
    ci = {**params["profiles"]["ci"], "fidelity": {"bfloat16_embeddings": True}}
    faulty = {**params, "profiles": {**params["profiles"], "ci": ci}}
    cell = train_cell(faulty, "ci", "sudoku", "se_rrm", 0)
    assert cell.fidelity.bfloat16_embeddings and not cell.fidelity.dropout_at_evaluation


def test_the_shifted_rotation_is_a_fault_of_models_with_a_prefix(params: dict[str, Any]) -> None:
    faults = {"shifted_rope2d": True}
    variants = {
        "trm_2d": {"based_on": "trm", "positions": "rope2d", "fidelity": faults},
        "trm_1d": {"based_on": "trm", "positions": "rope", "fidelity": faults},
        "se_2d": {"based_on": "se_rrm", "positions": "rope2d", "fidelity": faults},
    }
    faulty = {**params, "model": {**params["model"], **variants}}
    found = {name: train_cell(faulty, "paper", "sudoku", name, 0).model.positions for name in variants}
    assert found == {"trm_2d": "rope2d_shifted", "trm_1d": "rope", "se_2d": "rope2d"}


def test_deviations_are_what_differs_from_the_paper(params: dict[str, Any]) -> None:
    ci = train_cell(params, "ci", "sudoku", "se_rrm", 0)
    sentences = list(deviations(params, "ci", ci))
    assert len(sentences) == len(set(sentences)) > 5
    assert any(sentence.startswith(f"width {ci.model.width} (paper: 256)") for sentence in sentences)
    assert any(sentence.startswith("optimiser steps ") for sentence in sentences)
    assert not any("log every" in sentence or "seed" in sentence for sentence in sentences)


@pytest.mark.parametrize(
    ("task", "model", "said"),
    [
        ("sudoku", "se_rrm", {"drawn and 16×16", "register positions", "attention dropout"}),
        ("sudoku", "trm_matched_published", {"drawn and 16×16", "attention dropout"}),
        ("sudoku", "se_rrm_trm_hyperparameters", {"drawn and 16×16", "register positions", "7.35M"}),
        ("maze", "se_rrm_trm_hyperparameters", {"7.35M"}),
        ("sudoku", "hrm", {"drawn and 16×16"}),
        ("maze", "se_rrm", set()),
        ("arc_agi_1", "se_rrm", {"task types factored", "every epoch", "one checkpoint votes"}),
        ("arc_agi_2", "trm", {"every epoch", "one checkpoint votes", "equal votes"}),
    ],
)
def test_the_papers_scale_says_where_it_departs(
    params: dict[str, Any], task: str, model: str, said: set[str]
) -> None:
    cell = train_cell(params, "paper", task, model, 0)
    sentences = list(deviations(params, "paper", cell))
    assert len(sentences) == len(said)
    assert all(any(words in sentence for sentence in sentences) for words in said)


def test_a_switch_that_is_on_is_no_departure(params: dict[str, Any]) -> None:
    on = {**params, "fidelity": {**params["fidelity"], "aggregated_voting": True, "ties_by_halting": True}}
    cell = train_cell(on, "paper", "arc_agi_1", "trm", 0)
    assert cell == train_cell(params, "paper", "arc_agi_1", "trm", 0), "the vote changes no training"
    assert not any("vote" in sentence for sentence in deviations(on, "paper", cell))
    scored = resolve(on, "paper")["evaluate/arc_agi_1-trm-s0"]
    assert isinstance(scored, EvaluateCell) and scored.fidelity.aggregated_voting


def test_the_paper_scales_arc_is_the_published_one(params: dict[str, Any]) -> None:
    """1,000 augmentations besides the puzzle itself, its leaks reported only, and a learning curve."""
    files: dict[str, Any] = resolve(params, "paper")
    for task in ("arc_agi_1", "arc_agi_2"):
        assert files[f"arrays/{task}"].num_augmentations == 1000
        assert files[f"augment/{task}"].audit == "report"
        assert files[f"evaluate/{task}-trm-s0"].evaluate.curve_puzzles > 0
        assert files[f"download/{task}"].source.arc_agi_2.revision.startswith("fa619669")


@pytest.mark.parametrize("profile", ["published", "gpu", "paper"])
def test_16x16_is_as_near_to_the_papers_blanks_as_one_solution_allows(
    params: dict[str, Any], profile: str
) -> None:
    files: dict[str, Any] = resolve(params, profile)
    assert files["download/sudoku"].source.clues_16x16 == (89, 95)


def test_published_is_the_published_sudoku_with_equal_operations(params: dict[str, Any]) -> None:
    files: dict[str, Any] = resolve(params, "published")
    source, subset = files["download/sudoku"].source, files["augment/sudoku"]
    assert (source.kind, subset.num_train, subset.scored) == ("hub", 1000, "evaluation")
    assert subset.num_test_sizes.keys() == {"4x4", "16x16", "25x25"}
    counts = PLANNED["sudoku"].counts(source, subset)
    spent = [
        training_operations(files[f"train/sudoku-{name}-s0"], counts) for name in ("hrm", "trm", "se_rrm")
    ]
    assert max(spent) < 1.05 * min(spent)


@pytest.mark.parametrize(
    ("source", "said", "unsaid"),
    [
        ({"kind": "hub"}, "89 to 93 blanks", "substitute"),
        ({"kind": "mirror", "root": "x"}, "substitute", "held out"),
        ({"kind": "mirror", "root": "x", "folder_9x9": "sudoku-extreme"}, "local mirror", "substitute"),
    ],
)
def test_a_substitute_is_called_one(
    params: dict[str, Any], source: dict[str, Any], said: str, unsaid: str
) -> None:
    download, told = {**source, "num_16x16": 9, "clues_16x16": [163, 167]}, RECORDS["sudoku"].source
    words = told(download, {})
    assert said in words and unsaid not in words
    assert "held out" in told(download, {"scored": "held_out"})


def test_files_are_written_alike_each_time(params: dict[str, Any], tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    write(resolve(params, "ci"), one)
    write(dict(reversed(resolve(params, "ci").items())), other)
    names = sorted(path.relative_to(one).as_posix() for path in one.rglob("*.json"))
    assert "train/sudoku-se_rrm-s0.json" in names
    for name in names:
        assert (one / name).read_bytes() == (other / name).read_bytes()
        json.loads((one / name).read_text())
