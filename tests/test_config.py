"""params.yaml is a closed book: whatever is misspelt, missing or out of range is named."""

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from serrm.config import Params, parse, read_cell, read_params, read_section
from serrm.inference.settings import EvaluateSettings
from serrm.resolve import lineage, resolve, section_of, write
from serrm.training.settings import Execution, TrainCell
from tests.conftest import with_grid

PARAMS = Path(__file__).parents[1] / "params.yaml"
ABSENT = object()
BLOCK = {"tasks": ["sudoku"], "models": ["se_rrm"], "seeds": [0]}
Keys = tuple[str, ...]


@pytest.fixture(scope="module")
def params() -> dict[str, Any]:
    return read_params(PARAMS)


def walk(tree: Any, keys: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    """Every mapping and leaf of a tree with the keys that lead to it."""
    yield keys, tree
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from walk(value, (*keys, key))


def changed(params: dict[str, Any], keys: Keys, value: object) -> dict[str, Any]:
    """A copy with another value at a place."""
    copied = copy.deepcopy(params)
    place = copied
    for key in keys[:-1]:
        place = place[key]
    if value is ABSENT:
        del place[keys[-1]]
    else:
        place[keys[-1]] = value
    return copied


def check(params: dict[str, Any]) -> None:
    """What the resolve stage does, for the profile that params.yaml names, without writing."""
    parse(Params, params, "params")
    resolve(params, params["profile"])


def is_used(params: dict[str, Any], keys: Keys) -> bool:
    """Whether the cells of the active profile are composed of the values here."""
    blocks = params["profiles"][params["profile"]]["grid"]
    models = {name for block in blocks for name in block["models"]}
    models |= {base for name in models for base in lineage(params, name)}
    tasks = {task for block in blocks for task in block["tasks"]}
    tasks |= {section_of(task) for task in tasks}
    match keys:
        case ("profiles", name, *_) if name != params["profile"]:
            return False
        case ("recipe", task, *_) | ("profiles", _, "recipe" | "data" | "evaluate", task, *_) if (
            task not in tasks
        ):
            return False
        case ("model", name, *_) | ("recipe", _, name, *_) | ("profiles", _, "model", name, *_):
            return name in models
        case ("profiles", _, "recipe", _, name, *_):
            return name in models
        case ("execution", *_):
            return False
    return True


def failure(params: dict[str, Any]) -> str | None:
    """The message of a refusal, which must be one line."""
    try:
        check(params)
    except ValueError as error:
        assert "\n" not in str(error)
        return str(error)
    return None


def test_an_unknown_key_is_refused_wherever_it_stands(params: dict[str, Any]) -> None:
    num_checked = 0
    for keys, value in walk(params):
        if isinstance(value, dict) and is_used(params, keys) and keys[-1:] != ("num_test_sizes",):
            message = failure(changed(params, (*keys, "colour"), 3))
            # A value that the profile overrides is not looked at.
            assert message is None or "colour" in message, keys
            num_checked += message is not None
    assert num_checked > 20


def test_a_value_of_the_wrong_type_is_refused_by_its_key(params: dict[str, Any]) -> None:
    num_checked = 0
    for keys, value in walk(params):
        if not isinstance(value, dict) and is_used(params, keys):
            message = failure(changed(params, keys, {"nonsense": 1}))
            # A value that the profile overrides is not looked at.
            assert message is None or keys[-1] in message, keys
            num_checked += message is not None
    assert num_checked > 40


def test_a_missing_key_is_named_unless_it_has_a_default(params: dict[str, Any]) -> None:
    num_checked = 0
    for keys, _ in walk(params):
        if keys:
            message = failure(changed(params, keys, ABSENT))
            assert message is None or keys[-1] in message, keys
            num_checked += message is not None
    assert num_checked > 30


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        ("profile", "cuda", "params: profile: 'cuda' is none of ci, laptop, cpu, published, gpu, paper$"),
        ("profiles.my profile", {}, r"params.profiles.my profile.*pattern.* \(got 'my profile'\)"),
        ("profiles.ci.grid", [], r"params.profiles.ci.grid: .*at least 1 item"),
        ("profiles.ci.grid", [{**BLOCK, "seeds": [-1]}], r"grid.0.seeds.0: .*equal to 0 \(got -1\)"),
        (
            "profiles.ci.grid",
            [{**BLOCK, "tasks": ["go"]}],
            r"profiles.ci.grid.0.tasks: 'go' is none of sudoku",
        ),
        (
            "profiles.paper.grid",
            [BLOCK, {**BLOCK, "models": ["se_rmm"]}],
            "params: profiles.paper.grid.1.models: 'se_rmm' is no entry of model",
        ),
        (
            "profiles.gpu.grid",
            [BLOCK, {**BLOCK, "seeds": [1, 0]}],
            "params.profiles.gpu.grid: block 1 has sudoku-se_rrm-0, which is there already",
        ),
        ("profiles.ci.model.se_rmm", {}, "profiles.ci.model: 'se_rmm' is no entry of model"),
        ("profiles.ci.evaluate.sudoku.steps", [], r"evaluate.steps: .*at least 1 item"),
        ("profiles.ci.recipe.sudoku.se_rrm.train.warmup_steps", -1, r"train.warmup_steps: .* \(got -1\)"),
        (
            "profiles.ci.recipe.sudoku.se_rrm.train.epochs",
            3,
            "train: give either epochs or steps, got epochs=3.0",
        ),
        ("profiles.ci.model.se_rrm.positions", "rope3d", r"positions: .* \(got 'rope3d'\)"),
        ("profiles.ci.data.sudoku.download.source.kind", "web", "download.source: .*'web'"),
        ("profiles.ci.data.sudoku.download.source.clues", [50, 40], "clues: clues 50 to 40 are no range"),
        (
            "profiles.ci.data.sudoku.download.source.clues_16x16",
            [150, 257],
            "clues_16x16: clues 150 to 257 are no",
        ),
        ("profiles.ci.data.sudoku.augment.num_test_sizes", {"9x9": 3}, "augment.num_test_sizes.9x9"),
        (
            "profiles.ci.data.maze.download.source.min_path",
            9999,
            "min_path: a .* maze has no path of 9999 cells",
        ),
        ("profiles.ci.data.arc_agi_1.augment.canvas", 31, r"canvas: .*less than or equal to 30 \(got 31\)"),
        ("profiles.ci.data.arc_agi_1.augment.scored", "test", r"augment.scored: .* \(got 'test'\)"),
        (
            "profiles.ci.data.arc_agi_1.augment",
            {"canvas": 6, "num_train": 16, "num_test": None, "scored": "held_out"},
            "arc_agi_1.augment: scored: held_out needs a number of puzzles as num_test, not null",
        ),
        ("model.other", {"based_on": "nothing"}, "'nothing'|model.nothing is missing"),
    ],
)
def test_messages_say_where_and_what(params: dict[str, Any], keys: str, value: object, message: str) -> None:
    tiny = with_grid({**params, "profile": "ci"}, "ci", models=["se_rrm"])
    broken = changed(tiny, tuple(keys.split(".")), value)
    if keys == "model.other":
        broken = with_grid(broken, "ci", models=["other"])
    with pytest.raises(ValueError, match=message) as caught:
        check(broken)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 200


def test_a_number_that_yaml_takes_for_a_string_is_a_number(params: dict[str, Any]) -> None:
    """YAML 1.1 reads 1e-4 as a string; it is taken as what was meant, and what is no number is refused."""
    path = ("profiles", "ci", "recipe", "sudoku", "se_rrm", "train", "learning_rate")
    ci = with_grid({**params, "profile": "ci"}, "ci", **BLOCK)
    (written,) = yaml.safe_load("[1e-4]")
    assert isinstance(written, str)
    cells = [resolve(changed(ci, path, rate), "ci")["train/sudoku-se_rrm-s0"] for rate in (written, 1.0e-4)]
    assert cells[0] == cells[1]
    assert isinstance(cells[0], TrainCell) and cells[0].train.learning_rate == 1e-4
    with pytest.raises(ValueError, match=r"learning_rate: .*number.* \(got '1e-4\.'\)"):
        check(changed(ci, path, "1e-4."))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "not valid YAML: "),
        ("", "params: Input should be a valid dictionary"),
        ("- 1", "params: Input should be a valid dictionary"),
        ("profile: ci", r"params\.\w+: Field required"),
    ],
)
def test_what_is_no_params_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        read_params(path)
    assert "\n" not in str(caught.value)


def test_execution_is_read_on_its_own(params: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(yaml.safe_dump({**params, "execution": {"device": "cpu", "max_seconds": 9}}))
    assert read_section(Execution, path, "execution") == Execution(device="cpu", max_seconds=9.0)
    for broken, message in (
        ({"devcie": "cpu"}, "execution.devcie: Extra inputs are not permitted"),
        ({"threads": 0}, "execution.threads: Input should be greater than 0"),
        ({"max_seconds": "soon"}, "execution.max_seconds: .*number"),
    ):
        path.write_text(yaml.safe_dump({**params, "execution": broken}))
        with pytest.raises(ValueError, match=message):
            read_section(Execution, path, "execution")


def test_a_cell_file_is_read_as_it_was_written(tmp_path: Path, make_cell: Callable[..., TrainCell]) -> None:
    cell = make_cell()
    write({"train/a": cell}, tmp_path)
    again = read_cell(TrainCell, tmp_path / "train" / "a.json")
    assert again == cell and again.digest() == cell.digest()
    with pytest.raises(ValueError, match=r"a\.task: Extra inputs|a\.\w+: Field required"):
        read_cell(EvaluateSettings, tmp_path / "train" / "a.json")


def test_a_digest_changes_with_any_value(make_cell: Callable[..., TrainCell]) -> None:
    changes: list[dict[str, Any]] = [
        {},
        {"seed": 1},
        {"variant": "other"},
        {"model": {"width": 64}},
        {"train": {"learning_rate": 1e-3}},
        {"train": {"halting": {"kind": "random", "probability": 0.2}}},
        {"fidelity": {"bfloat16_embeddings": True}},
        {"arrays": {"num_augmentations": 4}},
    ]
    assert len({make_cell(**change).digest() for change in changes}) == len(changes)
