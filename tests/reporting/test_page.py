"""The page: whole, self-contained, accessible, and honest about what was not run."""

import re
from html.parser import HTMLParser

import pytest

from serrm.drawing.svg import document
from serrm.reporting.examples import shown_examples
from serrm.reporting.figures import FIGURES
from serrm.reporting.inline import VARIABLES, inline_svg
from serrm.reporting.page import render_page

VOID = {"meta", "link", "br", "img", "input", "hr", "wbr"}


class Page(HTMLParser):
    """Elements with their attributes and the tags around them; texts without those of style and script."""

    def __init__(self, source):
        super().__init__()
        self.elements, self.texts, self.open, self.unclosed = [], [], [], []
        self.feed(source)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes), tuple(self.open)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes), tuple(self.open)))

    def handle_endtag(self, tag):
        if self.open.pop() != tag:
            self.unclosed.append(tag)

    def handle_data(self, data):
        if data.strip() and not {"style", "script"} & set(self.open):
            self.texts.append(" ".join(data.split()))

    def all(self, tag):
        return [attributes for name, attributes, _ in self.elements if name == tag]


@pytest.fixture(scope="module")
def source(full_report):
    return (full_report / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(source):
    return Page(source)


@pytest.fixture(scope="module")
def small(small_report):
    return Page((small_report / "report.html").read_text(encoding="utf-8"))


def test_tags_are_balanced_and_names_are_used_once(page, small):
    for each in (page, small):
        assert each.unclosed == [] and each.open == []
        names = [attributes["id"] for _, attributes, _ in each.elements if "id" in attributes]
        assert len(names) == len(set(names))


def test_nothing_is_fetched(page, source):
    assert not page.all("img") and not page.all("iframe")
    for tag, attributes, _ in page.elements:
        allowed = ("#", "https://") if tag == "a" else ("#", "data:")
        for name in ("src", "href", "xlink:href", "srcset", "action", "data", "poster"):
            assert attributes.get(name, "#").startswith(allowed), (tag, attributes)
    bare = re.sub("<a href.*?</a>|http://www.w3.org/", "", source)  # names of XML's own
    assert not re.search(r"https?://|@import|url\((?!#)|fetch\(|XMLHttp|import\(", bare)
    (policy,) = (each["content"] for each in page.all("meta") if "http-equiv" in each)
    assert policy.startswith("default-src 'none';")


def test_every_picture_has_words_for_those_who_cannot_see_it(page):
    pictures = page.all("svg")
    assert len(pictures) > 30
    assert all(each.get("role") == "img" for each in pictures)
    labelled = [each["aria-label"] for each in pictures if "aria-label" in each]
    drawn = {"architecture", "equivariance", "recoloured"}  # these have titles of their own
    assert len(labelled) == len(FIGURES)
    assert {figure.shows for name, figure in FIGURES.items() if name not in drawn} < set(labelled)
    assert any("SE-RRM has 171,264 parameters" in words for words in labelled)
    titles = [around for tag, _, around in page.elements if tag == "title" and "svg" in around]
    assert len(titles) + len(labelled) >= len(pictures)


def test_numbers_stand_beside_the_papers(page):
    words = " ".join(page.texts)
    assert "66.00 ↓ 61.74–70.02 n = 500" in words
    assert "93.73 93.66–93.81" in words


def test_what_was_not_run_is_folded_and_never_a_number(small):
    folded = {attributes["id"] for attributes in small.all("details") if "id" in attributes}
    numbers = "2-effort", "3", "3-arc", "3-demonstrations", "3-mazes", "3-task_types", "A3", "A4", "A5"
    assert folded == {f"table-{number}" for number in numbers}
    assert small.texts.count("not run in this profile") == len(folded)
    # Only the models that were run have a line in the summary.
    start, end = small.texts.index("In short"), small.texts.index("The paper’s claims")
    assert not {"HRM", "0.00%"} & set(small.texts[start:end])


def test_what_is_passed_in_is_shown_and_notes_are_said_once(page, source):
    assert {"commit", "abc", "1 January 2026"} <= set(page.texts)
    assert sum("A note of its own." in text for text in page.texts) == 1
    differences = [text for text in page.texts if text.startswith("Differs from the paper")]
    assert len(differences) == 1
    assert len(source) < 1_000_000


def test_examples_show_their_last_step_until_another_is_chosen(page):
    frames = [each for each in page.all("div") if each.get("class", "").startswith("frame")]
    assert [each["class"] for each in frames[:2]] == ["frame", "frame shown"]
    buttons = page.all("button")
    assert len(buttons) == len(frames) == 10
    assert [each.get("aria-current") for each in buttons[:2]] == [None, "true"]


def test_words_from_files_are_escaped(full_files, report):
    full_files[0]["notes"] = ["<script>alert(1)</script> & so on"]
    source = render_page(report(full_files), {}, [], {"<b>": "<i>"})
    assert "alert(1)</script>" not in source
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; so on" in source
    assert "&lt;b&gt;" in source and "<i>" not in source


def test_inlined_figures_have_names_of_their_own_and_the_pages_colours(full_report):
    svg = (full_report / "figures" / "depth.svg").read_text(encoding="utf-8")
    first, second = (inline_svg(svg, prefix, 'a "title"') for prefix in ("a", "b"))
    names = [set(re.findall(r'\sid="([^"]+)"', each)) for each in (first, second)]
    assert names[0] and not names[0] & names[1]
    called = {a or b for a, b in re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', first)}
    assert called and called <= names[0]
    assert "#333333" not in first and "var(--ink)" in first
    assert 'aria-label="a &#34;title&#34;"' in first
    assert not any(words in first for words in ("font-family", "<metadata", "<style"))
    assert 'aria-label="its own"' in inline_svg(document(1, 1, "its own", []), "c", "another")


def test_the_pages_variables_are_those_of_its_style_sheet(source):
    light, dark = source.split("prefers-color-scheme: dark", 1)
    for name in set(VARIABLES.values()):
        assert f"--{name}: " in light and f"--{name}: " in dark


def test_the_best_models_puzzles_come_first_and_one_right_one_wrong(load, full_files, full_report, tmp_path):
    results = load(full_files)[0]
    shown = shown_examples(results, full_report / "examples")
    assert [(each.heading, each.is_right, each.is_first) for each in shown] == [
        ("SE-RRM on 4×4 Sudoku, puzzle 4x4", True, True),
        ("SE-RRM on 4×4 Sudoku, puzzle 4x4", False, True),
        ("TRM on 4×4 Sudoku, puzzle 4x4", True, False),
        ("SE-RRM on 10×10 Maze, puzzle 10x10", True, True),
        ("SE-RRM on ARC-AGI-1, puzzle evaluation", True, True),
    ]
    assert [frame.steps for frame in shown[0].frames] == [1, 2]
    assert shown_examples(results, tmp_path) == []
