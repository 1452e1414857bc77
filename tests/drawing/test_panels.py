"""Panels: what is given, wrong and changed is so cell by cell, and the remarks count it."""

from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from serrm.drawing.marks import MEANINGS, marked, marks_of
from serrm.drawing.panels import (
    answer_panel,
    prediction_panel,
    question_panel,
    trace_panels,
)
from serrm.puzzles.arc.canvas import decode
from serrm.puzzles.maze.grid import PATH, SPACE, parse_maze

SIDES = {"sudoku": 9, "maze": 6, "arc_agi_1": 5, "arc_agi_2": 5}
NUM_SYMBOLS = {"sudoku": 11, "maze": 6, "arc_agi_1": 12, "arc_agi_2": 12}


def grids(task: str, first: int = 0) -> st.SearchStrategy[Any]:
    return arrays(np.uint8, SIDES[task] ** 2, elements=st.integers(first, NUM_SYMBOLS[task] - 1))


@given(st.data())
def test_a_sudoku_is_compared_cell_by_cell(data: st.DataObject) -> None:
    question, answer, prediction, before = (data.draw(grids("sudoku")) for _ in range(4))
    panel = prediction_panel("sudoku", 9, question, prediction, answer=answer, before=before)
    shape = (9, 9)
    assert np.array_equal(panel.cells, prediction.reshape(shape))
    assert np.array_equal(panel.is_given, (question != 1).reshape(shape))
    assert np.array_equal(panel.is_wrong, (prediction != answer).reshape(shape))
    assert np.array_equal(panel.is_changed, (prediction != before).reshape(shape))
    num_wrong = np.count_nonzero((prediction != answer)[question == 1])
    assert panel.remark == "solved" or f"{num_wrong} of " in panel.remark or "clue" in panel.remark


@given(st.data())
def test_an_arc_panel_is_the_grid_read_off_and_its_neighbours(data: st.DataObject) -> None:
    task, side = "arc_agi_2", SIDES["arc_agi_2"]
    answer, prediction = data.draw(grids(task)), data.draw(grids(task))
    panel = prediction_panel(task, side, answer, prediction, answer=answer)
    ours, right = decode(prediction, side), decode(answer, side)
    assert np.array_equal(panel.cells, ours + 2)
    for (row, column), colour in np.ndenumerate(ours):
        is_inside = row < right.shape[0] and column < right.shape[1]
        assert panel.is_wrong[row, column] == (not is_inside or colour != right[row, column])
    is_same = ours.shape == right.shape and bool((ours == right).all())
    assert (panel.remark == "right") == is_same
    assert not panel.is_given.any()


@given(st.data())
def test_every_panel_of_a_trace_shows_what_changed_since_the_one_before(data: st.DataObject) -> None:
    task = data.draw(st.sampled_from(["sudoku", "maze"]))
    side = SIDES[task]
    question = data.draw(grids(task))
    if task == "maze":
        question = parse_maze("S" + " " * 34 + "G")
    predictions = data.draw(st.dictionaries(st.sampled_from([1, 2, 4, 8, 16]), grids(task), min_size=1))
    panels = trace_panels(task, side, question, predictions)
    assert [panel.caption for panel in panels] == [
        f"after {steps} step{'s' if steps > 1 else ''}" for steps in sorted(predictions)
    ]
    assert not panels[0].is_changed.any()
    for before, panel in pairwise(panels):
        assert np.array_equal(panel.is_changed, panel.cells != before.cells)
    assert not any(panel.is_wrong.any() for panel in panels)


@given(st.data())
def test_the_marks_of_a_maze_part_its_wrong_cells(data: st.DataObject) -> None:
    question = parse_maze("S" + "# " * 17 + "G")
    answer = np.where((question == SPACE) & data.draw(arrays(bool, 36)), np.uint8(PATH), question)
    panel = prediction_panel("maze", 6, question, data.draw(grids("maze")), answer=answer)
    masks = marked(panel)
    path = panel.cells == PATH
    assert np.array_equal(masks["path"] | masks["stray"], path)
    assert np.array_equal(masks["stray"] | masks["missed"] | masks["overwritten"], panel.is_wrong)
    assert not (masks["missed"] & (masks["stray"] | masks["overwritten"])).any()
    assert marks_of([panel]) == [name for name in MEANINGS if name in masks and masks[name].any()]


def test_remarks_on_a_sudoku(sudoku: Any) -> None:
    blank = np.flatnonzero(sudoku.question == 1)
    one_wrong, clue_too = sudoku.answer.copy(), sudoku.answer.copy()
    one_wrong[blank[0]] = clue_too[blank[0]] = 1
    clue_too[0] = 5
    only_clue = sudoku.answer.copy()
    only_clue[0] = 5
    cases = [
        (sudoku.answer, "solved"),
        (one_wrong, "1 of 6 blanks wrong"),
        (clue_too, "1 of 6 blanks and 1 clue wrong"),
        (only_clue, "1 clue wrong"),
    ]
    for prediction, remark in cases:
        assert prediction_panel(*sudoku.basis, prediction, answer=sudoku.answer).remark == remark
    assert prediction_panel(*sudoku.basis, sudoku.answer).remark == "a solution"
    for prediction in (one_wrong, only_clue, np.zeros(16, dtype=np.uint8)):
        assert prediction_panel(*sudoku.basis, prediction).remark == "no solution"
    assert question_panel(*sudoku.basis).remark == "10 clues"


def test_remarks_on_a_maze_tell_other_paths_from_none() -> None:
    question = parse_maze("S     " + " " * 24 + "     G")
    answer = parse_maze("Sooooo" + "     o" * 4 + "     G")
    other = parse_maze("S     " + "o     " * 4 + "oooooG")
    longer = parse_maze("S ooo " + "ooo o " + "    o " * 2 + "    oo" + "     G")
    broken = parse_maze("Sooooo" + "      " * 4 + "     G")
    remarks = [
        prediction_panel("maze", 6, question, prediction, answer=answer).remark
        for prediction in (answer, other, longer, broken, question)
    ]
    assert remarks == [
        "exactly the answer",
        "another shortest path",
        "a path, not a shortest one",
        "no path",
        "no path",
    ]
    assert prediction_panel("maze", 6, question, other).remark == "a shortest path"
    assert question_panel("maze", 6, question).remark == "6×6"
    assert answer_panel("maze", 6, question, answer).remark == "a path of 10 steps"
