"""What the documents say can be followed: links lead somewhere, commands exist, the model card's numbers are right."""

import json
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from typer.main import get_command

from serrm.cli import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\((?!https?://)([^)#\s]*)(?:#([^)\s]+))?\)")
COMMAND = re.compile(r"\bserrm ([a-z]+(?:-[a-z]+)*)\b")
CALL = re.compile(r"^(?:\$ )?(?:\S*/)?serrm ([a-z-]+)(.*)$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(page: Path) -> Iterator[str]:
    for path, anchor in LINK.findall(page.read_text()):
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            yield f"{path}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    assert list(broken(page)) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_and_their_options_exist(page: Path) -> None:
    text, commands = page.read_text(), getattr(get_command(app), "commands", {})
    assert set(COMMAND.findall(text)) <= commands.keys()
    for name, rest in CALL.findall(text):
        command = commands[name]
        for word in rest.split():  # of a group, such as `track sync`
            command = getattr(command, "commands", {}).get(word, command)
        known = {option for parameter in command.params for option in parameter.opts}
        assert set(re.findall(r"(?<=\s)--[a-z-]+", rest)) <= known, name


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
