"""Documents: links and commands resolve, scores with intervals stand in committed files."""

import json
import re
import runpy
import subprocess
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.main import get_command

from serrm.cli import app
from serrm.commands.scores import committed_reports
from serrm.reporting.results import TRAINING_TIMES, score
from serrm.scoring.metrics import METRICS

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
DOCS = sorted((ROOT / "docs").rglob("*.md"))
OTHERS = [
    ROOT / name for name in ("CONTRIBUTING.md", "data/README.md", "reports/README.md", "benchmarks/README.md")
]
PAGES = [README, *OTHERS, *DOCS]
LINK = re.compile(r"\]\((?!https?://)([^)#\s]*)(?:#([^)\s]+))?\)")
IMAGE = re.compile(r'<img src="([^"]+)"')
COMMAND = re.compile(r"\bserrm ([a-z]+(?:-[a-z]+)*)\b")
CALL = re.compile(r"(?:^(?:\$ )?(?:\S*/)?|`)serrm ([a-z]+(?:-[a-z]+)*)([^`\n]*)", re.MULTILINE)
TARGET = re.compile(r"`make ([a-z-]+)|^make ([a-z-]+)", re.MULTILINE)
MODULE = re.compile(r"python -m ((?:serrm|stages|benchmarks|tests)[\w.]*)")
SCORE = re.compile(r"\d+\.\d\d \(\d+\.\d\d[–-]\d+\.\d\d\)")


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(page: Path) -> Iterator[str]:
    text = page.read_text()
    for path, anchor in [*LINK.findall(text), *((path, "") for path in IMAGE.findall(text))]:
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            yield f"{path}#{anchor}"


each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    assert list(broken(page)) == []


@each_page
def test_commands_and_their_options_exist(page: Path) -> None:
    text, commands = page.read_text(), getattr(get_command(app), "commands", {})
    assert set(COMMAND.findall(text)) <= commands.keys()
    for name, rest in CALL.findall(text):
        command = commands[name]
        for word in rest.split():  # of a group, such as `track sync`
            command = getattr(command, "commands", {}).get(word, command)
        known = {option for parameter in command.params for option in parameter.opts}
        assert set(re.findall(r"(?<=\s)--[a-z-]+", rest)) <= known, name
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert {a or b for a, b in TARGET.findall(text)} <= targets
    for name in MODULE.findall(text):
        path = name.replace(".", "/")
        places = [ROOT / f"{path}.py", ROOT / path / "__main__.py", ROOT / "src" / path / "__main__.py"]
        assert any(place.is_file() for place in places), name


@cache
def committed_text() -> str:
    """All that tables and CSV files of reports and docs/experiments hold, with one kind of dash.

    As they are here and as they are in the last commit, since the pipeline may have been run since.
    """
    paths = [*(ROOT / "reports").glob("*/tables/*"), *(ROOT / "docs" / "experiments").rglob("*.csv")]
    paths += (ROOT / "reports" / "studies").rglob("*.csv")
    places = "reports/*/tables/*", "*/studies/*.csv", "docs/experiments/*.csv"
    grep = ["git", "grep", "-h", "", "HEAD", "--", *places]
    done = subprocess.run(grep, cwd=ROOT, capture_output=True, text=True, check=False)
    return "\n".join([done.stdout, *(path.read_text() for path in paths)]).replace("–", "-")


def packaged_scores() -> set[str]:
    """Scores in the provenance of the packaged checkpoint, as text."""
    provenance = json.loads((files("serrm") / "checkpoints" / "sudoku" / "provenance.json").read_text())
    return {
        f"{100 * scores[metric]:.2f} ({100 * scores[f'{metric}_lo']:.2f}-{100 * scores[f'{metric}_hi']:.2f})"
        for scores in provenance["scores"].values()
        for metric in ("fsr", "gpa")
    }


@cache
def scores_after_any_steps() -> set[str]:
    """The scores of all variants of the committed profiles after every number of steps, which tables show in part."""
    return {
        str(score(runs, metric, test_set, steps)).replace("–", "-")
        for report in committed_reports(ROOT).values()
        for runs in report.results.values()
        for test_set, scored in runs[0].scored.items()
        for steps, rates in scored.steps.items()
        for metric in rates.keys() & METRICS.keys()
    }


@each_page
def test_scores_with_intervals_stand_in_committed_files(page: Path) -> None:
    scores = {score.replace("–", "-") for score in SCORE.findall(page.read_text())}
    missing = {score for score in scores if score not in committed_text()} - packaged_scores()
    if (
        page == ROOT / "reports" / "README.md"
    ):  # which shows variants of table 2 that the profile's own has not
        missing -= {score for text in scores_after_any_steps() for score in SCORE.findall(text)}
    assert missing == set()


def test_hours_of_training_in_the_readme_are_those_recorded() -> None:
    """A cell such as "2.5 h (the 78)" is about the row's profile with 78 runs alone."""
    means = pd.read_csv(ROOT / TRAINING_TIMES).groupby("profile")["seconds"].mean()
    row = re.compile(r"^\| (`.*?) \| .*? \| ([\d, ]+) \| (\d+\.\d) h(?: \(the (\d+)\))?", re.MULTILINE)
    rows = row.findall(README.read_text())
    assert len(rows) >= 8
    for names, counts, hours, only in rows:
        runs = zip(re.findall(r"`(\w+)`", names), counts.split(", "), strict=True)
        seconds = sum(int(count) * means[name] for name, count in runs if only in ("", count))
        assert float(hours) == round(seconds / 3600, 1), names


def test_the_reference_of_params_is_up_to_date() -> None:
    script: dict[str, Any] = runpy.run_path(str(ROOT / "docs" / "params_reference.py"))
    assert (ROOT / "docs" / "params.md").read_text() == script["page"](), "run `make docs`"


def test_the_model_card_has_the_numbers_of_the_provenance() -> None:
    card = (ROOT / "docs" / "model-card.md").read_text()
    folder = files("serrm") / "checkpoints" / "sudoku"
    provenance = json.loads((folder / "provenance.json").read_text())
    config = json.loads((folder / "config.json").read_text())
    for size, scores in provenance["scores"].items():
        row = next(line for line in card.splitlines() if line.startswith(f"| {size.replace('x', '×')}"))
        assert f"| {scores['num_puzzles']} |" in row
        for metric in ("fsr", "gpa"):
            value, low, high = (f"{100 * scores[metric + end]:.2f}" for end in ("", "_lo", "_hi"))
            assert f"{value} ({low}–{high})" in row
    assert provenance["command"] in card
    assert f"sha256 {provenance['sha256'][:8]}…{provenance['sha256'][-4:]}" in card
    assert f"{config['parameters']:,} parameters" in card
    assert f"{config['training']['steps']:,} steps" in card
