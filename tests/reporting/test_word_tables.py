"""Tables of words: depth that adapts, and breadth; demonstration pairs; runs. Names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serrm.reporting.names import duration, model_name, set_name, short_number, task_name
from serrm.reporting.tables import Table
from serrm.reporting.word_tables import word_tables
from serrm.reporting.writers import to_csv, to_latex, to_markdown


@pytest.fixture
def tables(load):
    return lambda files: {table.number: table for table in word_tables(load(files)[0])}


def test_ways_of_spending_steps_stand_beside_fixed_depth(tables, full_files, check_latex):
    table = tables(full_files)["2-effort"]
    assert [row[2:6] for row in table.rows] == [
        ("fixed depth", "1", "1", "1.00"),
        ("fixed depth", "16", "1", "16.00"),
        ("fixed depth", "64", "1", "64.00"),
        ("adaptive depth", "64", "1", "6.50"),
        ("restarts", "64", "4", "9.50"),
    ]
    assert table.rows[3][6].startswith("89.00 (")
    assert table.was_run
    assert "TRM on Sudoku" in table.notes[0].text
    check_latex(to_latex(table), 7)


def test_every_table_of_scores_says_which_puzzles(report, full_files):
    """A set that stands in for another must not pass for it anywhere."""
    for file in full_files:
        file["data"]["source"] = f"a substitute for {file['task']}"
    tables = report(full_files).tables
    for task, numbers in {"sudoku": ("1", "2", "2-effort"), "maze": ("3", "3-mazes")}.items():
        assert all(f"a substitute for {task}" in to_markdown(tables[number]) for number in numbers)
    assert "Data (SE-RRM on Sudoku): a substitute" in to_markdown(tables["2-effort"])
    for number in ("runs", "claims", "3-demonstrations"):
        assert "a substitute for arc\\_agi\\_1" in to_markdown(tables[number])


def test_pairs_reproduced_stand_beside_pass_at_k(tables, full_files, check_latex):
    table = tables(full_files)["3-demonstrations"]
    first, last = table.rows[:2]
    assert first[:3] == ("ARC-AGI-1", "SE-RRM", "1") and last[2] == "16"
    assert last[3].startswith("30.00 (") and last[3].endswith("n 64")
    assert last[4].startswith("90.00 (") and last[4].endswith("n 900")
    assert last[5] == "20 evaluation puzzles"
    assert last[6].startswith("30.0") and first[6] == "—", "pass@k of that depth, where there is one"
    check_latex(to_latex(table), len(table.stub))


def test_older_metric_files_say_not_run(tables, full_files):
    for file in full_files:
        file |= {"adaptive": [], "breadth": []}
        for part in file["sets"].values():
            part.pop("demonstrations", None)
    found = tables(full_files)
    for number, empty in (("2-effort", 4), ("3-demonstrations", 5)):
        assert not found[number].was_run
        assert found[number].rows[0][3:] == ("not run",) * empty


def test_runs_have_a_line_each(tables, full_files):
    more = {"device": "cuda", "peak_memory_bytes": 3 * 2**29, "operations": 7_123_456_789_012}
    full_files[0]["training"] |= more
    table = tables(full_files)["runs"]
    assert len(table.rows) == len(full_files)
    assert table.rows[0] == (
        *("Sudoku", "SE-RRM", "0", "171,264 + 256", "1,000", "900", "28,800", "7.1e12"),
        *("2 min 58 s", "161", "1.50 GiB", "0.300", "cuda"),
    )
    assert table.rows[1][-3:] == ("—", "0.300", "—")
    assert table.rows[1][7] == "—"  # a metric file from before operations were counted


@given(st.lists(st.text(st.characters(exclude_categories=["Cc", "Cs"])), min_size=2, max_size=2))
def test_any_words_fit_into_a_table(words):
    table = Table("9", "t", "c", ("a", "b"), (tuple(words),))
    lines = [line for line in to_markdown(table).splitlines() if line.startswith("|")]
    assert len(lines) == 3
    assert to_latex(table).count(r" \\" + "\n") == 2
    assert len(to_csv(table).splitlines()) >= 2


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
