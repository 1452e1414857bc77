"""Pictures: what is given, wrong and changed is so cell by cell, and a few puzzles look as they did before.

To renew a golden file, delete it and run the tests twice.
"""

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from rich.console import Console

from serrm.drawing.puzzles import DrawnPuzzle, Scene
from serrm.drawing.svg import picture_svg
from serrm.drawing.terminal import print_panels
from serrm.puzzles.arc.grids import encode
from serrm.puzzles.maze.data import TEXT as MAZE_TEXT
from serrm.puzzles.sudoku.data import TEXT as SUDOKU_TEXT
from serrm.puzzles.tasks import alphabet

GOLDEN = Path(__file__).parent / "golden"
SIDES = {"sudoku": 9, "maze": 6, "arc_agi_1": 5}


def sudoku(text: str) -> Any:
    return SUDOKU_TEXT.read(text)


def canvas(*rows: str) -> Any:
    return encode(np.array([list(map(int, row)) for row in rows], np.uint8), 5)


SUDOKU = DrawnPuzzle("sudoku", 4, sudoku("1.3.341.2..3.321"), sudoku("1234341221434321"))
MAZE = DrawnPuzzle("maze", 4, MAZE_TEXT.read("S #   # #  #   G"), MAZE_TEXT.read("So#  o# #oo#  oG"))
ARC = DrawnPuzzle("arc_agi_1", 5, canvas("01", "23"), canvas("012", "345"))
TRACES = {
    "sudoku": (SUDOKU, {1: sudoku("1434341221434322"), 16: sudoku("1234341221434321")}),
    "maze": (MAZE, {1: MAZE_TEXT.read("S #  o# #oo#  oG"), 16: MAZE_TEXT.read(" o# oo# #  #  oG")}),
    "arc": (ARC, {1: canvas("01"), 2: canvas("012", "945")}),
}
PUZZLES = {name: replace(puzzle, predictions=trace) for name, (puzzle, trace) in TRACES.items()}


def assert_golden(name: str, text: str) -> None:
    path = GOLDEN / name
    if not path.exists():
        path.write_text(text, encoding="utf-8")
        pytest.fail(f"{path} is new: look at it")
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("name", PUZZLES)
def test_a_scene_looks_as_before(name: str) -> None:
    scene = Scene(f"a {name} <&>", [PUZZLES[name]], [ARC] if name == "arc" else [])
    rows = scene.rows(has_answer=True, has_trace=True)
    assert_golden(f"{name}.svg", picture_svg(rows, scene.title))
    for suffix, color_system in (("txt", None), ("ansi", "truecolor")):
        stream = io.StringIO()
        console = Console(file=stream, width=70, force_terminal=bool(color_system), color_system=color_system)
        print_panels(console, rows, scene.title)
        assert_golden(f"{name}.{suffix}", stream.getvalue())


def grids(task: str) -> st.SearchStrategy[Any]:
    side = SIDES[task]
    return arrays(np.uint8, side**2, elements=st.integers(0, alphabet(task, side).num_symbols - 1))


@given(*[grids("sudoku")] * 4)
def test_a_sudoku_is_compared_cell_by_cell(question: Any, answer: Any, prediction: Any, before: Any) -> None:
    panel = DrawnPuzzle("sudoku", 9, question, answer).prediction_panel(prediction, before=before)
    assert np.array_equal(panel.cells.ravel(), prediction)
    assert np.array_equal(panel.is_given.ravel(), question != 1)
    assert np.array_equal(panel.is_wrong.ravel(), prediction != answer)
    assert np.array_equal(panel.is_changed.ravel(), prediction != before)
    is_wrong, is_blank = prediction != answer, question == 1
    counts = f"{np.sum(is_wrong & is_blank)} of {np.sum(is_blank)} blanks wrong"
    expected = counts + (", and clues" if (is_wrong & ~is_blank).any() else "")
    assert panel.remark == (expected if is_wrong.any() else "solved")
