"""What people look at: a table, a figure's words and the page of the made profile, as in `golden/`; what is committed.

`python -m tests.reporting.test_report` writes `golden/` anew.
"""

import json
import re
import shutil
import sys
import tempfile
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serrm.config import read_params
from serrm.reporting.claim_rules import FAILS, HOLDS, UNDECIDED, UNTESTED
from serrm.reporting.conclusion import conclusion
from serrm.reporting.figures import permuted
from serrm.reporting.formats import Table, to_csv, to_latex, to_markdown
from serrm.reporting.headline import headline
from serrm.reporting.paper import DASH, load_paper
from serrm.reporting.paper_tables import entries_of
from serrm.reporting.report import (
    Inputs,
    all_tables,
    headline_scores,
    render_page,
    table_files,
    write_shown,
)
from serrm.reporting.results import (
    TRAINING_TIMES,
    all_runs,
    make_report,
    read_gathered,
    read_runs,
    read_study,
    total_flops,
)
from serrm.reporting.tables import build_tables
from serrm.scoring.metrics import METRICS, RATIO
from serrm.scoring.schema import Evaluation, read_profile_scores, write_evaluation
from tests.reporting.conftest import (
    MADE,
    paper_files,
    report_of,
    write_made,
)

ROOT, GOLDEN = Path(__file__).parents[2], Path(__file__).parent / "golden"
PAPER = (ROOT / "src/serrm/reporting/paper.yaml").read_text(encoding="utf-8")
PROFILES = [
    "claims_sudoku",
    "claims_maze",
    "claims_arc",
    "claims_fresh",
    "published",
    "gpu_sudoku",
    "laptop",
    "arc_10x10",
    "maze_hard",
    "gpu_maze",
    "gpu_arc",
]


def texts_of(folder):
    """One file of each kind: a table in three formats, the words of a figure, the page without pictures and tables."""
    reports = folder / "reports"
    paths = [reports / "tables" / "table1.md", *(folder / "data").glob("table1.*")]
    files = {path.name: path.read_text(encoding="utf-8") for path in paths}
    elements = ElementTree.parse(reports / "figures" / "depth.svg").getroot()
    texts = [
        "".join(element.itertext()).strip() for element in elements.iter("{http://www.w3.org/2000/svg}text")
    ]
    files["depth.svg.txt"] = "\n".join(texts) + "\n"
    page = (reports / "report.html").read_text(encoding="utf-8")
    page = re.sub(r"base64,[^\"]*", "base64,…", page)
    for tag in ("svg", "table"):
        page = re.sub(rf"<{tag}\b.*?</{tag}>", f"<{tag}/>", page, flags=re.DOTALL)
    return files | {"report.html": re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)}


def test_report_matches_the_golden_files(written):
    files = texts_of(written)
    assert files.keys() == {path.name for path in GOLDEN.iterdir()}
    for name, text in files.items():
        assert text == (GOLDEN / name).read_text(encoding="utf-8"), name


def test_tables_and_figures_follow_from_the_scores_alone(written, report, made, tmp_path):
    old = tmp_path / "tables" / "table_of_before.md"
    old.parent.mkdir()
    old.write_text("before")
    write_shown(report(made), tmp_path)
    names = [path.relative_to(tmp_path) for path in tmp_path.rglob("*.*")]
    assert old not in names and len(names) > 10
    for name in names:
        assert (tmp_path / name).read_bytes() == (written / "reports" / name).read_bytes()


def triples(value):
    """Every score of a file as it is printed."""
    if isinstance(value, dict):
        for key, entry in value.items():
            if f"{key}_lo" in value:
                yield tuple(f"{100 * value[f'{key}{end}']:.2f}" for end in ("", "_lo", "_hi"))
            yield from triples(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from triples(entry)


def test_every_score_comes_from_a_metric_file_or_the_paper(written):
    known = set(triples(json.loads((MADE / "metrics.json").read_text(encoding="utf-8"))))
    printed = re.compile(r"([\d.]+) \(([\d.]+)[–-]([\d.]+)\)")
    known |= set(printed.findall(PAPER))
    scores = set()
    for path in [*(written / "data").glob("*.csv"), written / "reports" / "report.html"]:
        text = path.read_text(encoding="utf-8").replace("<span>", "")
        single_seeds = re.sub(r"[\d.]+ ± [\d.]+ \(.*?\)", "", text)
        scores |= set(printed.findall(single_seeds))
    assert len(scores) > 60 and scores <= known


def test_metric_files_of_the_papers_numbers_give_the_papers_tables(report):
    results = report(paper_files()).results
    entries = [entry for table in load_paper().score_tables.values() for entry in entries_of(table, results)]
    entries = [entry for entry in entries if entry.paper_entry.numbers]
    assert len(entries) == 83
    for entry in entries:
        # Table 2 prints 71.95 where table 1 prints 71.94, and tables A6 and A7 one digit less than tables 1 and 3.
        assert abs(entry.score.value - float(entry.paper_entry.numbers[0])) < 0.051
        if entry.paper_entry.numbers[1:]:
            ends = [float(end) for end in entry.paper_entry.numbers[1:]]
            is_of_cells = METRICS[entry.column.metric].statistic is RATIO
            assert is_of_cells or [entry.score.low, entry.score.high] == ends


def test_arrows_appear_only_for_the_same_puzzles(report, made):
    """The made 4×4 and ARC-AGI puzzles are the published ones; 9×9, 16×16 and mazes are fewer or made."""
    del made["sudoku", "se_rrm", 1]  # two seeds that differ leave it undecided
    tables = {table.name: table.frame for table in build_tables(report(made))}
    lines = tables["table1"].set_index(["Model", "Grid"])["FSR, ours"]["SE-RRM"]
    assert lines["4×4 Mini"].endswith(" ↑") and not re.search("[↑↓]", lines["9×9"] + lines["16×16 Maxi"])
    assert tables["table3"].set_index("Model")["ARC-AGI-1, ours"]["SE-RRM"].endswith(" ↓")
    for file in made.values():
        file["data"]["source_kind"] = "generated"
    assert not re.search("[↑↓]", "".join(to_csv(table.frame) for table in build_tables(report(made))))


def test_variant_with_the_most_seeds_has_rows_beside_its_family_but_not_in_ablations(report, made):
    for seed in range(3):
        made["sudoku", "se_rrm_tuned", seed] = made["sudoku", "se_rrm", 0] | {
            "name": f"sudoku-se_rrm_tuned-s{seed}",
            "variant": "se_rrm_tuned",
            "seed": seed,
        }
    tables = {table.name: table.frame for table in build_tables(report(made))}
    sizes = tables["table1"].set_index(["Model", "Grid"])
    assert "±" in sizes["FSR, ours"]["SE-RRM, se_rrm_tuned", "9×9"]
    assert {*sizes["FSR, paper"]["SE-RRM, se_rrm_tuned"]} == {DASH}
    assert {"SE-RRM, paper", "SE-RRM, se_rrm_tuned, ours"} <= {*tables["table2"].columns}
    assert "SE-RRM, se_rrm_tuned, paper" not in tables["table2"].columns
    assert not any("se_rrm_tuned" in model for model in tables["tableA6"]["Model"])


def test_flops_include_those_of_initial_weights_of_the_same_profile_alone(made):
    params, paper_params = (read_params(ROOT / "profiles" / f"{name}.yaml") for name in ("ci", "paper"))
    run = params.runs["sudoku-se_rrm-s0"]
    first, second = (Evaluation.model_validate(made["sudoku", "se_rrm", seed]) for seed in (0, 1))
    for init, other_flops in (
        ("made/runs/sudoku-se_rrm-s0", first.training.flops),
        ("other/runs/sudoku-se_rrm-s0", 0),
        ("made/runs/sudoku-se_rrm-s1", 0),
    ):
        runs = {"sudoku-se_rrm-s1": run.model_copy(update={"seed": 1, "init": init})}
        changed = params.model_copy(update={"profile": "made", "runs": runs})
        assert total_flops(second, make_report(changed, paper_params, [first, second])) == (
            second.training.flops + other_flops
        ), init


def without_16(file):
    """An evaluation whose scores after 16 steps are after 8."""
    text = (
        json.dumps(file).replace('"16": {', '"8": {').replace('"headline_steps": 16', '"headline_steps": 8')
    )
    return json.loads(text)


def test_a_conclusion_from_one_seed_says_so(made):
    warning = "Each model has one seed"
    assert warning in conclusion(report_of({key: file for key, file in made.items() if key[2] == 0}))
    assert warning not in conclusion(report_of(made))


def test_headline_and_conclusion_use_the_headline_steps_of_every_run(made):
    before = report_of(made)
    after = report_of(made | {("sudoku", "trm", 0): without_16(made["sudoku", "trm", 0])})
    one, other = (headline(report).frame.set_index("Test puzzles")["TRM"] for report in (before, after))
    (main_set,) = (name for name in one.index if name.startswith("Sudoku 9×9"))
    assert other[main_set] == f"{one[main_set]} after 8"
    trm = re.search(r"Sudoku 9×9 \(FSR: .*?(TRM [\d.]+)", conclusion(before))[1]
    assert conclusion(after) == conclusion(before).replace(trm, f"{trm} after 8", 1)
    nowhere = {key: without_16(file) for key, file in made.items()}
    assert len(headline(report_of(nowhere)).frame) == len(one)


text = st.text(st.characters(exclude_categories=["Cc", "Cs"]))


@given(text, text)
def test_table_escapes_any_text(first, second):
    table = Table("t", "t", "c", pd.DataFrame([[first, second]], columns=["a", "b"]))
    lines = [line for line in to_markdown(table).splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines[:2]} == {3}
    escapes = r"\\(textbackslash|textasciitilde|textasciicircum|dag)\{\}|\$[^$]*\$|\\[&%$#_{}]"
    bare = re.sub(escapes, "", to_latex(table))
    row = bare[bare.index("midrule") : bare.index(r"\bottomrule")].removeprefix("midrule").strip()
    assert row.count("&") == 1 and not set(row.removesuffix("\\\\")) & set("%$#_~^")


def test_curves_and_scores_have_every_point(written):
    folder = written / "reports"
    runs = read_profile_scores(folder / "metrics.json").runs.values()
    names = ("depth", "learning", "training")
    depth, learning, training = (pd.read_csv(folder / "curves" / f"{name}.csv") for name in names)
    assert list(depth) == ["panel", "model", "steps", "solved", "gpa"]
    assert list(learning) == ["panel", "model", "step", "samples", "loss", "solved", "gpa"]
    assert len(depth) == sum(len(part.steps) for run in runs for part in run.scored.values())
    assert len(learning) == sum(len(run.learning_curve) for run in runs)
    assert training["run"].tolist() == [run.name for run in runs for _ in range(2)]
    assert training["loss"].tolist() == [1, 0.333333] * len(runs)
    scores = json.loads((folder / "scores.json").read_text())
    assert scores["sudoku-trm-s0"]["9x9"] == 30.0, "after 16 steps"
    assert scores["arc_agi_1-trm-s0"].keys() == {"evaluation"}, "with the right task types alone"
    assert scores.keys() == {run.name for run in runs}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda path: path.unlink(), "no such file"),
        (lambda path: path.write_text("{"), "Invalid JSON"),
        (lambda path: path.write_text(path.read_text().replace("trm-s0", "trm-s7")), "sudoku-trm-s7"),
    ],
)
def test_a_wrong_file_of_scores_is_named(made, tmp_path, change, message):
    params = read_params(ROOT / "profiles" / "ci.yaml")
    for name in params.runs:
        data_set, model, seed = name.rsplit("-", 2)
        facts = {"name": name, "data_set": data_set, "variant": model, "seed": int(seed[1:])}
        run = made["sudoku", "trm", 0] | {"profile": "ci", **facts}
        write_evaluation(tmp_path / f"{name}.json", Evaluation.model_validate(run))
    assert [run.name for run in read_runs(params, tmp_path)] == list(params.runs)
    change(tmp_path / "sudoku-trm-s0.json")
    with pytest.raises(ValueError, match=rf"sudoku-trm-s0\.json: .*{message}"):
        read_runs(params, tmp_path)


@cache
def report_here(profile):
    """A report of the scores of a profile in reports/, committed or made since."""
    params, paper_params = (read_params(ROOT / "profiles" / f"{name}.yaml") for name in (profile, "paper"))
    runs = read_gathered(params, ROOT / "reports" / profile / "metrics.json")
    return make_report(params, paper_params, runs)


def results_of(table):
    """The numbers and verdicts in the rows of a table in Markdown; captions, headings and notes are left out."""
    rows = [line for line in table.splitlines() if line.startswith("|")][1:]
    return [re.findall("|".join([r"\d[\d.,]*", HOLDS, UNDECIDED, FAILS, UNTESTED]), row) for row in rows]


@pytest.mark.parametrize("profile", PROFILES)
def test_the_tables_of_a_profile_are_those_of_its_scores(profile):
    """So too where the pipeline was run since, which writes both."""
    report, folder = report_here(profile), ROOT / "reports" / profile
    files = table_files(report, all_tables(report))
    committed = {path.name: path.read_text(encoding="utf-8") for path in (folder / "tables").iterdir()}
    assert committed.keys() == files.keys()
    for name, text in files.items():
        assert results_of(committed[name]) == results_of(text), name
    scores = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    assert scores == headline_scores(all_runs(report.results))
    for name in ("depth", "learning", "training"):
        assert (folder / "curves" / f"{name}.csv").is_file()


@pytest.mark.parametrize("profile", PROFILES)
def test_measured_seconds_are_those_of_the_settings(profile):
    """The time of a training that was shorter, or of a run that is gone, would stand beside another's scores."""
    params = read_params(ROOT / "profiles" / f"{profile}.yaml")
    for row in read_study(ROOT / TRAINING_TIMES, profile):
        train = params.run_settings(row["run"]).train
        measured = float(row["seconds"]) * float(row["puzzle-steps per second"])
        assert measured == pytest.approx(train.steps * train.batch_size, rel=0.02), row["run"]


def test_headline_has_the_median_seconds_of_the_seeds_that_were_timed(made):
    report = report_of(made)
    times = {"sudoku-se_rrm-s0": 40.0, "sudoku-se_rrm-s1": 20.0, "sudoku-trm-s0": 7.0}
    frame = headline(replace(report, seconds=times)).frame.set_index("Test puzzles")
    assert frame.loc["Sudoku: training seconds, median", ["SE-RRM", "TRM", "HRM"]].tolist() == [
        "30",
        "7",
        "—",
    ]
    times.pop("sudoku-se_rrm-s0")
    frame = headline(replace(report, seconds=times)).frame.set_index("Test puzzles")
    assert frame.loc["Sudoku: training seconds", "SE-RRM"] == "20"
    assert not any("seconds" in name for name in headline(report).frame["Test puzzles"])


def test_windows_are_not_compared_with_the_papers_mazes():
    """Generated mazes of another size do, in a profile without the paper's."""
    frame, notes, _ = headline(report_here("maze_hard"))
    paper_scores = dict(zip(frame["Test puzzles"], frame["SE-RRM, paper"], strict=True))
    assert [paper_scores[f"maze_{side} {side}×{side}, n 100"] for side in (15, 22)] == ["—", "—"]
    assert paper_scores["maze_30 30×30, n 1,000"].startswith("88.8 ")
    assert "The paper's test puzzles are Maze 30×30, n 1,000." in notes


class Page(HTMLParser):
    """Elements with their attributes, and whether every tag is closed."""

    def __init__(self, source):
        super().__init__()
        self.elements, self.open = [], []
        self.feed(source)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in ("meta", "link", "br", "img"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_page_is_valid_needs_no_network_and_describes_its_pictures(written):
    source = (written / "reports" / "report.html").read_text(encoding="utf-8")
    page = Page(source)
    names = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert page.open == [] and len(names) == len(set(names))
    for tag, attributes in page.elements:
        for name in ("src", "href", "xlink:href", "srcset", "action", "data", "poster"):
            allowed = ("#", "https://") if tag == "a" else ("#", "data:")
            assert attributes.get(name, "#").startswith(allowed), (tag, attributes)
        assert tag != "img" or len(attributes["alt"]) > 30
        assert tag != "svg" or attributes["role"] == "img"
        assert tag != "a" or attributes["href"][0] != "#" or attributes["href"][1:] in names
    bare = re.sub("<a href.*?</a>|http://www.w3.org/", "", source)
    assert not re.search(r"https?://|@import|url\((?!#)|<script", bare)
    assert source.count("<svg") == source.count("<title>") - 1 > 10 and len(source) < 1_000_000


def test_text_from_files_is_escaped(report, made):
    for file in made.values():
        file["data"]["source"] = "<script>alert(1)</script> & so on"
    whole = report(made)
    source = render_page(whole, all_tables(whole), {}, Inputs(MADE, MADE, {}, {"<b>": "<i>"}))
    assert "<script>" not in source and "&lt;script&gt;alert(1)&lt;/script&gt; &amp; so on" in source
    assert "&lt;b&gt;" in source and "<i>" not in source


def test_permuted_puzzles_are_shown_only_in_float32(report, made):
    picture = permuted(report(made), "sudoku")
    assert "40 of 40" in picture and "3 of 40" in picture
    made["sudoku", "trm", 0]["equivariance"]["precision"] = "bfloat16"
    picture = permuted(report(made), "sudoku")
    assert "3 of 40" not in picture and "not shown: TRM" in picture
    assert permuted(report(made), "maze") == ""


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        files = texts_of(write_made(Path(scratch)))
    shutil.rmtree(GOLDEN, ignore_errors=True)
    GOLDEN.mkdir()
    for name, text in files.items():
        (GOLDEN / name).write_text(text, encoding="utf-8")
    sys.stdout.write(f"{len(files)} files\n")
