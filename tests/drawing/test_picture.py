"""Pictures: grids as SVG with the right cells painted, rows of them with a legend, and the same as pixels."""

import io
import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from serrm.drawing.colours import ARC_COLOURS, rgb
from serrm.drawing.grids import grid_svg, verdict_svg
from serrm.drawing.panels import Puzzle
from serrm.drawing.picture import GRID, MARGIN, picture_svg, scene_svg
from serrm.drawing.raster import SCALE, gif, png
from serrm.drawing.scenes import Item, Scene
from serrm.drawing.svg import arrow, document, number, path, rectangle, text
from serrm.puzzles.arc.canvas import encode
from serrm.puzzles.maze.grid import parse_maze

SVG = "{http://www.w3.org/2000/svg}"


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))


def array(grid: Any) -> Any:
    return np.array(grid, dtype=np.uint8)


def covered(d: str) -> int:
    """Cells of runs such as M0 1h3v1h-3z."""
    return sum(int(width) for width in re.findall(r"M\d+ \d+h(\d+)v1", d))


def fills(svg: ElementTree.Element) -> dict[str, int]:
    """The cells painted in each colour."""
    paths = [each.attrib for each in svg.iter(f"{SVG}path")]
    return {each["fill"]: covered(each["d"]) for each in paths if each["fill"] != "none"}


@given(wrong=st.sets(st.integers(0, 15)))
def test_a_sudoku_has_a_digit_a_cell_and_a_tint_a_wrong_one(wrong: set[int]) -> None:
    question = array([3, 4, 1, 1, 5, 1, 1, 1, 2, 1, 1, 1, 1, 5, 3, 2])
    answer = array([3, 4, 2, 5, 5, 2, 4, 3, 2, 3, 5, 4, 4, 5, 3, 2])
    predicted = array([2 + (a - 1) % 4 if place in wrong else a for place, a in enumerate(answer.tolist())])
    panel = Puzzle("sudoku", 4, question, answer).prediction_panel(predicted)
    svg, verdicts = parsed(grid_svg(panel, "a < b & c")), parsed(verdict_svg(panel, "t"))
    assert svg.findtext(f"{SVG}title") == "a < b & c"
    assert len(list(svg.iter(f"{SVG}text"))) == 16 and not list(verdicts.iter(f"{SVG}text"))
    assert fills(svg).get("#F7BCAF", 0) == fills(verdicts).get("#D55E00", 0) == len(wrong)
    groups = {
        each.get("font-weight"): "".join(each.itertext()) for each in svg.iter(f"{SVG}g") if each.get("fill")
    }
    assert len(groups["700"]) == np.count_nonzero(question > 1)


def test_a_question_has_no_digit_where_it_is_blank() -> None:
    svg = parsed(grid_svg(Puzzle("sudoku", 4, array([3, 1, 1, 1] * 4)).question_panel(), "t"))
    assert "".join(each.text or "" for each in svg.iter(f"{SVG}text")) == "2222"


def test_a_maze_has_its_walls_ends_and_path() -> None:
    solved = parse_maze("#####So###G#####")
    maze = Puzzle("maze", 4, parse_maze("#####S ###G#####"), solved)
    svg = parsed(grid_svg(maze.answer_panel(solved), "t"))
    assert [each.text for each in svg.iter(f"{SVG}text")] == ["S", "G"]
    assert fills(svg) == {"#3A3A3A": 13}
    lines = [each for each in svg.iter(f"{SVG}path") if each.get("stroke") == "#0072B2"]
    assert [each.attrib["d"].count("M") for each in lines] == [2]  # to S and to G
    missed = parsed(grid_svg(maze.prediction_panel(maze.question, before=solved), "t"))
    assert len(list(missed.iter(f"{SVG}circle"))) == 3 and fills(missed)["#FBE3A8"] == 1


def test_an_arc_grid_has_its_colours_and_marks_what_is_wrong() -> None:
    question, answer, predicted = (encode(array(grid), 5) for grid in ([[1]], [[1, 2, 2]], [[1, 2, 3]]))
    svg = parsed(grid_svg(Puzzle("arc_agi_1", 5, question, answer).prediction_panel(predicted), "t"))
    assert svg.get("viewBox") == "-1 -1 62 22"
    assert list(fills(svg)) == ["#0074D9", "#FF4136", "#2ECC40"]
    crosses = [each for each in svg.iter(f"{SVG}path") if each.get("stroke-linecap") == "round"]
    assert [each.attrib["d"].count("M") for each in crosses] == [1, 1]  # one, in two colours


@given(st.floats(-1e4, 1e4))
def test_numbers_are_short_and_close(value: float) -> None:
    assert float(number(value)) == pytest.approx(value, abs=0.0051)
    assert len(number(value)) <= 8 + (value < 0)


@given(st.text(st.characters(exclude_categories=["Cc", "Cs", "Cn", "Co"])))
def test_any_words_make_an_svg_that_parses(words: str) -> None:
    parts = [
        text(1, 2, words, font_size=3),
        rectangle(0, 0, 1, 1, rx=None),
        path("M0 0"),
        arrow(0, 1, 9, "#333333"),
    ]
    svg = ElementTree.fromstring(document(10, 20, words, parts))
    assert svg.findtext(f"{SVG}title") == svg.findtext(f"{SVG}text") == words


@pytest.mark.parametrize("is_right", [True, False])
def test_a_scene_has_question_answer_and_last_prediction_and_explains_its_marks(
    maze: Any, is_right: bool
) -> None:
    item = Item(maze, trace={1: maze.question, 16: maze.answer if is_right else maze.question})
    svg = ElementTree.fromstring(scene_svg(Scene("a cell: <one>", (item,))))
    words = [each.text for each in svg.iter(f"{SVG}text")]
    assert words[0] == "a cell: <one>" and {"question", "answer", "after 16 steps"} < {*words}
    assert "after 1 step" not in words
    assert ("on the answer's path only" in words) is not is_right and "path" in words
    grids = [each.attrib for each in svg.iter(f"{SVG}svg") if each is not svg]
    assert [float(each["width"]) for each in grids] == [GRID] * 3
    right, bottom = (float(svg.attrib[key]) - MARGIN for key in ("width", "height"))
    assert max(float(each["x"]) for each in grids) + GRID <= right
    assert max(float(each["y"]) + float(each["height"]) for each in grids) <= bottom


def test_arc_grids_keep_their_shapes_and_one_may_be_empty(arc: Any) -> None:
    row = [arc.answer_panel(arc.answer), None, arc.prediction_panel(np.zeros_like(arc.answer))]
    svg = ElementTree.fromstring(picture_svg([row], "t"))
    (grid,) = [each.attrib for each in svg.iter(f"{SVG}svg") if each is not svg]
    assert float(grid["height"]) / float(grid["width"]) == pytest.approx(3 / 5)
    assert "0×0, not 3×5" in [each.text for each in svg.iter(f"{SVG}text")]


def test_pixels_have_the_colours_of_the_cells(arc: Any) -> None:
    panel = arc.answer_panel(arc.answer)
    svg = picture_svg([[panel]], "a $title$")
    image = Image.open(io.BytesIO(png(svg))).convert("RGB")
    root = ElementTree.fromstring(svg)
    assert image.size == tuple(int(float(root.attrib[key]) * SCALE) for key in ("width", "height"))
    (grid,) = [each.attrib for each in root.iter(f"{SVG}svg") if each is not root]
    cell = float(grid["width"]) / 5.1
    left, top = float(grid["x"]), float(grid["y"])
    for (row, column), token in np.ndenumerate(panel.cells):
        place = tuple(int(SCALE * (start + (k + 0.3) * cell)) for start, k in ((left, column), (top, row)))
        assert image.getpixel(place) == rgb(ARC_COLOURS[token - 2]), (row, column)


def test_every_kind_of_panel_becomes_pixels_and_the_same_each_time(puzzles: list[Any]) -> None:
    for puzzle in puzzles:
        canvas = replace(puzzle, shows_canvas=True).question_panel()
        trace = puzzle.trace_panels({1: puzzle.question, 2: puzzle.answer})
        pictures = [picture_svg([[panel]], "") for panel in (canvas, *trace)]
        assert png(pictures[-1]) == png(pictures[-1])
        with Image.open(io.BytesIO(gif(pictures))) as image:
            assert getattr(image, "n_frames", 1) == 3
