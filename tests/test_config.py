"""Params files: every profile composes to what it says; whatever is misspelt, missing or out of range is named."""

import importlib
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from serrm.cli import main
from serrm.config import Params, open_project, read_execution, read_params
from serrm.core.settings import parse
from serrm.models.families import FAMILIES
from serrm.models.settings import ModelSizes
from serrm.puzzles.task import Alphabet
from serrm.puzzles.tasks import TASKS
from serrm.training.schedules import SCHEDULES
from tests.repository import git

ROOT = Path(__file__).parents[1]
PROFILES = sorted(path.stem for path in (ROOT / "profiles").glob("*.yaml"))
PAPER = read_params(ROOT / "profiles" / "paper.yaml")
HALTING = "train.halting"
ABSENT = object()
MATCHED = {f"model.{key}" for key in ("width", "heads", "positions", "attention_dropout")} | {
    f"train.{key}" for key in ("batch_size", "epochs", "learning_rate", "halting")
}
SHIFTED = {"model.positions", "fidelity.shifted_rope2d"}
# What each ablation of tables A5 to A7 changes in its model, on Sudoku.
ABLATIONS = {
    "trm_mlp": {"model.mixer"},
    "trm_random_halting": {HALTING},
    "trm_rope2d": {"model.positions"},
    "trm_rope2d_published": SHIFTED,
    "trm_rope2d_random_halting": {"model.positions", HALTING},
    "trm_rope2d_random_halting_published": SHIFTED | {HALTING},
    "trm_matched": MATCHED,
    "trm_matched_published": MATCHED | SHIFTED,
    "se_rrm_rope": {"model.positions"},
    "se_rrm_untied": {"model.symbols"},
    "se_rrm_trm_hyperparameters": {"model.positions", "model.attention_dropout"}
    | {"train.batch_size", "train.epochs", "train.learning_rate"},
}


@cache
def profile_data(profile: str) -> Any:
    return yaml.safe_load((ROOT / "profiles" / f"{profile}.yaml").read_text())


def plain(profile: str = "laptop") -> dict[str, Any]:
    """A profile as plain data, to be changed."""
    params: dict[str, Any] = json.loads(json.dumps(profile_data(profile)))  # without YAML's aliases
    return params


def refusal(params: Any) -> str:
    """The message of a refusal, which is one line."""
    with pytest.raises(ValueError) as caught:
        parse(Params, params, "params.yaml")
    assert "\n" not in str(caught.value)
    return str(caught.value)


LEARNED = {"kind": "q_learning", "exploration": 0.1, "bootstrap": False}


def mappings(tree: Any, keys: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(tree, dict):
        yield keys
        for key, value in tree.items():
            yield from mappings(value, (*keys, key))


def at(tree: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        tree = tree[key]
    return tree


@pytest.mark.parametrize("profile", PROFILES)
def test_every_run_of_every_profile_composes_and_builds(profile: str) -> None:
    params = read_params(ROOT / "profiles" / f"{profile}.yaml")
    assert params.profile == profile
    for name in params.runs:
        run = params.run_settings(name)
        assert run.name == name
        with torch.device("meta"):
            model = run.model.build(ModelSizes(11, num_positions=81), None)
        assert hasattr(model.readout, "halt_weight") or run.train.halting.kind == "random"
        assert run.train.task_types is not None or model.task_types is None
        fidelity = params.scoring_settings(name).fidelity.model_dump()
        assert {fault for fault, is_on in fidelity.items() if is_on} == (
            {"shifted_rope2d"} if re.search("_published-s.$", name) else set()
        )


def test_the_seed_of_a_run_can_be_swept_and_its_name_is_a_label() -> None:
    params = plain()
    params["runs"]["maze-trm-s0"]["seed"] = 5
    swept = parse(Params, params, "params.yaml")
    settings = swept.run_settings("maze-trm-s0")
    assert (settings.seed, settings.variant, settings.name) == (5, "trm", "maze-trm-s5")
    assert swept.run_keys()["maze-trm-s0"] == ("maze", "trm", 5)
    params["runs"]["maze-trm-s5"] = {**params["runs"]["maze-trm-s0"]}
    assert "maze-trm-s5" in refusal(params), "the same run twice"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("model", "hrm"),
        ("init", "laptop/runs/maze-trm-s0"),  # the checkpoint of seed 0
        ("changes", {"train.steps": 9, "model.width": 96}),
        ("changes", {"train.steps": 8}),
        ("changes", {}),
    ],
)
def test_runs_of_a_variant_differ_in_the_seed_alone(key: str, value: Any) -> None:
    params = plain()
    run = {"data_set": "maze", "model": "trm", "changes": {"train.steps": 9}}
    for seed in (0, 1):
        init = f"laptop/runs/maze-trm-s{seed}"  # each seed may start from the checkpoint of its number
        params["runs"][f"maze-short-s{seed}"] = run | {"seed": seed, "init": init}
    parse(Params, params, "params.yaml")
    params["runs"]["maze-short-s1"][key] = value
    message = refusal(params)
    assert message.startswith(f"params.yaml: runs.maze-short-s1.{key}") and "maze-short-s0" in message


@pytest.mark.parametrize("stage", ["download", "choose_puzzles", "build_arrays"])
def test_a_stage_names_an_unknown_data_set(
    stage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "params.yaml").write_text(Path("params.yaml").read_text())
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"^DATA_SET: 'nope'"):
        getattr(importlib.import_module(f"stages.{stage}"), stage)("nope")


def test_an_unknown_key_is_named_wherever_it_stands() -> None:
    for keys in mappings(plain("ci")):
        if keys[-1:] != ("num_test_sizes",):
            changed = plain("ci")
            at(changed, keys)["colour"] = 3
            assert "colour" in refusal(changed), keys


@pytest.mark.parametrize("value", [None, "hub"])
def test_a_section_that_is_no_mapping_is_refused_or_left_out(value: object) -> None:
    """An empty section, or plain text in its place, is an error of one line that names the section."""
    for *path, last in filter(None, mappings(plain("ci"))):
        changed = plain("ci")
        at(changed, tuple(path))[last] = value
        if last not in ("task_types", "test_time_compute") or value is not None:
            assert last in refusal(changed), (*path, last)


CHANGES, ARC = "runs.maze-trm-s0.changes", "data_sets.arc_agi_1.arrays"
SOURCE = "data_sets.arc_agi_1.download.source"
NO_LEARNING = "kind: se_rrm cannot learn when to halt"


# `named` is what the message names first: the keys themselves, with more after a dot or colon.
@pytest.mark.parametrize(
    ("keys", "value", "named"),
    [
        ("models.trm.width", -1, ""),
        ("recipes.maze.trm.learning_rate", "fast", ""),
        (CHANGES, {"train.steps": 0}, ".train.steps"),
        (CHANGES, {"colour": 0}, ".colour"),
        (CHANGES, {"arrays.seed": 7}, ".arrays.seed: "),
        (CHANGES, {"evaluate.headline_steps": 5}, ".evaluate.headline_steps: is none of steps"),
        (CHANGES, {"model.heads": 3}, ".model.heads: width "),
        (CHANGES, {"arrays.num_augmentations": 8}, ".arrays.num_augmentations: a puzzle has at most 7"),
        ("runs.maze-se_rrm-s0.changes", {"train.halting": LEARNED}, f".train.halting.{NO_LEARNING}"),
        ("runs.maze-trm-s0.model", "gru", ""),
        ("runs.maze-trm-s0.init", ABSENT, ""),
        ("recipes.maze.trm", ABSENT, "runs.maze-trm-s0.model"),
        ("models.trm.family", "gru", f": is none of {', '.join(FAMILIES)} (got 'gru')"),
        ("recipes.maze.trm.optimizer", "sgd", ": is none of adam_atan2, muon, adamw (got 'sgd')"),
        ("recipes.maze.trm.schedule", "step", f": is none of {', '.join(SCHEDULES)}"),
        ("models.se_rrm.positions", "rope2d_shifted", ": is none of rope, rope2d"),
        ("recipes.maze.se_rrm.halting", LEARNED, f".{NO_LEARNING}"),
        ("data_sets.maze.download", {"source": {"kind": "packaged"}}, ".source: "),
        ("data_sets.maze.download", {"source": {"kind": "mirror"}}, "data_sets.maze.files: "),
        ("data_sets.maze.files", "sets", ": "),
        ("data_sets.maze.task", "labyrinth", ": 'labyrinth' is not a task"),
        (f"{SOURCE}.sides", [5, 3], f"{SOURCE}.generated.sides: "),
        (f"{SOURCE}.families", ["mirror", "mirror"], f"{SOURCE}.generated.families: "),
        ("data_sets.maze.files", "~/sets", ": "),
        ("data_sets.maze.arrays", {"num_augmentations": 8}, ".num_augmentations: a puzzle has"),
        ("recipes.arc_agi_1.trm.arrays", {"num_augmentations": 999_999}, f".num_augmentations: {ARC}"),
        ("recipes.maze.trm.task_types", None, ": trm learns task types"),
        ("recipes.maze.trm.steps", True, ""),
        ("tests", {"mine": {"data_set": "sodoku", "file": "a"}}, ".mine.data_set: 'sodoku' is not an entry"),
        ("tests", {"mine": {"data_set": "arc_agi_1", "file": "a.json"}}, ".mine.data_set: "),
        ("tests", {"mine": {"data_set": "maze"}}, ".mine.file: "),
        ("tests", {"mine": {"data_set": "sudoku", "file": "~/a.csv"}}, ".mine.file: "),
        ("runs.maze-trm-s0", {"data_set": "maze", "modelx": "trm", "seed": 0, "init": "random"}, ".modelx: "),
    ],
)
def test_a_wrong_value_is_named_where_it_stands(keys: str, value: object, named: str) -> None:
    params, (*path, last) = plain(), keys.split(".")
    place = at(params, tuple(path))
    place.pop(last, None)
    if value is not ABSENT:
        place[last] = value
    full = named if named[:1].isalpha() else f"{keys}{named}"
    assert refusal(params).startswith((f"params.yaml: {full}", f"params.yaml.{full}"))


def test_a_mirror_reads_a_folder_of_files() -> None:
    params = plain()
    params["data_sets"]["maze"] |= {"files": "sets", "download": {"source": {"kind": "mirror"}}}
    assert parse(Params, params, "").download_settings("maze").source.root == Path("sets")


@pytest.mark.parametrize(
    ("special", "symbols", "planes", "named"),
    [
        ((0, 1, 3), "untied", "usual", "planes"),
        ((0, 1, 3), "tied", "all", "symbols"),
        ((0, 1, 3), "untied", "all", ""),
        ((0, 1), "tied", "usual", "planes"),
        ((0,), "tied", "usual", ""),
    ],
)
def test_planes_and_tied_symbols_that_do_not_fit_an_alphabet_are_refused(
    special: tuple[int, ...], symbols: str, planes: str, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = replace(TASKS["maze"], alphabet=lambda side: Alphabet(6, special))
    monkeypatch.setitem(TASKS, "maze", other)
    params = plain()
    params["runs"] = {"maze-se_rrm-s0": params["runs"]["maze-se_rrm-s0"]}
    params["recipes"]["maze"]["se_rrm"].setdefault("model", {}).update(symbols=symbols, planes=planes)
    if named:
        text = f"recipes.maze.se_rrm.model.{named}: does not fit maze, whose special tokens are "
        assert text in refusal(params)
    else:
        parse(Params, params, "params.yaml")


def test_the_run_wins_over_the_recipe_and_the_recipe_over_the_model() -> None:
    params = plain()
    run = {"data_set": "maze", "model": "trm", "seed": 3, "init": "laptop/runs/maze-trm-s0"}
    params["runs"]["maze-mine-s3"] = run | {"changes": {"train.steps": 7, "model.positions": "rope"}}
    params["models"]["trm"] |= {"positions": "rope2d", "width": 128}
    run = parse(Params, params, "").run_settings("maze-mine-s3")
    assert (run.model.width, run.model.positions, run.train.steps) == (128, "rope", 7)
    assert (run.variant, run.seed, run.train.init_from) == ("mine", 3, "data/laptop/runs/maze-trm-s0")


def flat(name: str) -> dict[str, Any]:
    dumped = PAPER.run_settings(name).model_dump()
    sections = ("model", "train", "fidelity", "arrays")
    return {f"{section}.{key}": value for section in sections for key, value in dumped[section].items()}


@pytest.mark.parametrize("variant", ABLATIONS)
def test_an_ablation_changes_what_the_papers_table_says(variant: str) -> None:
    base = flat(f"sudoku-{'se_rrm' if variant.startswith('se_rrm') else 'trm'}-s0")
    ours = flat(f"sudoku-{variant}-s0")
    assert {key for key in base if base[key] != ours[key]} == ABLATIONS[variant]


@pytest.mark.parametrize("task", ["sudoku", "maze", "arc_agi_1"])
def test_matched_means_se_rrms_hyperparameters(task: str) -> None:
    matched, theirs = (PAPER.run_settings(f"{task}-{name}-s0") for name in ("trm_matched", "se_rrm"))
    without = set() if task.startswith("arc") else {"task_types"}  # SE-RRM has no table of them elsewhere
    assert matched.train.model_dump(exclude=without) == theirs.train.model_dump(exclude=without)
    for key in ("width", "layers", "h_cycles", "l_cycles", "heads", "expansion", "attention_dropout"):
        assert getattr(matched.model, key) == getattr(theirs.model, key), key


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with all profiles in a git repository, laptop in use."""
    shutil.copytree(ROOT / "profiles", tmp_path / "profiles")
    shutil.copy(ROOT / "profiles" / "laptop.yaml", tmp_path / "params.yaml")
    monkeypatch.chdir(tmp_path)
    git("init", "-q")
    return tmp_path


def test_use_puts_a_profile_in_place_and_loses_no_edit(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    params = project / "params.yaml"
    assert main(["use", "ci"]) == 0
    assert params.read_text() == (project / "profiles" / "ci.yaml").read_text()
    edited = params.read_text().replace("width: 32", "width: 48")
    params.write_text(edited)
    assert main(["use", "laptop"]) == 1
    assert params.read_text() == edited
    assert "params.yaml" in (message := capsys.readouterr().err) and message.count("\n") == 1
    git("add", ".")
    git("commit", "-qm", "an experiment")
    assert main(["use", "laptop"]) == 0, "what stands in a commit is not lost"
    (project / "profiles" / "mine.yaml").write_text(edited.replace("profile: ci", "profile: mine"))
    assert main(["use", "mine"]) == 0, "a file of one's own is a profile"
    params.write_text(edited + "# more\n")
    assert main(["use", "laptop"]) == 1
    assert main(["use", "laptop", "--force"]) == 0


def test_the_params_of_another_profile_are_read_beside_a_damaged_file(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    (project / "params.yaml").write_text("- a list\n")
    assert open_project("ci").params.profile == "ci"


def test_use_refuses_what_is_no_profile_or_not_valid(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (project / "params.yaml").read_bytes()
    assert main(["use", "cpu"]) == 2
    assert "cpu" in capsys.readouterr().err
    (project / "profiles" / "mine.yaml").write_text("profile: mine\n")
    assert main(["use", "mine"]) == 1
    assert "mine.yaml" in capsys.readouterr().err
    assert (project / "params.yaml").read_bytes() == before


def test_execution_has_defaults_and_refuses_unknown_keys(tmp_path: Path) -> None:
    assert read_execution(tmp_path) == read_execution(ROOT)
    (tmp_path / "machine.yaml").write_text("threads: 1\ncolour: red\n")
    with pytest.raises(ValueError, match=r"machine\.yaml\.colour"):
        read_execution(tmp_path)
