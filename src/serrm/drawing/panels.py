"""What a picture shows, whatever draws it: grids of tokens, and which of their cells are given, wrong, changed.

First step of every drawing: the tokens of a question, its answer and predictions become panels. `grids` and
`terminal` take it from there; neither compares anything. Tasks and tokens are those of the paper's three
families of puzzles (`serrm.puzzles.alphabet`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, UInt8

from serrm.drawing.tasks import TASKS, Look
from serrm.puzzles.alphabet import alphabet
from serrm.puzzles.arc.canvas import FIRST_COLOUR, PADDING, decode
from serrm.puzzles.sudoku.grid import box_for_side

Tokens = UInt8[np.ndarray, " I"]
# R × C; the axes have no names, for the panels of one picture differ in size.
Cells = UInt8[np.ndarray, "_ _"]
Mask = Bool[np.ndarray, "_ _"]


@dataclass(frozen=True, eq=False)
class Panel:
    """One grid of a picture: R × C tokens of a task, and three masks of the same shape.

    `is_given` marks what the question fixes (the clues of a Sudoku; walls, start and goal of a maze; nothing in
    ARC), `is_wrong` what differs from the answer, `is_changed` what differs from the panel before. `remark` says
    in a few words how good a prediction is.
    """

    task: str
    caption: str
    cells: Cells
    is_given: Mask
    is_wrong: Mask
    is_changed: Mask
    remark: str = ""

    @property
    def look(self) -> Look:
        """How the cells are drawn."""
        return TASKS[self.task].look

    @property
    def num_rows(self) -> int:
        """R."""
        return len(self.cells)

    @property
    def num_columns(self) -> int:
        """C."""
        return int(self.cells.shape[1])


def question_panel(
    task: str, side: int, question: Tokens, caption: str = "question", *, shows_canvas: bool = False
) -> Panel:
    """What is asked, as I = side² tokens.

    `shows_canvas` is for ARC, here and below: the whole canvas, not only the grid that is read off it.

    Raises:
        ValueError: here and below, an unknown task, a number of tokens other than side², or a token that the task
            has not.
    """
    return answer_panel(task, side, question, question, caption, shows_canvas=shows_canvas)


def answer_panel(
    task: str,
    side: int,
    question: Tokens,
    answer: Tokens,
    caption: str = "answer",
    *,
    shows_canvas: bool = False,
) -> Panel:
    """The answer to a question, both I = side² tokens; what the question gives is told from what it asks for."""
    cells = _visible(task, side, answer, shows_canvas)
    nothing = np.zeros(cells.shape, dtype=bool)
    remark = TASKS[task].remark(side, answer)
    return Panel(task, caption, cells, _given(task, side, question, cells), nothing, nothing, remark)


def prediction_panel(
    task: str, side: int, question: Tokens, prediction: Tokens, caption: str = "prediction", *,
    answer: Tokens | None = None, before: Tokens | None = None, shows_canvas: bool = False,
) -> Panel:  # fmt: skip
    """What a model makes of a question, I = side² tokens each.

    With the answer, cells that differ are wrong, but for those that it leaves as padding, and the remark says how
    many; with the tokens of the panel `before`, cells that differ have changed.
    """
    cells = _visible(task, side, prediction, shows_canvas)
    is_wrong = is_changed = np.zeros(cells.shape, dtype=bool)
    if answer is not None:
        right = _visible(task, side, answer, shows_canvas)
        is_wrong = _differs(cells, right)
        if shows_canvas:
            is_wrong &= right != PADDING
    if before is not None:
        is_changed = _differs(cells, _visible(task, side, before, shows_canvas))
    remark = TASKS[task].judge(side, prediction, question, answer)
    return Panel(task, caption, cells, _given(task, side, question, cells), is_wrong, is_changed, remark)


def trace_panels(
    task: str, side: int, question: Tokens, predictions: Mapping[int, Tokens], answer: Tokens | None = None, *,
    shows_canvas: bool = False,
) -> list[Panel]:  # fmt: skip
    """Predictions by the number of supervision steps they were made after, fewest first, I = side² tokens each.

    From the second on, cells that changed since the panel before are marked.
    """
    panels, before = [], None
    for steps in sorted(predictions):
        marks: Any = {"answer": answer, "before": before, "shows_canvas": shows_canvas}
        before = predictions[steps]
        panels.append(prediction_panel(task, side, question, before, after_steps(steps), **marks))
    return panels


def after_steps(num_steps: int) -> str:
    """The caption of a prediction."""
    return f"after {num_steps} step{'' if num_steps == 1 else 's'}"


def as_tokens(values: Sequence[int]) -> Tokens:
    """Tokens from a file."""
    return np.array(values, dtype=np.uint8)


def check_tokens(task: str, side: int, tokens: Tokens) -> None:
    """ValueError unless the task is known, has such a grid, and the tokens are side² of its own."""
    if task not in TASKS:
        raise ValueError(f"task {task!r} is none of {', '.join(TASKS)}")
    if len(tokens) != side**2:
        raise ValueError(f"{len(tokens)} tokens are no {side}×{side} grid")
    if TASKS[task].look == "digits":
        box_for_side(side)
    num_symbols = alphabet(task, side).num_symbols
    if tokens.max() >= num_symbols:
        raise ValueError(f"token {tokens.max()} is none of the {num_symbols} of {task} with side {side}")


def _visible(task: str, side: int, tokens: Tokens, shows_canvas: bool) -> Cells:
    """The tokens that are seen, as a grid: of an ARC canvas the part that is read off it."""
    check_tokens(task, side, tokens)
    if TASKS[task].look == "colours" and not shows_canvas:
        grid: Cells = decode(tokens, side) + np.uint8(FIRST_COLOUR)
        return grid
    return tokens.reshape(side, side)


def _given(task: str, side: int, question: Tokens, cells: Cells) -> Mask:
    check_tokens(task, side, question)
    asked_for = TASKS[task].asked_for
    if asked_for is None:
        return np.zeros(cells.shape, dtype=bool)
    is_given: Mask = question.reshape(side, side) != asked_for
    return is_given


def _differs(cells: Cells, other: Cells) -> Mask:
    """Where a grid is not as another, which may have another size: what lies beyond the other differs."""
    rows, columns = np.minimum(cells.shape, other.shape)
    is_different = np.ones(cells.shape, dtype=bool)
    is_different[:rows, :columns] = cells[:rows, :columns] != other[:rows, :columns]
    return is_different
