"""Tables A2 to A4: the settings as params.yaml resolves beside the printed ones, differences marked."""

from pathlib import Path

import pytest

from serrm.config import read_params
from serrm.reporting.paper import load_paper
from serrm.reporting.settings import DIFFERS, VALUES, CellSettings, hyperparameter_table, setting

PROFILES = Path(__file__).parents[2] / "profiles"
TABLES = load_paper().hyperparameter_tables
MODELS = ("hrm", "trm", "se_rrm")


@pytest.fixture(scope="module")
def of_profile():
    """The settings of a profile's runs of the paper's models on Sudoku and mazes."""

    def read(profile):
        params = read_params(PROFILES / f"{profile}.yaml")
        return {
            (task, model): params.train_settings(f"{task}-{model}-s0").model_dump(mode="json")
            for task in ("sudoku", "maze")
            for model in MODELS
        }

    return read


def columns_of(table, name):
    """The columns of a model, by what they show."""
    columns = zip(table.stub, zip(*table.rows, strict=True), strict=True)
    _, keys = next(columns)
    return {
        heading.partition(": ")[2]: dict(zip(keys, cells, strict=True))
        for heading, cells in columns
        if heading.startswith(f"{name}: ")
    }


@pytest.mark.parametrize("number", ["A2", "A4"])
def test_the_paper_profile_has_the_printed_values(of_profile, number):
    here = of_profile("paper")
    (task,) = TABLES[number].tasks
    if (task, "se_rrm") not in here:
        pytest.skip(f"no {task} in params.yaml")
    table = hyperparameter_table(number, "paper", TABLES[number], CellSettings(here, here), {})
    assert table.stub[:3] == ("Hyperparameter", "HRM: printed", "HRM: profile paper")
    differing = [(row[0], cell) for row in table.rows for cell in row if cell.endswith("≠")]
    assert differing == []
    assert columns_of(table, "TRM")["profile paper"]["Recursive cycles"].startswith("H=3")


def test_a_small_profile_has_its_differences_marked(of_profile):
    here, paper = of_profile("ci"), of_profile("paper")
    table = hyperparameter_table("A2", "ci", TABLES["A2"], CellSettings(here, paper), {})
    for model, name in (("hrm", "HRM"), ("trm", "TRM"), ("se_rrm", "SE-RRM")):
        shown = columns_of(table, name)
        for key, label in (("hidden_size", "Hidden size"), ("ema", "Weight average (EMA)")):
            ours = setting(key, here["sudoku", model])
            # What the paper does not print is held against its profile.
            printed, reference = shown["printed"][label], setting(key, paper["sudoku", model])
            assert printed in (reference, "—")
            assert shown["profile paper"][label] == reference
            assert shown["profile ci"][label] == (ours if ours == reference else ours + DIFFERS)
    assert columns_of(table, "TRM")["profile ci"]["Register positions"] == "—"


def test_what_was_not_run_says_so(full_settings):
    table = hyperparameter_table("A3", "test", TABLES["A3"], full_settings, {})
    assert table.was_run
    assert set(columns_of(table, "HRM")["profile test"].values()) == {"not run"}
    nothing = hyperparameter_table("A3", "test", TABLES["A3"], CellSettings(), {})
    assert not nothing.was_run
    assert len(nothing.rows) == len(TABLES["A3"].rows)


def test_parameters_are_those_counted_and_compared_as_printed(load, full_files):
    def shown(number):
        for file in full_files:
            file["model_info"]["parameters"] = number
        results, settings = load(full_files)
        table = hyperparameter_table("A2", "test", TABLES["A2"], settings, results)
        return columns_of(table, "SE-RRM")["profile test"]["Parameters"]

    assert shown(1_970_176) == "1,970,176"
    assert shown(171_264) == "171,264" + DIFFERS


def test_a_second_task_of_a_table_is_told_where_it_differs(full_settings):
    here = dict(full_settings.here)
    other = here["arc_agi_1", "trm"]
    here["arc_agi_2", "trm"] = {**other, "train": {**other["train"], "batch_size": 7}}
    table = hyperparameter_table("A3", "test", TABLES["A3"], CellSettings(here, here), {})
    assert table.notes[-1].text == "On ARC-AGI-2 TRM has another batch size: 7."


@pytest.mark.parametrize(
    ("key", "section", "changes", "words"),
    [
        ("halting", "train", {}, "random (5% chance per step)"),
        ("num_epochs", "train", {"steps": None, "epochs": 100000.0}, "100000"),
        ("num_epochs", "train", {"steps": 1050}, "1,050 optimiser steps"),
        ("task_type_lr", "train", {"task_types": {"learning_rate": 0.01, "weight_decay": 0.1}}, "0.01"),
        ("schedule", "train", {"schedule": "cosine"}, "Warmup + Cosine-Decay"),
        ("layers", "model", {"layers": 2}, "4 (2 for each dimension)"),
        ("layers", "model", {"family": "hrm", "layers": 4}, "8"),
        ("prefix", "model", {}, "—"),
        ("positions", "model", {"positions": "rope2d_boxes"}, "RoPE2D with boxes"),
        ("standard_length", "model", {"standard_length": 81}, "81"),
        ("positions", "model", {"positions": "something_new"}, "something_new"),
    ],
)
def test_settings_in_the_papers_words(full_settings, key, section, changes, words):
    cell = full_settings.here["sudoku", "se_rrm"]
    assert setting(key, {**cell, section: {**cell[section], **changes}}) == words


def test_every_hyperparameter_has_a_name():
    printed = {key for table in TABLES.values() for key in table.rows}
    assert {key for key, (name, _) in VALUES.items() if not name} <= printed
    assert setting("layers", None) == "—"
