"""The page: whole, self-contained, accessible; figures: what they show and say."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from matplotlib import rc_context
from matplotlib.figure import Figure

from serrm.reporting.claims import claims_table
from serrm.reporting.diagrams import SIZE, permuted
from serrm.reporting.figures import LOOK, compute, depth, learning_curves, svg_text
from serrm.reporting.page import render_page, shown_examples
from serrm.reporting.tables import build_tables
from tests.reporting.conftest import MADE

VOID = {"meta", "link", "br", "img"}


class Page(HTMLParser):
    """Elements with their attributes; whether every tag is closed."""

    def __init__(self, source):
        super().__init__()
        self.elements, self.open, self.unclosed = [], [], []
        self.feed(source)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if self.open.pop() != tag:
            self.unclosed.append(tag)


@pytest.fixture(scope="module")
def source(written):
    return (written / "report.html").read_text(encoding="utf-8")


def test_tags_are_balanced_and_names_are_used_once(source):
    page = Page(source)
    names = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert page.unclosed == [] == page.open and len(names) == len(set(names))
    places = {
        attributes["href"][1:]
        for tag, attributes in page.elements
        if tag == "a" and attributes["href"][0] == "#"
    }
    assert places <= set(names)


def test_nothing_is_fetched(source):
    for tag, attributes in Page(source).elements:
        for name in ("src", "href", "xlink:href", "srcset", "action", "data", "poster"):
            allowed = ("#", "https://") if tag == "a" else ("#", "data:")
            assert attributes.get(name, "#").startswith(allowed), (tag, attributes)
    bare = re.sub("<a href.*?</a>|http://www.w3.org/", "", source)
    assert not re.search(r"https?://|@import|url\((?!#)|<script", bare)
    assert len(source) < 1_000_000


def test_every_picture_has_words_for_those_who_cannot_see_it(source):
    elements = Page(source).elements
    assert all(len(attributes["alt"]) > 30 for tag, attributes in elements if tag == "img")
    pictures = [attributes for tag, attributes in elements if tag == "svg"]
    assert len(pictures) == 20 and all(each["role"] == "img" for each in pictures)
    assert source.count("<svg") == source.count("<title>") - 1


def test_words_from_files_are_escaped(report, made):
    for file in made.values():
        file["data"]["source"] = "<script>alert(1)</script> & so on"
    whole = report(made)
    source = render_page(whole, [*build_tables(whole), claims_table(whole)], {}, MADE, {"<b>": "<i>"})
    assert "<script>" not in source and "&lt;script&gt;alert(1)&lt;/script&gt; &amp; so on" in source
    assert "&lt;b&gt;" in source and "<i>" not in source


def test_the_best_models_puzzles_come_first_and_one_right_one_wrong(report, made, tmp_path):
    results = report(made).results
    shown = [
        (each["heading"], each["is_right"], each["is_open"])
        for each in shown_examples(results, MADE / "examples")
    ]
    assert shown == [
        ("SE-RRM on 4×4 Sudoku, puzzle 4x4", True, True),
        ("SE-RRM on 4×4 Sudoku, puzzle 4x4", False, True),
        ("TRM on 4×4 Sudoku, puzzle 4x4", True, False),
        ("SE-RRM on 10×10 Maze, puzzle 10x10", True, True),
        ("SE-RRM on ARC-AGI-1, puzzle evaluation", True, True),
    ]
    assert [*shown_examples(results, tmp_path)] == []


def lines_of(axes):
    return {line.get_label(): line for line in axes.get_lines()}


def test_depth_has_our_curves_and_the_papers(report, made):
    figure = depth(report(made))
    curves = lines_of(figure.axes[0])
    assert curves["TRM, ours"].get_xydata().tolist() == [[1, 1], [16, 30], [64, 31]]
    assert curves["TRM, ours"].get_color() == curves["TRM, paper"].get_color()
    assert "se_rrm_wide, ours" in curves and curves["TRM, paper"].get_linestyle() == "--"
    (words,) = (each.get_text() for each in figure.texts if "Dashed" in each.get_text())
    assert "Sudoku-Extreme" in words and not re.search("maze|ARC|16×16", words), "nothing that is not shown"


def test_learning_curves_have_a_panel_a_score_and_none_without_points(report, made):
    figure = learning_curves(report(made))
    assert [axes.get_title() for axes in figure.axes] == ["Sudoku", "Sudoku", "Maze"]
    assert lines_of(figure.axes[0])["TRM"].get_xdata().tolist() == [9600, 19_200, 28_800]
    assert learning_curves(report({("arc_agi_1", "trm", 0): made["arc_agi_1", "trm", 0]})) is None


def test_compute_has_flops_of_two_ways(report, made):
    axes = compute(report(made)).axes[0]
    curves = lines_of(axes)
    assert set(curves) == {"TRM, first verified answer", "SE-RRM, first verified answer", "SE-RRM, guesses"}
    assert curves["SE-RRM, guesses"].get_ydata() == pytest.approx([66, 83, 93])
    flops = curves["SE-RRM, guesses"].get_xdata()
    assert flops[1] / flops[0] == pytest.approx(7.5 / 5.25) and flops[0] == pytest.approx(9.2e8, rel=0.01)


def test_equivariance_is_counted_in_the_arithmetic_of_its_file(report, made):
    svg = permuted(report(made), "sudoku", "title", "")
    words = [text for text in ElementTree.fromstring(svg).itertext() if text.strip()]
    assert "Predictions: 40 of 40 the same in float32" in words
    assert "Predictions: 3 of 40 the same (arithmetic not recorded)" in words
    assert words.count("f(πx)") == 2 and "π: 1→4  4→1" in words
    made["sudoku", "trm", 0]["equivariance"]["precision"] = "bfloat16"
    assert "3 of 40 the same in bfloat16" in permuted(report(made), "sudoku", "title", "")
    recoloured = permuted(report(made), "arc_agi_1", "title", "")
    # The answers are two squares high and one wide, and no higher than any other picture.
    assert recoloured.count(f'width="{SIZE / 2:g}" height="{SIZE}"') == 2
    assert permuted(report(made), "maze", "title", "") == ""


def test_frames_that_differ_in_their_last_bit_are_the_same_text():
    def drawn(shift):
        figure = Figure()
        figure.add_axes((0.1 + shift, 0.1, 0.8, 0.8)).plot([0, 1], [0, 1])
        return svg_text(figure)

    with rc_context(LOOK):
        assert drawn(0.0) == drawn(1e-15) != drawn(0.1)
