"""Tables: what stands where, in which words, and how it is written; what is refused."""

import json
import re

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serrm.reporting.names import duration
from serrm.reporting.paper import load_paper
from serrm.reporting.results import load_results
from serrm.reporting.settings import CellSettings
from serrm.reporting.tables import Table, build_tables, numbered, paper_cells, to_csv, to_latex, to_markdown
from serrm.reporting.tabulate import Places, tabulate
from tests.reporting.conftest import CELLS, MADE, paper_files, write_metrics


@pytest.fixture
def tables(report):
    """The tables of some metric files, by name."""
    return lambda files: {table.name: table for table in build_tables(report(files))}


def line_of(table, **labels):
    """The one line with these labels."""
    frame = table.frame
    for name, label in labels.items():
        frame = frame[frame[name] == label]
    (line,) = frame.to_dict("records")
    return line


def test_metric_files_of_the_papers_numbers_give_the_papers_tables(report):
    results = report(paper_files()).results
    tables = load_paper().score_tables
    cells = [
        cell for table in tables.values() for cell in paper_cells(table, results) if cell.printed.numbers
    ]
    assert len(cells) == 83
    for cell in cells:
        # Table 2 prints 71.95 where table 1 prints 71.94, and tables A6 and A7 one digit less than tables 1 and 3.
        assert abs(cell.score.value - float(cell.printed.numbers[0])) < 0.051
        if cell.printed.numbers[1:]:
            assert [cell.score.low, cell.score.high] == [float(end) for end in cell.printed.numbers[1:]]


def test_a_table_has_few_columns_and_notes_and_its_marks_in_order(tables, made):
    found = tables(made).values()
    for table in found:
        assert len(table.frame.columns) <= 8 and len(table.notes) <= 6
        words = "".join([*table.frame.columns, *table.frame.to_numpy().ravel()])
        marks = list(dict.fromkeys(re.findall("[¹²³⁴⁵⁶]", words)))
        assert (
            marks == list("¹²³⁴⁵⁶"[: len(marks)]) == [note[0] for note in table.notes if note[0] in "¹²³⁴⁵⁶"]
        )
    assert len({table.name for table in found}) == 15
    assert len(tables(made)["compute"].frame) <= 20


def test_arrows_compare_the_same_puzzles_alone(tables, made):
    """The made 4×4 and ARC-AGI puzzles are the published ones; 9×9, 16×16 and mazes are fewer or made."""
    table = tables(made)["table1"]
    small, large, largest = (
        line_of(table, Model="SE-RRM", Grid=name) for name in ("4×4 Mini", "9×9", "16×16 Maxi")
    )
    assert (
        small["FSR, ours"].endswith(" ↑")
        and "↓" not in large["FSR, ours"]
        and "↑" not in largest["FSR, ours"]
    )
    assert line_of(tables(made)["table3"], Model="SE-RRM")["ARC-AGI-1, ours"].endswith(" ↓")
    for file in made.values():
        file["data"]["source"] = "generated puzzles"
    assert not re.search("[↑↓]", "".join(map(to_csv, tables(made).values())))


def test_a_line_of_ours_is_labelled_by_what_was_run(tables, made, settings):
    ours = {"Model": "SE-RRM", "Side": "ours"}
    assert line_of(tables(made)["tableA6"], **ours)["Hyperparameters"] == "other"
    assert tables(made)["tableA5"].frame["Model"].tolist()[-1] == "SE-RRM"
    settings.here["sudoku", "se_rrm"]["train"] |= {
        "batch_size": 768,
        "learning_rate": 1e-4,
        "weight_decay": 1.0,
    }
    settings.here["maze", "se_rrm"]["train"] |= {"batch_size": 64, "learning_rate": 5e-4, "weight_decay": 1.0}
    settings.here["sudoku", "se_rrm"]["model"]["symbols"] = "untied"
    assert line_of(tables(made)["tableA6"], **ours)["Hyperparameters"] == "TRM / SE-RRM"
    lines = tables(made)["tableA7"].frame.to_dict("records")
    assert {line["Symbol equivariance"] for line in lines if line["Side"] == "ours"} == {"False"}


def test_only_what_was_run_has_a_table(tables, made):
    found = tables({key: file for key, file in made.items() if key == ("sudoku", "se_rrm_wide", 0)})
    assert found.keys() == {"variants", "runs"}
    line = line_of(found["variants"], Puzzles="16×16")
    assert (line["Steps"], line["Solved"][:5], line["n"]) == ("16", "50.00", "32")


def test_a_set_of_another_size_stands_in_where_it_is_the_only_one(tables, made):
    assert line_of(tables(made)["table3"], Model="SE-RRM")["Maze, ours"].startswith("80.00")
    assert "Maze 10×10 (paper: 30×30), n 100 (paper: 1,000)" in tables(made)["table3"].notes[-1]
    del made["sudoku", "hrm", 0]["sets"]["4x4"]
    assert line_of(tables(made)["table1"], Model="HRM", Grid="4×4 Mini")["FSR, ours"] == "—"


def test_hyperparameters_are_marked_where_they_differ(tables, made, settings):
    lines = {line["Hyperparameter"]: line for line in tables(made)["tableA2"].frame.to_dict("records")}
    assert lines["Batch size"]["TRM, paper"] == "768" and lines["Batch size"]["TRM, ours"] == "32 ≠"
    assert lines["Deep supervision steps"]["TRM, ours"] == "16"
    assert lines["Parameters"]["HRM, ours"] == "214,530 ≠"
    made["sudoku", "hrm", 0]["model_info"]["parameters"] = 27_275_266
    (line,) = (
        line
        for line in tables(made)["tableA2"].frame.to_dict("records")
        if line["Hyperparameter"] == "Parameters"
    )
    assert line["HRM, ours"] == "27,275,266"


def test_compute_is_of_three_models_and_two_ways(tables, made):
    frame = tables(made)["compute"].frame
    assert frame["Way"].unique().tolist() == ["first verified answer", "guesses"]
    line = frame[(frame["Model"] == "SE-RRM") & (frame["Attempts"] == "≤ 64")].iloc[0]
    # 9.25 steps of 176 MFLOPs each.
    assert (line["Mean steps"], line["GFLOPs a puzzle"], line["Solved"][:5]) == ("9.25", "1.62", "93.00")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(3.4, "3 s"), (59.7, "1 min 0 s"), (178.3, "2 min 58 s"), (3725.0, "1 h 2 min"), (4316.9, "1 h 12 min")],
)
def test_durations_are_rounded(seconds, words):
    assert duration(seconds) == words


text = st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="^[]"))


@given(text, text)
def test_any_words_fit_into_a_table(first, second):
    table = Table("t", "t", "c", pd.DataFrame([[first, second]], columns=["a", "b"]))
    lines = [line for line in to_markdown(table).splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines[:2]} == {3}
    bare = re.sub(
        r"\\(textbackslash|textasciitilde|textasciicircum)\{\}|\$[^$]*\$|\\[&%$#_{}]", "", to_latex(table)
    )
    row = bare[bare.index("midrule") : bare.index(r"\bottomrule")].removeprefix("midrule").strip()
    assert row.count("&") == 1 and not set(row.removesuffix("\\\\")) & set("%$#_~^")


@given(st.lists(st.sampled_from("abc"), max_size=6))
def test_marks_become_numbers_in_order(marks):
    frame = pd.DataFrame(
        [[f"x[^{mark}]" for mark in marks]], columns=[f"column {n}" for n in range(len(marks))]
    )
    frame, notes = numbered(frame, {mark: mark for mark in "abc"})
    order = list(dict.fromkeys(marks))
    assert notes == [f"{'¹²³'[place]} {mark}" for place, mark in enumerate(order)]
    assert [cell[1] for row in frame.to_numpy() for cell in row] == [
        "¹²³"[order.index(mark)] for mark in marks
    ]


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (None, "has this run been evaluated"),
        ("{", "file: Invalid JSON"),
        ('{"profile": "test"}', "task: Field required"),
        ({"sets": {"9x9": {"status": "lost"}}}, "sets/9x9"),
        ({"seed": 7}, "holds sudoku, trm, seed 7"),
    ],
)
def test_a_bad_metric_file_is_named_in_one_line(made, tmp_path, content, named):
    path = write_metrics(made, tmp_path) / "sudoku-trm-s0.json"
    if content is None:
        path.unlink()
    else:
        source = made["sudoku", "trm", 0]
        path.write_text(
            content if isinstance(content, str) else json.dumps(source | content), encoding="utf-8"
        )
    with pytest.raises(ValueError, match=re.escape(named)) as raised:
        load_results(CELLS, tmp_path)
    assert str(raised.value).startswith(str(path)) and "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("profile", "cells", "has_settings", "named"),
    [
        ("paper", CELLS, True, "sudoku-hrm-s0 is of profile made, not paper"),
        ("made", CELLS, False, "no resolved settings of sudoku-hrm"),
        ("made", [], True, "profile made has no runs"),
    ],
)
def test_what_does_not_belong_together_is_refused(settings, tmp_path, profile, cells, has_settings, named):
    write_metrics({}, tmp_path)
    (tmp_path / "metrics").symlink_to(MADE / "metrics")
    with pytest.raises(ValueError, match=named):
        tabulate(profile, cells, settings if has_settings else CellSettings(), Places(tmp_path, tmp_path), {})


def test_outputs_are_replaced_and_not_written_through(settings, tmp_path):
    (tmp_path / "metrics").symlink_to(MADE / "metrics")
    (tmp_path / "elsewhere.html").write_text("kept")
    (tmp_path / "report.html").symlink_to(tmp_path / "elsewhere.html")
    tabulate("made", CELLS, settings, Places(tmp_path, tmp_path), {})
    assert (tmp_path / "elsewhere.html").read_text() == "kept" and not (tmp_path / "report.html").is_symlink()


def test_curves_and_scores_hold_every_point(written):
    results = load_results(CELLS, written / "metrics")
    runs = [run for seeds in results.values() for run in seeds]
    depth, learning = (
        (written / "curves" / f"{name}.csv").read_text().splitlines() for name in ("depth", "learning")
    )
    assert (
        depth[0] == "panel,model,steps,solved,gpa"
        and learning[0] == "panel,model,step,samples,loss,solved,gpa"
    )
    assert len(depth) - 1 == sum(len(part.steps) for run in runs for part in run.scored.values())
    assert len(learning) - 1 == sum(len(run.learning_curve) for run in runs)
    scores = json.loads((written / "scores.json").read_text())
    assert scores["sudoku-trm-s0"]["9x9"] == {"fsr": 31.0, "gpa": 65.5}
    assert scores.keys() == {run.name for run in runs}
