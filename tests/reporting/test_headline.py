"""The scores one looks at first: on the terminal, in the README; a language model as a row of table 1."""

import io
import json
import subprocess
from pathlib import Path

import pytest
from rich.console import Console

from serrm.config import grid_of, read_params
from serrm.reporting.headline import BEGIN, END, headline_table, page_table, replace_table
from serrm.reporting.paper import load_paper
from serrm.reporting.results import load_language_models, load_results
from serrm.reporting.tables import build_table
from serrm.reporting.writers import to_markdown
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
    file = json.loads((metrics / "sudoku-trm-s0.json").read_text())
    file |= {"model": "gpt_oss_20b", "learning_curve": [], "notes": ["asked over a chat API as gpt-oss"]}
    file["model_info"] = {"family": "language_model", "parameters": 0, "parameters_with_task_types": 0}
    file["sets"] = {
        "4x4": asked_set(288, 288, 288),
        "9x9": asked_set(60, 40, 13),
        "16x16": asked_set(8, 0, 0),
    }
    (metrics / "sudoku-gpt_oss_20b-s0.json").write_text(json.dumps(file))
    return metrics


def shown(cells, metrics):
    """The headline as it is printed, off a terminal."""
    grid, notes = headline_table("test", cells, metrics)
    text = io.StringIO()
    Console(file=text, width=110, highlight=False).print(grid)
    return "\n".join([text.getvalue(), *notes])


def test_a_language_model_fills_its_row_of_table_1(cells, asked):
    results = load_results(cells, asked) | load_language_models(asked)
    table = build_table("1", load_paper().score_tables["1"], results)
    (row,) = [row for row in table.models if row.variant == "gpt_oss_20b"]
    assert row.name == "GPT-OSS-20B"
    ours = [cell.ours for cell in row.cells]
    assert [str(reading.value) for reading in ours[:3]] == ["100.00", "75.00", "21.67"]
    assert (str(ours[2].lo), str(ours[2].hi), ours[2].num_puzzles) == ("13.12", "33.62", 60)
    assert [reading.words for reading in ours[3:]] == ["not computed", *["no answer"] * 2, *["not run"] * 2]
    text = to_markdown(table)
    assert "GPT-OSS-20B: asked over a chat API as gpt-oss." in text
    assert "0 parameters" not in text


def test_the_headline_has_its_row_and_no_result_of_the_cells_is_one(cells, asked):
    assert "13.12–33.62" in shown(cells, asked)
    assert load_language_models(asked).keys() == {("sudoku", "gpt_oss_20b")}


def test_a_malformed_file_is_named(asked):
    path = asked / "sudoku-gpt_oss_20b-s0.json"
    path.write_text(path.read_text().replace('"num_answered"', '"number"', 1))
    with pytest.raises(ValueError, match=r"sudoku-gpt_oss_20b-s0\.json: sets"):
        load_language_models(asked)


ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("profile", ["laptop", "published"])
def test_the_readme_holds_the_numbers_of_the_committed_metric_files(profile):
    metrics = ROOT / "reports" / profile / "metrics"
    changed = ["git", "-C", str(ROOT), "status", "--porcelain", str(metrics)]
    if subprocess.run(changed, capture_output=True, check=False).stdout:
        pytest.skip("the pipeline was run since")
    page = (ROOT / "README.md").read_text()
    cells = grid_of(read_params(ROOT / "params.yaml"), profile).cells()
    assert replace_table(page, profile, cells, metrics, "README.md") == page


def test_only_what_ran_is_on_the_page_ours_beside_the_papers(metrics, cells):
    table = page_table("test", cells, load_results(cells, metrics), "README.md")
    lines = [line for line in table.splitlines() if line.startswith("|")]
    assert {len(line.split("|")) for line in lines} == {3 + 2 + 2 + 1}, "the paper has no se_rrm_wide"
    assert "not run" not in "".join(lines) and not any(line.startswith("| ARC") for line in lines)
    for words in (
        "63.00 ± 4.24",
        "93.73",
        "171,264",
        "cannot extrapolate",
        "--profile test --write README.md",
        "Sudoku 16×16, 44 blanks (paper: about 164), n 32",
        "Our puzzles: Sudoku: generated 9×9 puzzles with 30 to 45 clues.",
    ):
        assert words in table


def test_a_page_without_its_two_markers_is_refused(metrics, cells):
    begin, end = BEGIN.format("test"), END.format("test")
    for page in ("", begin, f"{end}\n{begin}", f"{begin}{end}{end}"):
        with pytest.raises(ValueError, match="no place for the table"):
            replace_table(page, "test", cells, metrics, "README.md")
    page = replace_table(f"a\n{begin}\nold\n{end}\nz", "test", cells, metrics, "README.md")
    assert page.startswith(f"a\n{begin}\n|") and page.endswith(f"{end}\nz") and "old" not in page


def test_headline_shows_what_ran_beside_the_paper(metrics, cells):
    text = shown(cells, metrics)
    assert all(words in text for words in ("63.00 ± 4.24", "93.73", "cannot extrapolate"))
    assert "HRM" not in text
    assert "Data (SE-RRM, TRM, se_rrm_wide): generated 9×9 puzzles with 30 to 45 clues" in text
    assert "\x1b" not in text
