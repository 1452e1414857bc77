"""Depth that adapts, and breadth, beside fixed depth; runs in a table; names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serrm.reporting.efforts import effort_table, trained_set
from serrm.reporting.names import duration, model_name, set_name, short_number, task_name
from serrm.reporting.plain import PlainTable, plain_csv, plain_latex, plain_markdown
from serrm.reporting.runs import runs_table


def test_ways_of_spending_steps_stand_beside_fixed_depth(load, full_files, check_latex):
    table = effort_table(load(full_files)[0])
    assert [row[2:6] for row in table.rows] == [
        ("fixed depth", "1", "1", "1.00"),
        ("fixed depth", "16", "1", "16.00"),
        ("fixed depth", "64", "1", "64.00"),
        ("adaptive depth", "64", "1", "6.50"),
        ("restarts", "64", "4", "9.50"),
    ]
    assert table.rows[3][6].startswith("89.00 (")
    assert table.was_run
    assert "TRM on Sudoku" in table.notes[0]
    check_latex(plain_latex(table), 7)


def test_without_them_the_table_says_not_run(load, full_files):
    for file in full_files:
        file.pop("adaptive", None)
        file.pop("breadth", None)
    table = effort_table(load(full_files)[0])
    assert not table.was_run
    assert table.rows[0][3:] == ("not run",) * 4


def test_the_set_trained_for(load, full_files):
    results = load(full_files)[0]
    assert trained_set(results["sudoku", "se_rrm"][0]).num_puzzles == 500
    assert trained_set(results["maze", "trm"][0]).num_puzzles == 100


def test_runs_have_a_line_each(load, full_files, check_latex):
    full_files[0]["training"] |= {
        "device": "cuda",
        "peak_memory_bytes": 3 * 2**29,
        "operations": 7_123_456_789_012,
    }
    table = runs_table(load(full_files)[0])
    assert len(table.rows) == len(full_files)
    assert table.rows[0] == (
        *("Sudoku", "SE-RRM", "0", "171,264 + 256", "1,000", "900", "28,800", "7.1e12"),
        *("2 min 58 s", "161", "1.50 GiB", "0.300", "cuda"),
    )
    assert table.rows[1][-3:] == ("—", "0.300", "—")
    assert table.rows[1][7] == "—"  # a metric file from before operations were counted
    check_latex(plain_latex(table), 13)


@given(st.lists(st.text(st.characters(exclude_categories=["Cc", "Cs"])), min_size=2, max_size=2))
def test_any_words_fit_into_a_plain_table(words):
    table = PlainTable("9", "t", "c", ("a", "b"), (tuple(words),))
    lines = [line for line in plain_markdown(table).splitlines() if line.startswith("|")]
    assert len(lines) == 3
    assert plain_latex(table).count(r" \\" + "\n") == 2
    assert len(plain_csv(table).splitlines()) >= 2


@pytest.mark.parametrize(
    ("seconds", "words"), [(3.4, "3 s"), (59.7, "1 min 0 s"), (178.3, "2 min 58 s"), (3725.0, "1 h 2 min")]
)
def test_durations(seconds, words):
    assert duration(seconds) == words


def test_names():
    assert [task_name(task) for task in ("sudoku", "arc_agi_2", "other")] == ["Sudoku", "ARC-AGI-2", "other"]
    assert [model_name(model) for model in ("trm_mlp", "mine")] == ["TRM with MLP-mixer", "mine"]
    assert [set_name(name) for name in ("9x9", "evaluation")] == ["9×9", "evaluation"]
    assert [short_number(n) for n in (7.5, 1200.0, 3e6, 2.5e9)] == ["7.5", "1.2k", "3M", "2.5G"]
