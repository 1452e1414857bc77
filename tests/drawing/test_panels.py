"""Panels: what is given, wrong and changed is so cell by cell, and the remarks count it."""

from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from serrm.drawing.marks import MEANINGS, marked, marks_of
from serrm.drawing.panels import Puzzle
from serrm.puzzles.alphabet import alphabet
from serrm.puzzles.arc.canvas import decode
from serrm.puzzles.maze.grid import PATH, SPACE, parse_maze

SIDES = {"sudoku": 9, "maze": 6, "arc_agi_1": 5, "arc_agi_2": 5}
EMPTY_MAZE = parse_maze("S" + " " * 34 + "G")


def grids(task: str) -> st.SearchStrategy[Any]:
    side = SIDES[task]
    return arrays(np.uint8, side**2, elements=st.integers(0, alphabet(task, side).num_symbols - 1))


@given(*[grids("sudoku")] * 4)
def test_a_sudoku_is_compared_cell_by_cell(question: Any, answer: Any, prediction: Any, before: Any) -> None:
    panel = Puzzle("sudoku", 9, question, answer).prediction_panel(prediction, before=before)
    assert np.array_equal(panel.cells.ravel(), prediction)
    assert np.array_equal(panel.is_given.ravel(), question != 1)
    assert np.array_equal(panel.is_wrong.ravel(), prediction != answer)
    assert np.array_equal(panel.is_changed.ravel(), prediction != before)
    num_wrong = np.count_nonzero((prediction != answer)[question == 1])
    assert panel.remark == "solved" or f"{num_wrong} of " in panel.remark or "clue" in panel.remark


@given(*[grids("arc_agi_2")] * 2)
def test_an_arc_panel_is_the_grid_read_off_and_its_neighbours(answer: Any, prediction: Any) -> None:
    task, side = "arc_agi_2", SIDES["arc_agi_2"]
    panel = Puzzle(task, side, answer, answer).prediction_panel(prediction)
    ours, right = decode(prediction, side), decode(answer, side)
    assert np.array_equal(panel.cells, ours + 2)
    for (row, column), colour in np.ndenumerate(ours):
        is_inside = row < right.shape[0] and column < right.shape[1]
        assert panel.is_wrong[row, column] == (not is_inside or colour != right[row, column])
    is_same = ours.shape == right.shape and bool((ours == right).all())
    assert (panel.remark == "right") == is_same
    assert not panel.is_given.any()


@given(st.data(), st.sampled_from(["sudoku", "maze"]))
def test_every_panel_of_a_trace_shows_what_changed_since_the_one_before(
    data: st.DataObject, task: str
) -> None:
    question = EMPTY_MAZE if task == "maze" else data.draw(grids(task))
    predictions = data.draw(st.dictionaries(st.sampled_from([1, 2, 4, 8, 16]), grids(task), min_size=1))
    panels = Puzzle(task, SIDES[task], question).trace_panels(predictions)
    assert [panel.caption for panel in panels] == [
        f"after {steps} step{'s' if steps > 1 else ''}" for steps in sorted(predictions)
    ]
    assert not panels[0].is_changed.any()
    for before, panel in pairwise(panels):
        assert np.array_equal(panel.is_changed, panel.cells != before.cells)
    assert not any(panel.is_wrong.any() for panel in panels)


@given(arrays(bool, 36), grids("maze"))
def test_the_marks_of_a_maze_part_its_wrong_cells(is_on_path: Any, prediction: Any) -> None:
    question = parse_maze("S" + "# " * 17 + "G")
    answer = np.where((question == SPACE) & is_on_path, np.uint8(PATH), question)
    panel = Puzzle("maze", 6, question, answer).prediction_panel(prediction)
    masks = marked(panel)
    assert np.array_equal(masks["path"] | masks["stray"], panel.cells == PATH)
    assert np.array_equal(masks["stray"] | masks["missed"] | masks["overwritten"], panel.is_wrong)
    assert not (masks["missed"] & (masks["stray"] | masks["overwritten"])).any()
    assert marks_of([panel]) == [name for name in MEANINGS if name in masks and masks[name].any()]


def test_remarks_on_a_sudoku(sudoku: Any) -> None:
    one_wrong, clue_too, only_clue = (sudoku.answer.copy() for _ in range(3))
    one_wrong[1] = clue_too[1] = 1  # a blank
    clue_too[0] = only_clue[0] = 5
    predictions = (sudoku.answer, one_wrong, clue_too, only_clue)
    assert [sudoku.prediction_panel(each).remark for each in predictions] == [
        "solved",
        "1 of 6 blanks wrong",
        "1 of 6 blanks and 1 clue wrong",
        "1 clue wrong",
    ]
    unanswered = Puzzle("sudoku", 4, sudoku.question)
    assert [unanswered.prediction_panel(each).remark for each in (*predictions, 0 * one_wrong)] == [
        "a solution",
        *["no solution"] * 4,
    ]
    assert sudoku.question_panel().remark == "10 clues"


def test_remarks_on_a_maze_tell_other_paths_from_none() -> None:
    answer = parse_maze("Sooooo" + "     o" * 4 + "     G")
    other = parse_maze("S     " + "o     " * 4 + "oooooG")
    longer = parse_maze("S ooo " + "ooo o " + "    o " * 2 + "    oo" + "     G")
    broken = parse_maze("Sooooo" + "      " * 4 + "     G")
    puzzle = Puzzle("maze", 6, EMPTY_MAZE, answer)
    predictions = (answer, other, longer, broken, EMPTY_MAZE)
    assert [puzzle.prediction_panel(each).remark for each in predictions] == [
        "exactly the answer",
        "another shortest path",
        "a path, not a shortest one",
        "no path",
        "no path",
    ]
    assert Puzzle("maze", 6, EMPTY_MAZE).prediction_panel(other).remark == "a shortest path"
    assert puzzle.question_panel().remark == "6×6"
    assert puzzle.answer_panel(answer).remark == "a path of 10 steps"
