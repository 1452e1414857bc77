"""Drawings in a terminal: digits in order, official colours, marks; as wide as there is room, plain if need be."""

import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.segment import Segment
from rich.style import Style

from serrm.drawing.colours import (
    ARC_COLOURS,
    CHANGED_TINT,
    FILLED,
    GOAL,
    PAPER,
    START,
    WALL,
    WRONG,
    WRONG_TINT,
)
from serrm.drawing.panels import Panel, answer_panel, prediction_panel, question_panel, trace_panels
from serrm.drawing.terminal import Drawing
from serrm.puzzles.maze.grid import parse_maze
from serrm.puzzles.sudoku.generate import random_solution
from serrm.puzzles.sudoku.grid import box_for_side


def plain(rows: list[list[Panel | None]], title: str = "", width: int = 110, encoding: str = "utf-8") -> str:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="")
    Console(file=stream, width=width, color_system=None).print(Drawing(rows, title))
    stream.seek(0)
    return stream.read()


def coloured(rows: list[list[Panel | None]], width: int = 110) -> list[list[tuple[str, str, str, bool]]]:
    """Each character of each line, with its colour, its ground, and whether it is underlined."""
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system="truecolor")
    return [
        [cell for segment in line for cell in cells_of(segment)]
        for line in Segment.split_lines(console.render(Drawing(rows)))
    ]


def cells_of(segment: Segment) -> list[tuple[str, str, str, bool]]:
    style = segment.style or Style()
    colour, ground = (
        "" if part is None or part.triplet is None else part.triplet.hex.upper()
        for part in (style.color, style.bgcolor)
    )
    return [(character, colour, ground, bool(style.underline)) for character in segment.text]


def grid_of(text: str, num_rows: int) -> list[str]:
    """The lines of the first block: below caption and remark."""
    return text.splitlines()[2 : 2 + num_rows]


@pytest.mark.parametrize(("side", "lines"), [(4, 1), (6, 2), (9, 2), (16, 3), (25, 4)])
def test_the_digits_of_a_sudoku_stand_in_order(side: int, lines: int) -> None:
    rng = np.random.default_rng(side)
    answer = random_solution(box_for_side(side), rng) + np.uint8(1)
    question = np.where(rng.random(side**2) < 0.5, answer, 1).astype(np.uint8)
    text = plain([[question_panel("sudoku", side, question)]])
    grid = grid_of(text, side + lines)
    digits = [line.replace("│", " ").split() for line in grid if "─" not in line]
    symbols = ".123456789ABCDEFGHIJKLMNOP"
    expected = [[symbols[token - 1] for token in row] for row in question.reshape(side, side)]
    assert digits == expected
    assert sum("─" in line for line in grid) == lines
    assert "\x1b" not in text


def test_a_plain_sudoku_marks_what_is_wrong_and_what_changed(sudoku: Any) -> None:
    first, second = sudoku.answer.copy(), sudoku.answer.copy()
    first[[1, 3]], second[3] = 5, 2
    text = plain([trace_panels(*sudoku.basis, {1: first, 2: second}, sudoku.answer)])
    lines = text.splitlines()
    assert lines[0].startswith("after 1 step ")
    assert lines[2].startswith(" 1 4*│ 3 4 ")
    assert lines[2].endswith(" 1 2'│ 3 1*")
    assert lines[-1] == "* wrong    ' changed since the panel before"


def test_a_coloured_maze_has_a_line_through_its_path(maze: Any) -> None:
    lines = coloured([[answer_panel(*maze.basis, maze.answer)]])[2:6]
    rows = ["".join(character for character, *_ in line) for line in lines]
    assert rows == ["S━┓     ", "  ┃     ", "  ┗━┓   ", "    ┗━G "]
    grounds = [[ground for _, _, ground, _ in line[::2]] for line in lines]
    paint = {1: WALL, 2: PAPER, 3: START, 4: GOAL, 5: PAPER}
    assert grounds == [[paint[token] for token in row] for row in maze.answer.reshape(4, 4).tolist()]
    assert lines[1][2][1] == FILLED


def test_a_coloured_maze_shows_what_is_wrong_and_what_changed(maze: Any) -> None:
    prediction = parse_maze(" o# " + "oo# " + "#  #" + "  oG")
    panel = prediction_panel(*maze.basis, prediction, answer=maze.answer, before=maze.answer)
    lines = coloured([[panel]])[2:6]
    assert lines[0][0][2] == WRONG_TINT
    assert lines[1][0][:3] == ("╺", WRONG, CHANGED_TINT)
    assert lines[2][2][:3] == ("◦", FILLED, CHANGED_TINT)
    assert lines[3][4][:3] == ("╺", FILLED, PAPER)


def test_coloured_arc_cells_have_the_official_colours(arc: Any) -> None:
    wrong = arc.answer.copy()
    wrong[1] = 11
    panels = [
        answer_panel(*arc.basis, arc.answer),
        prediction_panel(*arc.basis, wrong, answer=arc.answer, before=arc.answer),
    ]
    lines = coloured([panels])[2:5]
    rows = arc.answer.reshape(arc.side, arc.side)[:3, :5]
    for line, row in zip(lines, rows, strict=True):
        grounds = [ground for _, _, ground, _ in line[:10]]
        assert grounds == [ARC_COLOURS[token - 2] for token in row for _ in range(2)]
    marks = [[character for character, *_ in line] for line in lines]
    assert "".join(marks[0]).endswith("  >▝      ")
    assert set(marks[1]) == {" "}


def test_plain_arc_cells_are_digits(arc: Any) -> None:
    wrong = arc.answer.copy()
    wrong[1] = 11
    panel = prediction_panel(*arc.basis, wrong, answer=arc.answer)
    assert grid_of(plain([[panel]]), 3) == ["0 9*2 3 4 ", "5 6 7 8 9 ", "9 0 9 0 9 "]
    canvas = question_panel(*arc.basis, shows_canvas=True)
    text = plain([[canvas]])
    assert grid_of(text, 4) == ["0 1 | . . . . ", "2 3 | . . . . ", "| | . . . . . ", ". . . . . . . "]
    assert text.splitlines()[-1] == "| end of grid    . padding"


@given(st.integers(20, 200))
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    question = parse_maze("S" + " " * 142 + "G")
    panels: list[Panel | None] = [question_panel("maze", 12, question) for _ in range(5)]
    for lines in (coloured([panels], width), plain([panels], width=width).splitlines()):
        assert max(map(len, lines)) <= width
    num_captions = plain([panels], width=width).count("question")
    assert num_captions == 5


def test_ascii_is_enough(puzzles: dict[str, Any]) -> None:
    for puzzle in puzzles.values():
        panels: list[Panel | None] = [
            question_panel(*puzzle.basis),
            *trace_panels(*puzzle.basis, {1: puzzle.question, 2: puzzle.answer}, puzzle.answer),
        ]
        text = plain([panels], "4×4 ✓", encoding="ascii")
        assert text.isascii()
        assert text.startswith("4x4 ?\n")
        stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
        Console(file=stream, width=110, force_terminal=True, color_system="truecolor").print(
            Drawing([panels])
        )
        stream.flush()
    assert "+" in plain([[question_panel(*puzzles["sudoku"].basis)]], encoding="ascii")
