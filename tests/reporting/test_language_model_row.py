"""A language model is a row of table 1 and of no other, refusals in words as in the paper's footnotes."""

import json

import pytest

from serrm.reporting.headline import headline
from serrm.reporting.paper import load_paper
from serrm.reporting.render import to_markdown
from serrm.reporting.results import load_language_models, load_results
from serrm.reporting.tables import build_table
from serrm.scoring.intervals import wilson


def asked_set(num_puzzles, num_answered, num_solved):
    low, high = wilson(num_solved, num_puzzles)
    scores = {"fsr": num_solved / num_puzzles, "fsr_lo": low, "fsr_hi": high}
    if num_answered:
        scores |= {"gpa_answered": 0.75, "gpa_answered_lo": 0.5, "gpa_answered_hi": 0.875}
    if num_answered == num_puzzles:
        scores |= {"gpa": 0.75, "gpa_lo": 0.5, "gpa_hi": 0.875}
    return {"status": "asked", "num_puzzles": num_puzzles, "num_answered": num_answered, "scores": scores}


@pytest.fixture
def asked(metrics):
    """The folder of metrics with a language model among the others."""
    file = {
        "profile": "test",
        "task": "sudoku",
        "model": "gpt_oss_20b",
        "seed": 0,
        "model_info": {"family": "language_model", "parameters": 0, "parameters_with_task_types": 0},
        "training": {"steps": 0, "samples": 0, "seconds": 0.0},
        "data": {"source": "not trained here", "train_puzzles": 0},
        "deviations": [],
        "learning_curve": [],
        "notes": ["asked over a chat API as gpt-oss"],
        "sets": {"4x4": asked_set(288, 288, 288), "9x9": asked_set(60, 40, 13), "16x16": asked_set(8, 0, 0)},
    }
    (metrics / "sudoku-gpt_oss_20b-s0.json").write_text(json.dumps(file))
    return metrics


def test_a_language_model_fills_its_row_of_table_1(cells, asked):
    results = load_results(cells, asked) | load_language_models(asked)
    table = build_table("1", load_paper().score_tables["1"], results)
    (row,) = [row for row in table.rows if row.variant == "gpt_oss_20b"]
    assert row.name == "GPT-OSS-20B"
    ours = [cell.ours for cell in row.cells]
    assert [str(reading.value) for reading in ours[:3]] == ["100.00", "75.00", "21.67"]
    assert (str(ours[2].lo), str(ours[2].hi), ours[2].num_puzzles) == ("13.12", "33.62", 60)
    assert [reading.words for reading in ours[3:]] == ["not computed", *["no answer"] * 2, *["not run"] * 2]
    text = to_markdown(table)
    assert "GPT-OSS-20B: asked over a chat API as gpt-oss." in text
    assert "0 parameters" not in text


def test_it_is_in_no_other_table_and_in_no_result_of_the_cells(cells, asked):
    assert load_language_models(asked).keys() == {("sudoku", "gpt_oss_20b")}
    assert ("sudoku", "gpt_oss_20b") not in load_results(cells, asked)


def test_the_headline_has_its_row(cells, asked):
    assert "13.12–33.62" in headline("test", cells, asked, [])


def test_a_malformed_file_is_named(asked):
    path = asked / "sudoku-gpt_oss_20b-s0.json"
    path.write_text(path.read_text().replace('"num_answered"', '"number"', 1))
    with pytest.raises(ValueError, match=r"sudoku-gpt_oss_20b-s0\.json: sets"):
        load_language_models(asked)
