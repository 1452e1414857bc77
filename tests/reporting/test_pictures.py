"""Pictures of puzzles, figures made part of a page, and the examples that are shown."""

import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serrm.drawing.panels import Panel, answer_panel, prediction_panel, question_panel
from serrm.drawing.scenes import Item, Scene
from serrm.puzzles.arc.canvas import encode
from serrm.puzzles.maze.grid import parse_maze
from serrm.reporting.examples import read_examples, shown_examples
from serrm.reporting.grids import grid_svg, verdict_svg
from serrm.reporting.inline import VARIABLES, inline_svg, themed
from serrm.reporting.results import load_results
from serrm.reporting.strip import GRID, MARGIN, strip_svg
from serrm.reporting.svg import arrow, document, number, path, rectangle, text

SVG = "{http://www.w3.org/2000/svg}"


def parsed(svg):
    return ElementTree.fromstring(svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))


def array(grid):
    return np.array(grid, dtype=np.uint8)


def sudoku(wrong=()):
    question = array([3, 4, 1, 1, 5, 1, 1, 1, 2, 1, 1, 1, 1, 5, 3, 2])
    answer = array([3, 4, 2, 5, 5, 2, 4, 3, 2, 3, 5, 4, 4, 5, 3, 2])
    predicted = answer.copy()
    for place in wrong:
        predicted[place] = 2 + (predicted[place] - 1) % 4
    return prediction_panel("sudoku", 4, question, predicted, answer=answer)


@given(st.sets(st.integers(0, 15)))
def test_a_sudoku_has_a_digit_a_cell_and_a_tint_a_wrong_one(wrong):
    svg = parsed(grid_svg(sudoku(wrong), "a title"))
    assert svg.findtext(f"{SVG}title") == "a title"
    assert len(list(svg.iter(f"{SVG}text"))) == 16
    tints = [each.get("d") for each in svg.iter(f"{SVG}path") if each.get("fill") == "#F7BCAF"]
    assert covered("".join(tints)) == len(wrong)


def covered(d):
    """Cells of runs such as M0 1h3v1h-3z."""
    return sum(int(width) for width in re.findall(r"M\d+ \d+h(\d+)v1", d))


def test_given_digits_are_bold_and_filled_ones_are_not():
    drawn = parsed(grid_svg(sudoku(), "t")).iter(f"{SVG}g")
    groups = {group.get("font-weight"): group for group in drawn if group.get("font-size")}
    digits = {weight: "".join(group.itertext()) for weight, group in groups.items()}
    assert (digits["700"], digits[None]) == ("2341421", "141322433")


def test_a_question_has_no_digit_where_it_is_blank():
    question = array([3, 1, 1, 1] * 4)
    svg = parsed(grid_svg(question_panel("sudoku", 4, question), "t"))
    assert "".join(each.text for each in svg.iter(f"{SVG}text")) == "2222"


def test_verdicts_show_cells_without_digits():
    svg = parsed(verdict_svg(sudoku({2, 5}), "t"))
    assert not list(svg.iter(f"{SVG}text"))
    fills = {
        each.get("fill"): covered(each.get("d"))
        for each in svg.iter(f"{SVG}path")
        if each.get("fill") != "none"
    }
    # Seven clues; of nine blanks two are wrong.
    assert fills == {"#EFEFEF": 7, "#A9D1EA": 7, "#D55E00": 2}


MAZE = parse_maze("#####S ###G#####")
SOLVED = parse_maze("#####So###G#####")


def test_a_maze_has_its_walls_ends_and_path():
    svg = parsed(verdict_svg(answer_panel("maze", 4, MAZE, SOLVED), "t"))
    assert [each.text for each in svg.iter(f"{SVG}text")] == ["S", "G"]
    walls = next(each for each in svg.iter(f"{SVG}path") if each.get("fill") == "#3A3A3A")
    assert covered(walls.get("d")) == 13
    lines = [each for each in svg.iter(f"{SVG}path") if each.get("stroke") == "#0072B2"]
    assert [each.get("d").count("M") for each in lines] == [2]  # to S and to G
    missed = parsed(grid_svg(prediction_panel("maze", 4, MAZE, MAZE, answer=SOLVED), "t"))
    assert len(list(missed.iter(f"{SVG}circle"))) == 3


def test_an_arc_grid_has_its_colours_and_marks_what_is_wrong():
    question, answer, predicted = (encode(array(grid), 5) for grid in ([[1]], [[1, 2, 2]], [[1, 2, 3]]))
    svg = parsed(grid_svg(prediction_panel("arc_agi_1", 5, question, predicted, answer=answer), "t"))
    assert svg.get("viewBox") == "-1 -1 62 22"
    fills = [each.get("fill") for each in svg.iter(f"{SVG}path") if each.get("fill") != "none"]
    assert fills == ["#0074D9", "#FF4136", "#2ECC40"]
    crosses = [each for each in svg.iter(f"{SVG}path") if each.get("stroke-linecap") == "round"]
    assert len(crosses) == 2  # one, in two colours
    assert crosses[0].get("d").count("M") == 1


def test_titles_are_escaped():
    panel = Panel("arc_agi_1", "", array([[2]]), *[np.zeros((1, 1), dtype=bool)] * 3)
    assert parsed(grid_svg(panel, "a < b & c")).findtext(f"{SVG}title") == "a < b & c"


@given(st.floats(-1e4, 1e4))
def test_numbers_are_short_and_close(value):
    assert float(number(value)) == pytest.approx(value, abs=0.0051)
    assert len(number(value)) <= 8 + (value < 0)


@given(st.text(st.characters(exclude_categories=["Cc", "Cs", "Cn", "Co"])))
def test_any_words_make_an_svg_that_parses(words):
    parts = [
        text(1, 2, words, font_size=3),
        rectangle(0, 0, 1, 1, rx=None),
        path("M0 0"),
        arrow(0, 1, 9, "#333333"),
    ]
    svg = ElementTree.fromstring(document(10, 20, words, parts))
    assert svg.findtext(f"{SVG}title") == words
    assert svg.findtext(f"{SVG}text") == words


def test_inlined_figures_have_names_of_their_own_and_the_pages_colours(full_report):
    svg = (full_report / "figures" / "depth.svg").read_text(encoding="utf-8")
    first, second = (inline_svg(svg, prefix, 'a "title"') for prefix in ("a", "b"))
    names = [set(re.findall(r'\sid="([^"]+)"', each)) for each in (first, second)]
    assert names[0] and not names[0] & names[1]
    for each, known in zip((first, second), names, strict=True):
        assert set(re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', each)) != set()
        called = {a or b for a, b in re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', each)}
        assert called <= known
    assert "#333333" not in first and "var(--ink)" in first
    assert 'aria-label="a &#34;title&#34;"' in first
    assert "font-family" not in first and "<metadata" not in first and "<style" not in first
    assert 'aria-label="its own"' in inline_svg(document(1, 1, "its own", []), "c", "another")
    assert ElementTree.fromstring(str(first)).tag == f"{SVG}svg"


def test_the_pages_variables_are_those_of_its_style_sheet(full_report):
    page = (full_report / "report.html").read_text(encoding="utf-8")
    light, dark = page.split("prefers-color-scheme: dark", 1)
    for name in set(VARIABLES.values()):
        assert f"--{name}: " in light
        assert f"--{name}: " in dark
    assert themed("<a fill='#D55E00'/>") == "<a fill='var(--orange)'/>"


@pytest.fixture
def shown(full_cells, full_report):
    return shown_examples(load_results(full_cells, full_report / "metrics"), full_report / "examples")


def test_the_best_models_puzzles_come_first_and_one_right_one_wrong(shown):
    assert [(each.heading, each.is_right, each.is_first) for each in shown] == [
        ("SE-RRM on 4×4 Sudoku, puzzle 4x4", True, True),
        ("SE-RRM on 4×4 Sudoku, puzzle 4x4", False, True),
        ("TRM on 4×4 Sudoku, puzzle 4x4", True, False),
        ("SE-RRM on 10×10 Maze, puzzle 10x10", True, True),
        ("SE-RRM on ARC-AGI-1, puzzle evaluation", True, True),
    ]
    assert [frame.steps for frame in shown[0].frames] == [1, 2]
    first, last = (frame.remark for frame in shown[0].frames)
    assert "1" in first and last and first != last


def test_without_examples_nothing_is_shown(full_cells, full_report, tmp_path):
    assert shown_examples(load_results(full_cells, full_report / "metrics"), tmp_path) == []


def test_a_malformed_file_is_named_in_one_line(full_report, tmp_path):
    content = json.loads((full_report / "examples" / "maze-se_rrm-s0" / "examples.json").read_text())
    content["examples"][0]["side"] = "wide"
    file = tmp_path / "x.json"
    file.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"x\.json: examples\.0\.side: ") as raised:
        read_examples(file)
    assert "\n" not in str(raised.value)


def strip(task, side, question, answer, predicted):
    scene = Scene(task, side, "a cell: <one>", (Item(question, answer, trace={1: question, 16: predicted}),))
    return ElementTree.fromstring(strip_svg(scene))


@pytest.mark.parametrize("is_right", [True, False])
def test_a_strip_has_question_answer_and_last_prediction_and_explains_its_marks(is_right):
    maze = parse_maze("S #   # #  #   G"), parse_maze("So#  o# #oo#  oG")
    svg = strip("maze", 4, *maze, maze[1] if is_right else maze[0])
    words = [each.text for each in svg.iter(f"{SVG}text")]
    captions = [word for word in words if word in ("question", "answer", "after 1 step", "after 16 steps")]
    assert words[0] == "a cell: <one>" and captions == ["question", "answer", "after 16 steps"]
    assert ("on the answer's path only" in words) is not is_right and "path" in words
    grids = [each for each in svg.iter(f"{SVG}svg") if each is not svg]
    assert [float(each.get("width")) for each in grids] == [GRID] * 3
    right, bottom = (float(svg.get(key)) - MARGIN for key in ("width", "height"))
    assert max(float(each.get("x")) for each in grids) + GRID <= right
    assert max(float(each.get("y")) + float(each.get("height")) for each in grids) <= bottom


def test_a_strip_of_arc_keeps_the_shapes_of_its_grids_and_may_have_an_empty_one():
    tall, wide = encode(array([[1], [2], [3]]), 5), encode(array([[1, 2]]), 5)
    nothing = np.zeros(25, dtype=np.uint8)
    svg = strip("arc_agi_1", 5, tall, wide, nothing)
    shapes = [
        (float(each.get("width")), float(each.get("height")))
        for each in svg.iter(f"{SVG}svg")
        if each is not svg
    ]
    assert shapes == [(GRID / 3, GRID), (GRID, GRID / 2)]
    assert len([each for each in svg.iter(f"{SVG}text") if each.text]) >= 4
