"""The scores one looks at first: on the terminal, in the README."""

import io
import subprocess
from pathlib import Path

import pytest
from rich.console import Console

from serrm.config import read_params
from serrm.reporting.headline import BEGIN, END, headline_table, page_table, replace_table
from serrm.reporting.results import load_results


def shown(cells, metrics):
    """The headline as it is printed, off a terminal."""
    grid, notes = headline_table("test", cells, metrics)
    text = io.StringIO()
    Console(file=text, width=110, highlight=False).print(grid)
    return "\n".join([text.getvalue(), *notes])


ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("profile", ["laptop", "published"])
def test_the_readme_holds_the_numbers_of_the_committed_metric_files(profile):
    metrics = ROOT / "reports" / profile / "metrics"
    changed = ["git", "-C", str(ROOT), "status", "--porcelain", str(metrics)]
    if subprocess.run(changed, capture_output=True, check=False).stdout:
        pytest.skip("the pipeline was run since")
    page = (ROOT / "README.md").read_text()
    cells = read_params(ROOT / "profiles" / f"{profile}.yaml").cells()
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
