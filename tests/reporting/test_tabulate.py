"""The stage's entry: all files, the same bytes each time; and the headline."""

import shutil
from itertools import product
from pathlib import Path

import pytest

from serrm.reporting.settings import CellSettings
from serrm.reporting.tabulate import Places, tabulate

NUMBERS = "1 2 3 A2 A3 A4 A5 A6 A7 2-effort 3-arc 3-demonstrations 3-mazes 3-task_types"
TABLES = {"claims", "runs", *(f"table{number}" for number in NUMBERS.split())}
OF_PERMUTED = {"equivariance", "recoloured"}
FIGURES = {"architecture", "compute", "depth", "learning_curves"} | OF_PERMUTED


def written(root):
    paths = [*(root / "tables").iterdir(), *(root / "figures").iterdir(), root / "report.html"]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}


def test_all_files_are_written_and_equal_each_time(full_report, tmp_path, full_files, full_settings):
    first = written(full_report)
    assert set(first) == {
        "report.html",
        *(f"tables/{name}.{suffix}" for name, suffix in product(TABLES, ("md", "csv", "tex"))),
        *(f"figures/{name}.svg" for name in FIGURES),
    }
    shutil.copytree(full_report / "metrics", tmp_path / "metrics")
    cells = [(file["task"], file["model"], file["seed"]) for file in full_files]
    places = Places(tmp_path, full_report / "examples")
    tabulate("test", cells, full_settings, places, {"date": "1 January 2026", "commit": "abc"})
    assert written(tmp_path) == first


def test_a_small_profile_has_the_same_tables_and_the_figures_it_has_data_for(small_report):
    files = written(small_report)
    assert {path.stem for path in map(Path, files) if path.suffix == ".md"} == TABLES
    assert {path.stem for path in map(Path, files) if path.suffix == ".svg"} == FIGURES - OF_PERMUTED


def test_a_table_of_which_nothing_ran_says_so_and_has_no_number_of_ours(small_report):
    lines = (small_report / "tables" / "table3.md").read_text(encoding="utf-8").splitlines()
    ours = [line for line in lines if "| ours |" in line]
    assert len(ours) == 3
    assert all(line.count("*not run*") == 3 for line in ours)


def test_outputs_are_replaced_and_not_written_through(small_report):
    assert (small_report / "elsewhere.html").read_text() == "kept"
    assert not (small_report / "report.html").is_symlink()
    assert not list(small_report.rglob("*.partial"))


def test_a_new_variant_appears_without_touching_code(small_report):
    files = written(small_report)
    named = {name for name, content in files.items() if b"my_own" in content or rb"my\_own" in content}
    tables = {f"tables/{name}.md" for name in ("table1", "table2", "tableA2", "runs")}
    figures = {f"figures/{name}.svg" for name in FIGURES - OF_PERMUTED}
    assert named >= {"report.html", *tables, *figures}


def test_files_of_another_profile_or_without_settings_are_refused(metrics, cells, settings):
    with pytest.raises(ValueError, match="sudoku-se_rrm is of profile test, not paper"):
        tabulate("paper", cells, settings, Places(metrics.parent, metrics.parent), {})
    with pytest.raises(ValueError, match="no resolved settings of sudoku-se_rrm"):
        tabulate("test", cells, CellSettings(), Places(metrics.parent, metrics.parent), {})
    with pytest.raises(ValueError, match="profile test has no cells"):
        tabulate("test", [], settings, Places(metrics.parent, metrics.parent), {})
