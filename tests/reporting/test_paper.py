"""The paper's numbers: some read back by hand, and every printed interval recomputed as its kind says."""

from decimal import Decimal
from math import floor
from pathlib import Path

import pytest
from scipy.stats import binomtest

from serrm.config import read_params
from serrm.reporting.paper import load_paper
from serrm.reporting.recipes import setting_differences
from serrm.scoring.metrics import wilson

PAPER = load_paper()
PARAMS = read_params(Path(__file__).parents[2] / "profiles" / "paper.yaml")


PRINTED = """
1 0 9x9/fsr 63.53 (63.38-63.67)
1 2 9x9/fsr 87.4
1 3 9x9/gpa 97.58 (97.54-97.63)
1 3 25x25/fsr 0 (0-8.38)
1 4 9x9/fsr 21.67 (13.12-33.62)
2 1 16 71.95
2 2 1 16.05
3 1 arc_agi_2 7.8 (4.0-13.64)
3 2 maze 88.8 (86.64-90.65)
A7 3 sudoku 89.7 (89.61-89.79)
"""  # table, row, column, entry


def test_numbers_match_the_paper():
    for line in PRINTED.strip().splitlines():
        table, row, column, printed = line.split(maxsplit=3)
        assert PAPER.score_tables[table].rows[int(row)].entries[column].printed == printed


def recomputable():
    for number, table in PAPER.score_tables.items():
        for row in table.rows:
            for key, entry in row.entries.items():
                kind = entry.interval or table.columns[key].interval
                if entry.numbers[1:] and kind != "blank_cells":
                    num = entry.num or table.columns[key].num
                    yield pytest.param(entry, kind, num, id=f"{number}-{row.name}-{key}-{entry.printed}")


def at_digits_of(printed, percent):
    return Decimal(percent).quantize(printed)


def ends(kind, successes, num):
    if kind != "continuity":
        return wilson(successes, num)
    interval = binomtest(successes, num).proportion_ci(method="wilsoncc")
    return interval.low, interval.high


@pytest.mark.parametrize(("entry", "kind", "num"), list(recomputable()))
def test_printed_intervals_can_be_recomputed(entry, kind, num):
    """Some number of successes that is printed as the value gives both ends, digit by digit."""
    value, *printed = map(Decimal, entry.numbers)
    half = Decimal(5).scaleb(value.as_tuple().exponent - 1)
    if kind == "rounded_down":
        candidates = [floor(value * num / 100)]
    elif value == 0:
        candidates = [0]
    else:
        candidates = range(floor((value - half) * num / 100), floor((value + half) * num / 100) + 2)
    computed = [
        [at_digits_of(p, 100 * end) for p, end in zip(printed, ends(kind, k, num), strict=True)]
        for k in candidates
        if k <= num
    ]
    assert printed in computed


def test_tables_hold_all_numbers_of_the_paper():
    tables = PAPER.score_tables
    nums = {number: sum(len(row.entries) for row in table.rows) for number, table in tables.items()}
    assert nums == {"1": 33, "2": 24, "3": 9, "A5": 6, "A6": 16, "A7": 8}
    for table in tables.values():
        assert {key for row in table.rows for key in row.entries} <= table.columns.keys()


# Tables A2 to A4: columns HRM, TRM, SE-RRM; a sign for what does not apply.
HYPERPARAMETERS = """
sudoku train.max_supervision_steps 16 16 16
sudoku train.halting.kind q_learning q_learning random
sudoku train.halting.probability - - 0.05
sudoku model.h_cycles 2 3 3
sudoku model.l_cycles 2 6 6
sudoku train.batch_size 384 768 272
sudoku train.epochs 50000.0 50000.0 10000.0
sudoku train.learning_rate 0.0001 0.0001 0.0005
sudoku train.weight_decay 1.0 1.0 1.0
sudoku train.schedule constant constant constant
sudoku model.width 512 512 256
sudoku model.layers 4 2 2
sudoku model.positions rope rope rope2d
arc_agi_1 train.max_supervision_steps 16 16 16
arc_agi_1 train.halting.probability - - 0.1
arc_agi_1 model.l_cycles 2 4 4
arc_agi_1 train.batch_size 768 768 272
arc_agi_1 train.epochs 100000.0 100000.0 100000.0
arc_agi_1 train.learning_rate 0.0001 0.0001 0.0005
arc_agi_1 train.weight_decay 0.1 0.1 0.1
arc_agi_1 train.schedule constant constant cosine
arc_agi_1 train.task_types.learning_rate 0.01 0.01 0.01
arc_agi_1 train.task_types.weight_decay 0.1 0.1 0.3
arc_agi_1 model.positions rope rope rope2d
maze train.halting.probability - - 0.1
maze model.l_cycles 2 4 4
maze train.batch_size 384 768 64
maze train.epochs 20000.0 50000.0 10000.0
maze train.learning_rate 0.0001 0.0001 0.0005
maze train.weight_decay 1.0 1.0 1.0
maze train.schedule constant constant constant
maze model.positions rope rope rope2d
"""


def test_profile_paper_has_the_printed_hyperparameters():
    for line in HYPERPARAMETERS.strip().splitlines():
        task, key, *printed = line.split()
        for model, value in zip(("hrm", "trm", "se_rrm"), printed, strict=True):
            setting = PARAMS.run_settings(f"{task}-{model}-s0").model_dump(mode="json")
            for part in key.split("."):
                setting = setting.get(part, "-")
            assert str(setting) == value, (line, model)


def test_differences_are_in_plain_words_and_another_kind_of_part_is_one():
    train = {"steps": 1326, "epochs": None, "batch_size": 272, "halting": {"probability": 0.2}, "seed": 3}
    run = {
        "data_set": "sudoku",
        "model": {"width": 32, "same": 1},
        "train": train | {"loss": {"kind": "focal", "gamma": 2.0}},
        "fidelity": {"dropout_at_evaluation": True},
    }
    paper = {
        "data_set": "sudoku",
        "model": {"width": 256, "same": 1, "registers": 4},
        "train": train | {"epochs": 1e4, "steps": None, "halting": {"probability": 0.05}, "seed": 0},
        "fidelity": {"dropout_at_evaluation": False},
    }
    assert sorted(map(str, setting_differences(run, paper, 1000))) == [
        "dropout at evaluation on instead of off",
        "halting probability 0.2 instead of 0.05",
        "loss focal, gamma 2 instead of stablemax",
        "optimiser steps 1,326 instead of 36,764",
        "registers none instead of 4",
        "width 32 instead of 256",
    ]
