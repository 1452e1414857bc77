"""The paper's numbers: some read back by hand, and every printed interval recomputed as its kind says."""

from decimal import Decimal
from math import floor

import pytest
from pydantic import ValidationError
from scipy.stats import binomtest

from serrm.reporting.paper import PaperCell, load_paper
from serrm.scoring.metrics import wilson

PAPER = load_paper()


PRINTED = """
1 0 9x9/fsr 63.53 (63.38-63.67)
1 1 4x4/gpa 45.88 (43.96-47.79)
1 2 9x9/fsr 87.4
1 3 9x9/gpa 97.58 (97.54-97.63)
1 3 16x16/gpa 51.95 (51.43-52.47)
1 3 25x25/fsr 0 (0-8.38)
1 4 9x9/fsr 21.67 (13.12-33.62)
2 0 128 68.15
2 1 16 71.95
2 2 1 16.05
3 1 arc_agi_2 7.8 (4.0-13.64)
3 2 maze 88.8 (86.64-90.65)
A5 1 arc_agi_1 34.8 (30.25-39.54)
A6 3 maze 59.3 (56.23-62.30)
A6 6 sudoku 95.4 (95.32-95.45)
A7 3 sudoku 89.7 (89.61-89.79)
"""  # table, row, column, cell


def test_numbers_are_the_printed_ones():
    for line in PRINTED.strip().splitlines():
        table, row, column, printed = line.split(maxsplit=3)
        assert PAPER.score_tables[table].rows[int(row)].cells[column].printed == printed


def test_tables_hold_all_cells_of_the_paper():
    num_cells = {
        number: sum(len(row.cells) for row in table.rows) for number, table in PAPER.score_tables.items()
    }
    assert num_cells == {"1": 33, "2": 24, "3": 9, "A5": 6, "A6": 16, "A7": 8}
    num_rows = {number: len(table.rows) for number, table in PAPER.hyperparameter_tables.items()}
    assert num_rows == {"A2": 12, "A3": 14, "A4": 12}


def recomputable():
    for number, table in PAPER.score_tables.items():
        for row in table.rows:
            for key, cell in row.cells.items():
                kind = cell.interval or table.columns[key].interval
                if cell.numbers[1:] and kind != "blank_cells":
                    num = cell.num or table.columns[key].num
                    yield pytest.param(cell, kind, num, id=f"{number}-{row.name}-{key}-{cell.printed}")


def at_digits_of(printed, percent):
    return Decimal(percent).quantize(printed)


def ends(kind, successes, num):
    if kind != "continuity":
        return wilson(successes, num)
    interval = binomtest(successes, num).proportion_ci(method="wilsoncc")
    return interval.low, interval.high


@pytest.mark.parametrize(("cell", "kind", "num"), list(recomputable()))
def test_printed_intervals_are_of_their_kind(cell, kind, num):
    """Some number of successes that is printed as the value gives both ends, digit by digit."""
    value, *printed = map(Decimal, cell.numbers)
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


def test_tables_hang_together():
    for table in PAPER.score_tables.values():
        assert {key for row in table.rows for key in row.cells} <= table.columns.keys()
        assert {len(row.attributes) for row in table.rows} == {len(table.attributes)}
        cells = [cell for row in table.rows for cell in row.cells.values()]
        marks = {mark for part in (*table.columns.values(), *table.rows, *cells) for mark in part.marks}
        assert marks == table.remarks.keys()
    for table in PAPER.hyperparameter_tables.values():
        assert {len(row.cells) for row in table.rows.values()} == {len(table.columns)}
    tied = PAPER.score_tables["A7"].rows[2]
    assert (tied.variant_of("sudoku"), tied.variant_of("maze")) == ("se_rrm", "se_rrm_tied")


def test_a_cell_is_quoted_text_of_the_papers_form():
    assert PaperCell.model_validate("1.0 (0.5-2.0)").numbers == ("1.0", "0.5", "2.0")
    for faulty in ("1.0 (0.5 to 2.0)", 1.0, {"printed": "1", "surplus": 1}):
        with pytest.raises(ValidationError):
            PaperCell.model_validate(faulty)
