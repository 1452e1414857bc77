"""Tables 1 and 2 from metric files: what stands in which cell, and in all three formats."""

import csv
import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serrm.reporting.cells import Comparison, Reading
from serrm.reporting.paper import load_paper
from serrm.reporting.results import load_results
from serrm.reporting.tables import build_table
from serrm.reporting.writers import escape, to_csv, to_latex, to_markdown

PRINTED = load_paper().score_tables | load_paper().extension_tables


@pytest.fixture
def results(cells, metrics):
    return load_results(cells, metrics)


@pytest.fixture
def table(results):
    return build_table("1", PRINTED["1"], results)


@pytest.fixture
def notes(table):
    return [note.text for note in table.notes]


def rows_of(table):
    return {row.name: row.cells for row in table.models}


def test_rows_are_the_papers_then_the_other_variants(table):
    assert [row.name for row in table.models] == ["HRM", "TRM", "SE-RRM", "GPT-OSS-20B", "se_rrm_wide"]


def test_what_was_not_run_is_said_and_never_a_number(table):
    assert {(cell.ours.words, cell.ours.value) for cell in rows_of(table)["HRM"]} == {("not run", None)}
    # 4×4 is not in the metric files of the models that were run.
    assert [cell.ours.words for cell in rows_of(table)["SE-RRM"]][:2] == ["not run", "not run"]


def test_a_size_that_a_model_cannot_take_is_said_with_its_reason(table, notes):
    assert {cell.ours.words for cell in rows_of(table)["TRM"][4:]} == {"cannot extrapolate"}
    assert "Cannot extrapolate (TRM on 16×16, TRM on 25×25): no embedding for the digits above 9." in notes


def test_seeds_become_mean_and_standard_deviation(table):
    ours = rows_of(table)["SE-RRM"][2].ours
    assert (str(ours.value), str(ours.sd), ours.num_seeds, ours.num_puzzles) == ("63.00", "4.24", 2, 500)
    # The interval spans 60% and 66% of 500, each with its own.
    assert ours.lo < 60 < 66 < ours.hi


def test_parted_intervals_are_marked(table):
    assert rows_of(table)["SE-RRM"][2].side == "below"
    assert rows_of(table)["SE-RRM"][4].side == "above"
    assert rows_of(table)["TRM"][2].side == ""


reading_bounds = st.tuples(st.decimals(0, 100, places=2), st.decimals(0, 100, places=2)).map(sorted)


@given(reading_bounds, reading_bounds)
def test_intervals_part_exactly_when_they_share_no_point(ours, paper):
    comparison = Comparison(Reading(lo=ours[0], hi=ours[1]), Reading(lo=paper[0], hi=paper[1]))
    swapped = Comparison(comparison.paper, comparison.ours)
    assert (comparison.side == "") == (max(ours[0], paper[0]) <= min(ours[1], paper[1]))
    assert {"": "", "above": "below", "below": "above"}[comparison.side] == swapped.side


def test_notes_say_what_ours_were_measured_on(notes):
    who = "SE-RRM, TRM, se_rrm_wide"
    assert f"Data ({who}): generated 9×9 puzzles with 30 to 45 clues; 1,000 training puzzles." in notes
    said = "Width 64 instead of 256. Batch 32 & rate 1% higher."
    assert f"Differs from the paper's recipe ({who}): {said}" in notes
    assert any(note.startswith("SE-RRM (seeds 0, 1): 171,264 parameters (171,520 with") for note in notes)
    assert any(note.startswith("se_rrm_wide (seed 0): se_rrm with 171,264 parameters") for note in notes)
    blanks = "9×9 44 blanks (paper: about 56), 16×16 44 blanks (paper: about 164), 25×25 44 blanks (paper: about 123)"
    assert f"Sudoku puzzles, on average: {blanks}." in notes


def test_what_the_paper_has_bold_is_bold(table, notes):
    assert "| **93.73 (93.66–93.81)** |" in to_markdown(table)
    assert r"$\mathbf{93.73}^{(\text{93.66--93.81})}$" in to_latex(table)
    assert "Bold: the best recurrent model, as the paper marks it." in notes


@pytest.mark.parametrize("number", ["A5", "A6"])
def test_no_remark_promises_a_row_that_is_hidden(number, results):
    table = build_table(number, PRINTED[number], results)
    assert any(note.text.endswith("a row of its own where it was run.") for note in table.notes)
    assert not any("aligned" in f"{row.name} {row.attributes}" for row in table.models)


def test_an_optional_row_appears_where_it_was_run(metrics, cells):
    trm = (metrics / "sudoku-trm-s0.json").read_text(encoding="utf-8")
    (metrics / "sudoku-trm_mlp-s0.json").write_text(trm.replace('"trm"', '"trm_mlp"'), encoding="utf-8")
    results = load_results([*cells, ("sudoku", "trm_mlp", 0)], metrics)
    table = build_table("1", PRINTED["1"], results)
    paper = rows_of(table)["TRM with MLP-mixer"][2].paper
    assert str(paper.value) == "87.4"
    assert "87.4<sup>4,†</sup>" in to_markdown(table)


@pytest.fixture
def full_results(load, full_files):
    return load(full_files)[0]


def test_a_set_of_another_size_stands_in_where_it_is_the_only_one(full_results):
    table = build_table("3", PRINTED["3"], full_results)
    assert str(rows_of(table)["SE-RRM"][2].ours.value) == "80.00"
    assert "Maze: 10×10 here, 30×30 in the paper." in [note.text for note in table.notes]
    # Sudoku has several sets, and a missing one is missing.
    assert rows_of(build_table("1", PRINTED["1"], full_results))["SE-RRM"][0].ours.words == "not run"


def test_extensions_show_what_the_paper_does_not_print(full_results):
    mazes = rows_of(build_table("3-mazes", PRINTED["3-mazes"], full_results))["SE-RRM"]
    assert [str(cell.ours.value) for cell in mazes] == ["80.00", "64.00", "30.00", "90.00"]
    assert [cell.paper.words for cell in mazes] == ["", "—", "—", "—"]
    types = build_table("3-task_types", PRINTED["3-task_types"], full_results)
    own, blank, random, *_ = rows_of(types)["TRM"]
    assert [str(own.ours.value), str(blank.ours.value), random.ours.words] == ["25.05", "5.01", "not run"]


@pytest.mark.parametrize("number", list(PRINTED))
def test_every_table_of_the_paper_can_be_written(number, results, check_latex):
    table = build_table(number, PRINTED[number], results)
    lines = [line for line in to_markdown(table).splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1
    assert len(lines) == 2 + 2 * len(table.models)
    cells = list(csv.DictReader(io.StringIO(to_csv(table))))
    assert len(cells) == len(table.rows) * len(table.columns)
    check_latex(to_latex(table), len(table.stub) + len(table.columns))


@given(st.text())
def test_any_text_is_escaped_for_latex(text):
    escaped = escape(text)
    bare = re.sub(r"\\(textbackslash|textasciitilde|textasciicircum)\{\}|\$[^$]*\$|\\[&%$#_{}]", "", escaped)
    assert not set(bare) & set("\\&%$#_{}~^")
    assert all(ord(character) < 0x180 for character in escaped)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (None, "has this cell been evaluated"),
        ("{", "file: Invalid JSON"),
        ('{"profile": "test"}', "task: Field required"),
        ({"sets": {"9x9": {"status": "lost"}}}, "sets/9x9"),
        ({"seed": 7}, "holds sudoku, trm, seed 7"),
    ],
)
def test_a_bad_metric_file_is_named_in_one_line(metrics, cells, text, named):
    path = metrics / "sudoku-trm-s0.json"
    source = json.loads(path.read_text(encoding="utf-8"))
    if text is None:
        path.unlink()
    else:
        path.write_text(text if isinstance(text, str) else json.dumps(source | text), encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(named)) as raised:
        load_results(cells, metrics)
    assert str(raised.value).startswith(str(path))
    assert "\n" not in str(raised.value)
