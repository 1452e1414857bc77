"""Drawings in a terminal: digits in order, official colours, marks; as wide as there is room, plain if need be."""

import io
from dataclasses import replace
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
from serrm.drawing.panels import Panel, Puzzle
from serrm.drawing.terminal import Drawing
from serrm.puzzles.maze.grid import parse_maze
from serrm.puzzles.sudoku.generate import random_solution
from serrm.puzzles.sudoku.grid import box_for_side


def plain(panels: list[Panel], title: str = "", width: int = 110, encoding: str = "utf-8") -> list[str]:
    """The lines below the title, without the blanks at their ends."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="")
    Console(file=stream, width=width, color_system=None).print(Drawing([panels], title))
    stream.seek(0)
    first, _, *lines = (line.rstrip() for line in stream.read().splitlines())
    assert first.isascii() or encoding != "ascii"
    return lines


def coloured(panels: list[Panel], width: int = 110) -> list[list[tuple[str, str, str]]]:
    """Each character of each line below the title, with its colour and its ground."""
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system="truecolor")
    lines = Segment.split_lines(console.render(Drawing([panels], "")))
    return [[cell for segment in line for cell in cells_of(segment)] for line in lines][2:]


def cells_of(segment: Segment) -> list[tuple[str, str, str]]:
    style = segment.style or Style()
    colour, ground = (
        "" if part is None or part.triplet is None else part.triplet.hex.upper()
        for part in (style.color, style.bgcolor)
    )
    return [(character, colour, ground) for character in segment.text]


@pytest.mark.parametrize(("side", "num_rules"), [(4, 1), (6, 2), (9, 2), (16, 3), (25, 4)])
def test_the_digits_of_a_sudoku_stand_in_order(side: int, num_rules: int) -> None:
    rng = np.random.default_rng(side)
    answer = random_solution(box_for_side(side), rng) + np.uint8(1)
    question = np.where(rng.random(side**2) < 0.5, answer, 1).astype(np.uint8)
    _, _, *grid = plain([Puzzle("sudoku", side, question).question_panel()])
    digits = [line.replace("│", " ").split() for line in grid if "─" not in line]
    symbols = ".123456789ABCDEFGHIJKLMNOP"
    assert digits == [[symbols[token - 1] for token in row] for row in question.reshape(side, side)]
    assert len(grid) == side + num_rules
    assert "\x1b" not in "".join(grid)


def test_a_plain_sudoku_marks_what_is_wrong_and_what_changed(sudoku: Any) -> None:
    first, second = sudoku.answer.copy(), sudoku.answer.copy()
    first[[1, 3]], second[3] = 5, 2
    lines = plain(sudoku.trace_panels({1: first, 2: second}))
    assert lines[0].startswith("after 1 step ")
    assert lines[2].startswith(" 1 4*│ 3 4 ")
    assert lines[2].endswith(" 1 2'│ 3 1*")
    assert lines[-1] == "* wrong    ' changed since the panel before"


def test_a_coloured_maze_has_a_line_through_its_path(maze: Any) -> None:
    lines = [line[:8] for line in coloured([maze.answer_panel(maze.answer)])[2:6]]
    rows = ["".join(character for character, *_ in line) for line in lines]
    assert rows == ["S━┓     ", "  ┃     ", "  ┗━┓   ", "    ┗━G "]
    grounds = [[ground for _, _, ground in line[::2]] for line in lines]
    paint = {1: WALL, 2: PAPER, 3: START, 4: GOAL, 5: PAPER}
    assert grounds == [[paint[token] for token in row] for row in maze.answer.reshape(4, 4).tolist()]
    assert lines[1][2][1] == FILLED


def test_a_coloured_maze_shows_what_is_wrong_and_what_changed(maze: Any) -> None:
    prediction = parse_maze(" o# " + "oo# " + "#  #" + "  oG")
    lines = coloured([maze.prediction_panel(prediction, before=maze.answer)])[2:6]
    assert lines[0][0][2] == WRONG_TINT
    assert lines[1][0] == ("╺", WRONG, CHANGED_TINT)
    assert lines[2][2] == ("◦", FILLED, CHANGED_TINT)
    assert lines[3][4] == ("╺", FILLED, PAPER)


def test_arc_cells_have_the_official_colours_or_digits_and_marks(arc: Any) -> None:
    wrong = arc.answer.copy()
    wrong[1] = 11
    prediction = arc.prediction_panel(wrong, before=arc.answer)
    lines = coloured([arc.answer_panel(arc.answer), prediction])[2:5]
    for line, row in zip(lines, arc.answer.reshape(arc.side, arc.side)[:3, :5], strict=True):
        grounds = [ground for _, _, ground in line[:10]]
        assert grounds == [ARC_COLOURS[token - 2] for token in row for _ in range(2)]
    marks = ["".join(character for character, *_ in line) for line in lines]
    assert "  >▝      " in marks[0] and marks[1].isspace()
    assert plain([prediction])[2:5] == ["0 9*2 3 4", "5 6 7 8 9", "9 0 9 0 9"]
    _, _, *canvas, _, legend = plain([replace(arc, shows_canvas=True).question_panel()])
    assert canvas[:4] == ["0 1 | . . . .", "2 3 | . . . .", "| | . . . . .", ". . . . . . ."]
    assert legend == "| end of grid    . padding"


@given(st.integers(20, 200))
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    panels = [Puzzle("maze", 12, parse_maze("S" + " " * 142 + "G")).question_panel()] * 5
    lines = plain(panels, width=width)
    assert max(map(len, [*coloured(panels, width), *lines])) <= width
    assert "".join(lines).count("question") == 5


def test_ascii_is_enough(puzzles: list[Any]) -> None:
    for puzzle in puzzles:
        trace = puzzle.trace_panels({1: puzzle.question, 2: puzzle.answer})
        assert all(
            line.isascii() for line in plain([puzzle.question_panel(), *trace], "4×4 ✓", encoding="ascii")
        )
        stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
        console = Console(file=stream, width=110, force_terminal=True, color_system="truecolor")
        console.print(Drawing([trace], "4×4 ✓"))
        stream.flush()
    assert "+" in "".join(plain([puzzles[0].question_panel()], encoding="ascii"))
