"""The page: whole, self-contained, accessible, and honest about what was not run."""

import re
from html.parser import HTMLParser

import pytest

from serrm.reporting.claims import HOLDS
from serrm.reporting.page import FIGURES, Report, render_page

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
        for name in ("src", "href", "xlink:href", "srcset", "action", "data", "poster"):
            assert attributes.get(name, "#").startswith(("#", "data:")), (tag, attributes)
    bare = source.replace("http://www.w3.org/", "")  # names of XML's own
    assert not re.search(r"https?://|@import|url\((?!#)|fetch\(|XMLHttp|import\(", bare)
    (policy,) = (each["content"] for each in page.all("meta") if "http-equiv" in each)
    assert policy.startswith("default-src 'none';")


def test_every_link_within_the_page_leads_somewhere(page):
    names = {attributes["id"] for _, attributes, _ in page.elements if "id" in attributes}
    assert {each["href"][1:] for each in page.all("a")} <= names


def test_every_picture_has_words_for_those_who_cannot_see_it(page):
    pictures = page.all("svg")
    assert len(pictures) > 30
    assert all(each.get("role") == "img" for each in pictures)
    labelled = [each["aria-label"] for each in pictures if "aria-label" in each]
    drawn = {"architecture", "equivariance"}  # these have titles of their own
    assert len(labelled) == len(FIGURES)
    assert {words for name, words in FIGURES.items() if name not in drawn} < set(labelled)
    assert any("SE-RRM has 171,264 parameters" in words for words in labelled)
    titles = [around for tag, _, around in page.elements if tag == "title" and "svg" in around]
    assert len(titles) + len(labelled) >= len(pictures)


def test_every_table_is_there_with_its_headings(page):
    names = {attributes.get("id") for _, attributes, _ in page.elements}
    numbers = (
        "1",
        "2",
        "2-effort",
        "3",
        "3-arc",
        "3-demonstrations",
        "3-mazes",
        "3-task_types",
        "A2",
        "A3",
        "A4",
        "A5",
        "A6",
        "A7",
    )
    assert {f"table-{number}" for number in numbers} <= names
    assert "Table 1: Sudoku performance across grid sizes" in page.texts
    assert page.all("th") and all("scope" in each for each in page.all("th") if each.get("class") == "num")


def test_numbers_stand_beside_the_papers(page):
    words = " ".join(page.texts)
    assert "66.00 ↓ 61.74–70.02 n = 500" in words
    assert "93.73 93.66–93.81" in words
    assert "45.8 to 57.5" in words
    assert "Maze: 10×10 here, 30×30 in the paper." in words


def test_what_was_not_run_is_folded_and_never_a_number(small):
    folded = [
        attributes["id"] for tag, attributes, _ in small.elements if tag == "details" and "id" in attributes
    ]
    assert set(folded) == {
        *("table-2-effort", "table-3", "table-3-arc", "table-3-demonstrations", "table-3-mazes"),
        "table-3-task_types",
        *("table-A3", "table-A4", "table-A5"),
    }
    assert small.texts.count("not run in this profile") == len(folded)
    # Only the models that were run have a line in the summary.
    start, end = small.texts.index("In short"), small.texts.index("The paper’s claims")
    assert not {"HRM", "0.00%"} & set(small.texts[start:end])


def test_claims_have_their_verdicts_and_numbers(page, small):
    assert page.texts.count(HOLDS) > small.texts.count(HOLDS) >= 2
    assert "FSR after 16 and 64 steps: SE-RRM 66.00 (61.74–70.02); SE-RRM 90.00 (87.06–92.33)." in page.texts


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


def test_without_examples_there_is_no_section_of_them(small):
    assert "Puzzles" not in small.texts
    assert not small.all("button")


def test_words_from_files_are_escaped(full_files, load, full_report):
    from serrm.reporting.claims import check_claims
    from serrm.reporting.evidence import Evidence
    from serrm.reporting.tabulate import build_tables

    full_files[0]["notes"] = ["<script>alert(1)</script> & so on"]
    results, settings = load(full_files)
    claims = check_claims(Evidence(results, settings))
    tables = build_tables("test", results, settings, claims)
    source = render_page(Report("test", results, tables, {}, claims, provenance={"<b>": "<i>"}))
    assert "alert(1)</script>" not in source
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; so on" in source
    assert "&lt;b&gt;" in source and "<i>" not in source
