"""Figures, by their pixels and texts: official colours, digits, tints, lines; the same bytes every time."""

import io
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from serrm.drawing.colours import (
    ARC_COLOURS,
    CHANGED,
    CHANGED_TINT,
    FILLED,
    GIVEN_TINT,
    GOAL,
    INK,
    PAPER,
    START,
    WALL,
    WRONG,
    WRONG_TINT,
    painted,
    rgb,
)
from serrm.drawing.figure import draw_figure, figure_bytes, save_figure
from serrm.drawing.layout import MARGIN, MAX_WIDTH, text_width
from serrm.drawing.panels import Panel, answer_panel, prediction_panel, question_panel, trace_panels
from serrm.puzzles.maze.grid import parse_maze
from serrm.puzzles.sudoku.generate import random_solution
from serrm.puzzles.sudoku.grid import box_for_side

OFFICIAL = "000000 0074D9 FF4136 2ECC40 FFDC00 AAAAAA F012BE FF851B 7FDBFF 870C25"
LookAt = Callable[[Figure], Callable[[Axes, float, float], str]]


def panels_of(puzzle: Any, prediction: Any, before: Any = None) -> list[Panel]:
    return [
        question_panel(*puzzle.basis),
        answer_panel(*puzzle.basis, puzzle.answer),
        prediction_panel(*puzzle.basis, prediction, answer=puzzle.answer, before=before),
    ]


def texts_of(axes: Axes) -> dict[tuple[int, int], Any]:
    """The texts on a panel by (row, column)."""
    return {(int(text.get_position()[1]), int(text.get_position()[0])): text for text in axes.texts}


def legend_of(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_arc_has_the_official_colours(arc: Any, looked_at: LookAt) -> None:
    assert " ".join(colour.removeprefix("#") for colour in ARC_COLOURS) == OFFICIAL
    figure = draw_figure([panels_of(arc, arc.answer)])
    colour = looked_at(figure)
    rows = arc.answer.reshape(arc.side, arc.side)
    for axes in figure.axes[1:]:
        assert axes.get_xlim() == (0, 5)
        assert axes.get_ylim() == (3, 0)
        for row, column in np.ndindex(3, 5):
            assert colour(axes, row + 0.5, column + 0.5) == ARC_COLOURS[rows[row, column] - 2]
    assert figure.axes[0].get_xlim() == (0, 2)


def test_wrong_cells_of_arc_are_crossed_and_changed_ones_have_a_corner(arc: Any, looked_at: LookAt) -> None:
    prediction = arc.answer.copy()
    prediction[0] = 6
    figure = draw_figure([panels_of(arc, prediction, before=arc.answer)])
    colour, axes = looked_at(figure), figure.axes[2]
    assert colour(axes, 0.5, 0.5) == PAPER  # the cross
    assert colour(axes, 0.15, 0.88) == PAPER  # the corner
    assert colour(axes, 0.9, 0.15) == ARC_COLOURS[4]
    assert colour(axes, 0.5, 1.5) == ARC_COLOURS[1]
    assert legend_of(figure) == ["wrong", "changed since the panel before"]
    assert legend_of(draw_figure([panels_of(arc, arc.answer)])) == []


def test_a_whole_canvas_is_hatched_beyond_the_grid(arc: Any, looked_at: LookAt) -> None:
    figure = draw_figure([[question_panel(*arc.basis, shows_canvas=True)]])
    assert figure.axes[0].get_xlim() == (0, arc.side)
    assert legend_of(figure) == ["end of grid", "padding"]
    colour = looked_at(figure)
    places = np.linspace(0.1, 0.9, 30)
    for row, column in ((2, 0), (5, 5)):
        seen = {colour(figure.axes[0], row + place, column + 0.5) for place in places}
        assert PAPER in seen
        assert len(seen) > 1
    seen = {colour(figure.axes[0], 0.5, 1 + place) for place in places}
    assert seen == {ARC_COLOURS[1]}


def test_an_empty_prediction_is_an_empty_place(arc: Any, looked_at: LookAt) -> None:
    figure = draw_figure([panels_of(arc, np.zeros_like(arc.answer))])
    assert looked_at(figure)(figure.axes[2], 0.5, 0.5) == PAPER


@pytest.mark.parametrize("side", [4, 6, 9, 16, 25])
def test_every_digit_of_a_sudoku_is_there(side: int) -> None:
    rng = np.random.default_rng(side)
    answer = random_solution(box_for_side(side), rng) + np.uint8(1)
    question = np.where(rng.random(side**2) < 0.4, answer, 1).astype(np.uint8)
    figure = draw_figure(
        [[question_panel("sudoku", side, question), answer_panel("sudoku", side, question, answer)]]
    )
    symbols = ".123456789ABCDEFGHIJKLMNOP"
    for axes, tokens in zip(figure.axes, (question, answer), strict=True):
        shown = texts_of(axes)
        assert len(shown) == len(axes.texts) == np.count_nonzero(tokens > 1)
        for (row, column), text in shown.items():
            cell = row * side + column
            assert text.get_text() == symbols[tokens[cell] - 1]
            is_given = question[cell] > 1
            assert (text.get_color(), text.get_fontweight()) == (
                (INK, "bold") if is_given else (FILLED, "normal")
            )
            assert text.get_fontsize() > 9  # readable
    width, height = figure.get_size_inches()
    assert max(width, height) * figure.dpi < MAX_WIDTH


def test_a_sudoku_is_tinted_where_given_and_where_wrong(sudoku: Any, looked_at: LookAt) -> None:
    prediction = sudoku.answer.copy()
    prediction[[0, 1, 4]] = 5, 5, 1  # a clue, a blank filled in wrongly, and one left blank
    figure = draw_figure([panels_of(sudoku, prediction)])
    colour = looked_at(figure)
    is_given = (sudoku.question > 1).reshape(4, 4)
    is_wrong = (prediction != sudoku.answer).reshape(4, 4)
    for place, axes in enumerate(figure.axes):
        for row, column in np.ndindex(4, 4):
            shade = GIVEN_TINT if is_given[row, column] else PAPER
            if place == 2 and is_wrong[row, column]:
                shade = WRONG_TINT
            assert colour(axes, row + 0.12, column + 0.12) == shade
    assert is_wrong.sum() == 3
    assert (1, 0) not in texts_of(figure.axes[2])
    assert legend_of(figure) == ["given", "filled in", "wrong"]


def test_boxes_have_thicker_lines_than_cells(sudoku: Any) -> None:
    figure = draw_figure([[question_panel(*sudoku.basis)]])
    image = np.asarray(Image.open(io.BytesIO(figure_bytes(figure, ".png"))).convert("L"))
    axes = figure.axes[0]
    (left, top), (right, _) = (axes.transData.transform(place) for place in ((0, 0.2), (4, 0.2)))
    row = image[image.shape[0] - 1 - int(top), int(left) + 8 : int(right) - 8]
    edges = np.flatnonzero(np.diff(np.concatenate([[0], (row < 225).astype(int), [0]])))
    starts, ends = edges[::2], edges[1::2]
    thin_left, thick, thin_right = ends - starts
    assert thick > max(thin_left, thin_right)
    assert row[starts[1] : ends[1]].min() < 60 < row[starts[0] : ends[0]].min()


def test_changed_digits_have_a_corner(sudoku: Any, looked_at: LookAt) -> None:
    before = sudoku.answer.copy()
    before[1] = 5
    figure = draw_figure([trace_panels(*sudoku.basis, {1: before, 2: sudoku.answer}, sudoku.answer)])
    colour = looked_at(figure)
    first, second = figure.axes
    assert colour(second, 0.12, 1.9) == CHANGED
    assert colour(first, 0.12, 1.9) == WRONG_TINT
    assert colour(second, 1.12, 0.9) == GIVEN_TINT
    assert "changed since the panel before" in legend_of(figure)


def test_a_maze_has_walls_ends_and_a_line_through_its_path(maze: Any, looked_at: LookAt) -> None:
    figure = draw_figure([panels_of(maze, maze.answer)])
    colour = looked_at(figure)
    for axes in figure.axes:
        for row, column in np.ndindex(4, 4):
            token = maze.question[4 * row + column]
            expected = {1: WALL, 2: PAPER, 3: START, 4: GOAL}[token]
            offset = (0.5, 0.95) if token > 2 else (0.12, 0.12)  # beside the letter
            assert colour(axes, row + offset[0], column + offset[1]) == expected
    # From cell to cell, and only where a path is drawn.
    way = [(0, 1), (1, 1), (2, 1), (2, 2), (3, 2), (3, 3)]
    between = [((a + c + 1) / 2, (b + d + 1) / 2) for (a, b), (c, d) in pairwise(way)]
    for place in between[:-1]:
        assert colour(figure.axes[0], *place) == PAPER
        assert colour(figure.axes[1], *place) == FILLED
        assert colour(figure.axes[2], *place) == FILLED
    letters = {place: text.get_text() for place, text in texts_of(figure.axes[0]).items()}
    assert letters == {(0, 0): "S", (3, 3): "G"}
    assert legend_of(figure) == ["path"]


def test_a_wrong_path_has_another_colour_than_a_right_one(maze: Any, looked_at: LookAt) -> None:
    prediction = parse_maze(" o# " + "oo# " + "#  #" + "# oG")
    figure = draw_figure([panels_of(maze, prediction, before=maze.answer)])
    colour, axes = looked_at(figure), figure.axes[2]
    assert colour(axes, 1.0, 1.5) == FILLED  # right to right
    assert colour(axes, 1.5, 1.0) == WRONG  # wrong to right
    assert colour(axes, 2.5, 1.5) == PAPER  # missed: a ring
    assert FILLED in {colour(axes, 2.5, column) for column in np.linspace(1.6, 1.8, 30)}
    assert colour(axes, 2.12, 1.12) == CHANGED_TINT
    assert colour(axes, 0.12, 0.12) == WRONG_TINT  # the start is gone
    assert colour(axes, 3.88, 0.12) == WALL  # a wall where none was given
    assert legend_of(figure) == [
        "path",
        "not on the answer's path",
        "on the answer's path only",
        "not as given",
        "changed since the panel before",
    ]


def test_a_lone_path_cell_is_a_dot(looked_at: LookAt) -> None:
    question = parse_maze("S  " + "   " + "  G")
    prediction = parse_maze("S  " + " o " + "  G")
    figure = draw_figure([[prediction_panel("maze", 3, question, prediction)]])
    assert looked_at(figure)(figure.axes[0], 1.5, 1.5) == FILLED


def test_cells_are_whole_pixels_and_panels_keep_apart(puzzles: dict[str, Any]) -> None:
    for puzzle in puzzles.values():
        row = panels_of(puzzle, puzzle.question)
        figure = draw_figure(
            [row, [None, row[1]]], "A title that is much longer than the panels are wide" * 3
        )
        renderer = FigureCanvasAgg(figure).get_renderer()
        boxes = [axes.get_window_extent(renderer) for axes in figure.axes]
        cells = {
            round(box.width / (axes.get_xlim()[1] - axes.get_xlim()[0]), 6)
            for box, axes in zip(boxes, figure.axes, strict=True)
        }
        assert len(cells) == 1
        assert cells.pop().is_integer()
        written = [text.get_window_extent(renderer) for text in figure.texts]
        everything = boxes + written + [legend.get_window_extent(renderer) for legend in figure.legends]
        for number, box in enumerate(everything):
            assert not any(box.overlaps(other) for other in everything[number + 1 :])
            assert box.x0 >= MARGIN - 6
            assert box.x1 <= figure.bbox.width - MARGIN / 2
            assert 0 < box.y0 < box.y1 < figure.bbox.height
        assert boxes[1].x0 == boxes[3].x0


@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_the_same_panels_are_the_same_bytes(puzzles: dict[str, Any], suffix: str) -> None:
    for puzzle in puzzles.values():
        first, second = (
            figure_bytes(draw_figure([panels_of(puzzle, puzzle.question)], "title"), suffix) for _ in range(2)
        )
        assert first == second


def test_an_svg_is_xml_with_shapes_and_no_picture_in_it(arc: Any) -> None:
    content = figure_bytes(draw_figure([panels_of(arc, arc.question)], "a < b & $c"), ".svg").decode()
    root = ElementTree.fromstring(content)
    assert root.tag.endswith("svg")
    assert "<image" not in content
    assert not re.search(r"\d{4}-\d\d-\d\d|matplotlib v", content)
    fills = set(re.findall(r"fill: (#[0-9a-f]{6})", content))
    assert {colour.lower() for colour in ARC_COLOURS[1:]} <= fills


def test_dollars_are_no_formula(sudoku: Any) -> None:
    figure = draw_figure([[question_panel(*sudoku.basis, "$x$ or $")]], "$a^2$")
    assert {"$x$ or $", "$a^2$"} <= {text.get_text() for text in figure.texts}
    assert text_width("$a$", 13) > text_width("a", 13)


def test_a_picture_is_saved_whole_or_not_at_all(sudoku: Any, tmp_path: Path) -> None:
    figure = draw_figure([[question_panel(*sudoku.basis)]])
    save_figure(figure, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes() == figure_bytes(figure, ".png")
    with pytest.raises(ValueError, match=r"written as \.svg or \.png, not as '\.pdf'"):
        save_figure(figure, tmp_path / "a.pdf")
    (tmp_path / "b.svg").mkdir()
    with pytest.raises(OSError, match=re.escape("b.svg")):
        save_figure(figure, tmp_path / "b.svg")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.png", "b.svg"]


def test_a_picture_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one panel"):
        draw_figure([[None], []])


def test_colours_are_written_as_they_are_painted() -> None:
    assert rgb("#0074D9") == (0, 0x74, 0xD9)
    image = painted(np.array([[0, 1], [1, 1]], dtype=np.uint8), ("#000102", "#FFFEFD"))
    assert image.tolist() == [[[0, 1, 2], [255, 254, 253]], [[255, 254, 253]] * 2]


def test_our_marks_differ_in_lightness_from_what_they_stand_on() -> None:
    def lightness(colour: str) -> float:
        red, green, blue = ((value / 255) ** 2.2 for value in rgb(colour))
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    pairs = [(FILLED, PAPER), (INK, GIVEN_TINT), (FILLED, WRONG_TINT), (WRONG, PAPER), (WALL, PAPER)]
    for ink, ground in pairs:
        dark, light = sorted((lightness(ink), lightness(ground)))
        assert (light + 0.05) / (dark + 0.05) > 3  # the contrast asked of graphics by WCAG 2.1
