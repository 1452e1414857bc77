"""What people look at: tables, page and words of figures of the made profile, as in `golden/`; what is committed.

`python -m tests.reporting.test_golden` writes `golden/` anew.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

from serrm.config import read_params
from serrm.reporting.claims import claims_table
from serrm.reporting.headline import BEGIN, END, as_text, headline, replace_table
from serrm.reporting.results import load_results
from serrm.reporting.settings import CellSettings, differences
from serrm.reporting.tables import (
    Report,
    Table,
    build_tables,
    notes,
    recipes,
    to_csv,
    to_latex,
    to_markdown,
)
from tests.reporting.conftest import GOLDEN, MADE, step_flops, write_report

ROOT = Path(__file__).parents[2]
PAPER = (ROOT / "src/serrm/reporting/paper.yaml").read_text(encoding="utf-8")


def shown(folder):
    """What is compared, by the name of its file: tables and the page as they are, of figures the words."""
    paths = [*(folder / "tables").glob("*.md"), *(folder / "tables").glob("table1.*")]
    files = {path.name: path.read_text(encoding="utf-8") for path in paths}
    for path in (folder / "figures").iterdir():
        elements = ElementTree.parse(path).getroot().iter("{http://www.w3.org/2000/svg}text")
        files[f"{path.stem}.svg.txt"] = (
            "\n".join("".join(each.itertext()).strip() for each in elements) + "\n"
        )
    page = (folder / "report.html").read_text(encoding="utf-8")
    # Figures have files of their own, grids are of another room.
    page = re.sub(r"base64,[^\"]*", "base64,…", re.sub(r"<svg.*?</svg>", "<svg/>", page, flags=re.DOTALL))
    return files | {"report.html": re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)}


def test_what_is_written_is_what_is_stored(written):
    files = shown(written)
    assert files.keys() == {path.name for path in GOLDEN.iterdir()}
    for name, text in files.items():
        assert text == (GOLDEN / name).read_text(encoding="utf-8"), name


def test_equal_files_give_equal_bytes(written, tmp_path):
    again = write_report(tmp_path)
    for path in written.rglob("*.*"):
        assert path.is_dir() or path.read_bytes() == (again / path.relative_to(written)).read_bytes(), path


def triples(value):
    """Every score of a metric file as it is printed."""
    if isinstance(value, dict):
        for key, each in value.items():
            if f"{key}_lo" in value:
                yield tuple(f"{100 * value[f'{key}{end}']:.2f}" for end in ("", "_lo", "_hi"))
            yield from triples(each)
    elif isinstance(value, list):
        for each in value:
            yield from triples(each)


def test_every_score_stands_in_a_metric_file_or_in_the_paper(written):
    known = {each for path in (MADE / "metrics").iterdir() for each in triples(json.loads(path.read_text()))}
    printed, of_seeds = (
        re.compile(r"([\d.]+) \(([\d.]+)[–-]([\d.]+)\)"),
        re.compile(r"[\d.]+ ± [\d.]+ \(.*?\)"),
    )
    known |= set(printed.findall(PAPER))
    found = set()
    for path in [*(written / "tables").glob("*.csv"), written / "report.html"]:
        found |= set(printed.findall(of_seeds.sub("", path.read_text(encoding="utf-8"))))
    assert len(found) > 80 and found <= known


def committed(profile):
    """A report of the committed metric files of a profile."""
    params, papers = (read_params(ROOT / "profiles" / f"{name}.yaml") for name in (profile, "paper"))
    here, paper = {}, {}
    for name in params.runs:
        cell = params.train_settings(name)
        here[cell.task, cell.variant] = cell.model_dump(mode="json")
        paper[cell.task, cell.variant] = papers.settings_of(cell.task, cell.model.family).model_dump(
            mode="json"
        )
    found = {key: differences(here[key], paper[key]) for key in here}
    results = load_results(params.cells(), ROOT / "reports" / profile / "metrics")
    return Report(profile, results, CellSettings(here, paper, found, step_flops(here)))


def skip_if_run_since(profile):
    changed = ["git", "-C", str(ROOT), "status", "--porcelain", f"reports/{profile}/metrics"]
    if subprocess.run(changed, capture_output=True, check=False).stdout:
        pytest.skip("the pipeline was run since")


@pytest.mark.parametrize("profile", ["laptop", "published"])
def test_the_committed_tables_are_those_of_the_committed_metric_files(profile):
    skip_if_run_since(profile)
    report, folder = committed(profile), ROOT / "reports" / profile / "tables"
    writers = {".md": to_markdown, ".csv": to_csv, ".tex": to_latex}
    tables = [*build_tables(report), claims_table(report)]
    files = {f"{table.name}{suffix}": write(table) for table in tables for suffix, write in writers.items()}
    assert {path.name for path in folder.iterdir()} == {*files, "notes.md", "recipes.md"}
    for name, text in files.items():
        assert text == (folder / name).read_text(encoding="utf-8"), name
    for name, lines in (("notes", notes(report.results)), ("recipes", recipes(report))):
        assert [f"- {line}" for line in lines] == (folder / f"{name}.md").read_text(
            encoding="utf-8"
        ).splitlines()[2:]


@pytest.mark.parametrize("profile", ["laptop", "published"])
def test_the_readme_holds_the_numbers_of_the_committed_metric_files(profile):
    skip_if_run_since(profile)
    page, report = (ROOT / "README.md").read_text(encoding="utf-8"), committed(profile)
    table = as_text(report.results, report.settings.init, "github")
    assert replace_table(page, profile, table) == page


def test_a_page_without_its_two_markers_is_refused():
    begin, end = BEGIN.format("made"), END.format("made")
    for page in ("", begin, f"{end}\n{begin}", f"{begin}{end}{end}"):
        with pytest.raises(ValueError, match="no place for the table"):
            replace_table(page, "made", "table")
    page = replace_table(f"a\n{begin}\nold\n{end}\nz", "made", "table")
    assert page == f"a\n{begin}\ntable\n{end}\nz"


def test_the_headline_is_small_and_names_what_it_leaves_out(report, made):
    results = report(made).results
    frame, notes = headline(results, {("sudoku", "se_rrm_wide"): "sudoku-se_rrm-s0"})
    assert len(frame.columns) == 6 and "63.00 ± 4.24" in to_csv(Table("", "", "", frame))
    assert all(len(note) < 240 for note in notes)
    assert "16×16" not in to_csv(Table("", "", "", frame)) and "16×16" in notes[-1]
    flops = frame.iloc[-1]
    assert flops["SE-RRM"] == "7.1e12" and flops["se_rrm_wide"] == "1.4e13", (
        "with those of the weights it begins with"
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        files = shown(write_report(Path(scratch)))
    shutil.rmtree(GOLDEN, ignore_errors=True)
    GOLDEN.mkdir()
    for name, text in files.items():
        (GOLDEN / name).write_text(text, encoding="utf-8")
    sys.stdout.write(f"{len(files)} files\n")
