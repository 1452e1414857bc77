"""Settings in the paper's words: as profile paper resolves them, and where a run differs."""

from pathlib import Path

import pytest

from serrm.config import read_params
from serrm.reporting.paper import load_paper
from serrm.reporting.settings import LABELS, READERS, departures, differences

PARAMS = read_params(Path(__file__).parents[2] / "profiles" / "paper.yaml")
TABLES = load_paper().hyperparameter_tables


@pytest.mark.parametrize("number", ["A2", "A3", "A4"])
@pytest.mark.parametrize("model", ["hrm", "trm", "se_rrm"])
def test_profile_paper_has_the_printed_values(number, model):
    table = TABLES[number]
    place = list(table.columns).index(model)
    settings = PARAMS.train_settings(f"{table.tasks[0]}-{model}-s0").model_dump(mode="json")
    for key, row in table.rows.items():
        assert key == "parameters" or READERS[key](settings) == row.cells[place], key
    # HRM's and TRM's are the same on ARC-AGI, and only TRM's are compared with SE-RRM's.
    assert model == "hrm" or LABELS["Hyperparameters"](table.tasks[0], settings) == table.columns[model]


def test_every_printed_hyperparameter_is_read():
    assert {key for table in TABLES.values() for key in table.rows} == {*READERS, "parameters"}


def test_differences_are_in_plain_words():
    ours = {
        "task": "sudoku",
        "model": {"width": 32, "positions": "rope2d_boxes", "standard_length": 81, "same": 1},
        "train": {
            "epochs": None,
            "steps": 1326,
            "batch_size": 272,
            "halting": {"probability": 0.2},
            "hints": {"most": 40},
            "seed": 3,
        },
        "fidelity": {"dropout_at_evaluation": True},
    }
    paper = {
        "task": "maze",
        "model": {"width": 256, "positions": "rope2d", "standard_length": None, "same": 1, "registers": 4},
        "train": {
            "epochs": 10000.0,
            "steps": None,
            "batch_size": 272,
            "halting": {"probability": 0.05},
            "hints": None,
            "seed": 0,
        },
        "fidelity": {"dropout_at_evaluation": False},
    }
    assert sorted(differences(ours, paper)) == [
        "dropout at evaluation on (paper: off)",
        "halting probability 0.2 (paper: 0.05)",
        "hints most 40 (paper: none)",
        "optimiser steps 1,326 (paper: 36,764)",
        "positions rope2d_boxes (paper: rope2d)",
        "registers none (paper: 4)",
        "standard length 81 (paper: none)",
        "width 32 (paper: 256)",
    ]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("sudoku-se_rrm-s0", {"drawn and 16×16", "register positions", "attention dropout"}),
        ("sudoku-trm_matched_published-s0", {"drawn and 16×16", "attention dropout"}),
        ("maze-se_rrm_trm_hyperparameters-s0", {"7.35M"}),
        ("maze-se_rrm-s0", set()),
        ("arc_agi_1-se_rrm-s0", {"task types factored", "every epoch", "one checkpoint votes"}),
        ("arc_agi_2-trm-s0", {"every epoch", "one checkpoint votes", "equal votes"}),
    ],
)
def test_profile_paper_says_where_it_departs(name, said):
    run, fidelity = PARAMS.train_settings(name), PARAMS.evaluate_settings(name).fidelity.model_dump()
    sentences = list(departures(run.model_dump(mode="json"), fidelity))
    assert len(sentences) == len(said)
    assert all(any(words in sentence for sentence in sentences) for words in said)
    on = fidelity | {"aggregated_voting": True, "ties_by_halting": True}
    assert not any("vote" in sentence for sentence in departures(run.model_dump(mode="json"), on))
