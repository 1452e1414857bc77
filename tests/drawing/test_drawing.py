"""Pictures: what is given, wrong and changed is so cell by cell, and a few puzzles look as they did before.

To renew a golden file, delete it and run the tests twice.
"""

import io
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image
from rich.console import Console

from serrm.drawing.puzzles import DrawnPuzzle, Scene, settling_panels
from serrm.drawing.svg import picture_svg, write_picture
from serrm.drawing.terminal import print_panels
from serrm.puzzles.arc.grids import decode, encode
from serrm.puzzles.arc.record import COLOURS
from serrm.puzzles.maze.data import TEXT as MAZE_TEXT
from serrm.puzzles.sudoku.data import TEXT as SUDOKU_TEXT
from serrm.puzzles.tasks import alphabet

GOLDEN = Path(__file__).parent / "golden"
SIDES = {"sudoku": 9, "maze": 6, "arc_agi_1": 5}
EMPTY_MAZE = MAZE_TEXT.read("S" + " " * 34 + "G")


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


@pytest.mark.parametrize("name", PUZZLES)
def test_a_picture_is_written_in_every_format(name: str, tmp_path: Path) -> None:
    puzzle = PUZZLES[name]
    frames = [picture_svg([[panel]], "") for panel in puzzle.trace_panels(sorted(puzzle.predictions))]
    for file in ("a.svg", "new/a.png", "a.gif"):
        write_picture(tmp_path / file, frames)
    assert (tmp_path / "a.svg").read_text() == frames[0]
    with Image.open(tmp_path / "a.gif") as image:
        assert getattr(image, "n_frames", 1) == 2
    with Image.open(tmp_path / "new/a.png") as image:
        colours = {colour for _, colour in image.convert("RGB").getcolors(10**6) or []}
    if name == "arc":
        assert {tuple(bytes.fromhex(frame[1:])) for frame in COLOURS[:2]} <= colours
    assert len(colours) > 2


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


@given(*[grids("arc_agi_1")] * 2)
def test_an_arc_panel_is_the_grid_read_off_and_compared(answer: Any, prediction: Any) -> None:
    panel = DrawnPuzzle("arc_agi_1", 5, answer, answer).prediction_panel(prediction)
    ours, right = decode(prediction, 5), decode(answer, 5)
    assert np.array_equal(panel.cells, ours + 2)
    for (row, column), colour in np.ndenumerate(ours):
        is_inside = row < right.shape[0] and column < right.shape[1]
        assert panel.is_wrong[row, column] == (not is_inside or colour != right[row, column])
    assert (panel.remark == "right") == np.array_equal(ours, right)


@given(st.data(), st.sampled_from(["sudoku", "maze"]))
def test_every_panel_of_a_trace_shows_what_changed_since_the_one_before(
    data: st.DataObject, task: str
) -> None:
    question = EMPTY_MAZE if task == "maze" else data.draw(grids(task))
    predictions = data.draw(st.dictionaries(st.sampled_from([1, 2, 4, 8, 16]), grids(task), min_size=1))
    panels = DrawnPuzzle(task, SIDES[task], question, predictions=predictions).trace_panels(
        sorted(predictions)
    )
    assert len(panels) == len(predictions) and not panels[0].is_changed.any()
    for before, panel in pairwise(panels):
        assert np.array_equal(panel.is_changed, panel.cells != before.cells)
    assert not any(panel.is_wrong.any() for panel in panels)


def test_a_long_trace_shows_the_first_the_last_and_the_steps_that_changed_something() -> None:
    changing = [np.roll(SUDOKU.question, step) for step in range(20)]
    settled = [*changing[:3], *[changing[2]] * 17]

    def captions(predictions: list[Any], thin_above: int | None) -> list[str]:
        puzzle = replace(SUDOKU, predictions=dict(enumerate(predictions, start=1)))
        return [panel.caption.split()[1] for panel in settling_panels(puzzle, thin_above)[1:]]

    assert captions(settled, None) == ["1", "2", "3", "20"]
    assert captions(changing, None) == [str(step) for step in range(1, 21)]
    assert captions(changing, 12) == ["1", "2", "4", "8", "16", "20"]


def test_remarks_tell_solutions_and_other_paths_from_none() -> None:
    unanswered = DrawnPuzzle("sudoku", 4, SUDOKU.question)
    assert SUDOKU.answer is not None
    assert unanswered.prediction_panel(SUDOKU.answer).remark == "a solution"
    assert unanswered.prediction_panel(SUDOKU.question).remark == "no solution"
    answer = MAZE_TEXT.read("Sooooo" + "     o" * 4 + "     G")
    other = MAZE_TEXT.read("S     " + "o     " * 4 + "oooooG")
    longer = MAZE_TEXT.read("S ooo " + "ooo o " + "    o " * 2 + "    oo" + "     G")
    puzzle = DrawnPuzzle("maze", 6, EMPTY_MAZE, answer)
    assert [puzzle.prediction_panel(path).remark for path in (answer, other, longer, EMPTY_MAZE)] == [
        "exactly the answer",
        "another shortest path",
        "a path, not a shortest one",
        "no path",
    ]
    assert DrawnPuzzle("maze", 6, EMPTY_MAZE).prediction_panel(other).remark == "a shortest path"


@pytest.mark.parametrize(
    ("task", "side", "question"),
    [("chess", 4, SUDOKU.question), ("sudoku", 5, SUDOKU.question), ("sudoku", 4, SUDOKU.question + 9)],
)
def test_tokens_that_do_not_fit_the_task_are_refused(task: str, side: int, question: Any) -> None:
    with pytest.raises(ValueError):
        DrawnPuzzle(task, side, question)
