"""What a picture shows, whatever draws it: grids of tokens, and which of their cells are given, wrong, changed.

First step of every drawing: the tokens of a question, its answer and predictions become panels. `grids` and
`terminal` take it from there; neither compares anything. Tasks and tokens are those of the paper's three
families of puzzles (`serrm.puzzles.alphabet`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, UInt8

from serrm.drawing.tasks import TASKS, Look, Tokens
from serrm.puzzles.alphabet import alphabet
from serrm.puzzles.arc.canvas import FIRST_COLOUR, PADDING, decode
from serrm.puzzles.sudoku.grid import box_for_side

# R × C; the axes have no names, for the panels of one picture differ in size.
Cells = UInt8[np.ndarray, "_ _"]
Mask = Bool[np.ndarray, "_ _"]


@dataclass(frozen=True, eq=False)
class Panel:
    """One grid of a picture: R × C tokens, how they are drawn, and three masks of the same shape.

    `is_given` marks what the question fixes (the clues of a Sudoku; walls, start and goal of a maze; nothing in
    ARC), `is_wrong` what differs from the answer, `is_changed` what differs from the panel before. `remark` says
    in a few words how good a prediction is.
    """

    look: Look
    caption: str
    cells: Cells
    is_given: Mask
    is_wrong: Mask
    is_changed: Mask
    remark: str


@dataclass(frozen=True, eq=False)
class Puzzle:
    """A question of a task and its answer, if known, as I = side² tokens each, of which panels are made.

    `shows_canvas` is for ARC: the whole canvas is shown, not only the grid that is read off it. Methods raise
    ValueError for an unknown task, a number of tokens other than side², or a token that the task does not have.
    """

    task: str
    side: int
    question: Tokens
    answer: Tokens | None = None
    shows_canvas: bool = False

    def __post_init__(self) -> None:
        """Raise ValueError unless the tokens are a grid of the task."""
        check_tokens(self.task, self.side, self.question)
        if self.answer is not None:
            check_tokens(self.task, self.side, self.answer)

    def question_panel(self, caption: str = "question") -> Panel:
        """What is asked."""
        return self.answer_panel(self.question, caption)

    def answer_panel(self, answer: Tokens, caption: str = "answer") -> Panel:
        """An answer that is not judged; what the question gives is told from what it asks for."""
        return self._panel(answer, caption, TASKS[self.task].remark(self.side, answer))

    def prediction_panel(
        self, prediction: Tokens, caption: str = "prediction", before: Tokens | None = None
    ) -> Panel:
        """What a model makes of the question, with a remark on how good it is.

        Where the answer is known, cells that differ are wrong, but for those that it leaves as padding; with the
        tokens of the panel `before`, cells that differ have changed.
        """
        check_tokens(self.task, self.side, prediction)
        remark = TASKS[self.task].judge(self.side, prediction, self.question, self.answer)
        panel = self._panel(prediction, caption, remark)
        is_wrong, is_changed = panel.is_wrong, panel.is_changed
        if self.answer is not None:
            right = self._visible(self.answer)
            is_wrong = _differs(panel.cells, right)
            if self.shows_canvas:
                is_wrong &= right != PADDING
        if before is not None:
            is_changed = _differs(panel.cells, self._visible(before))
        return replace(panel, is_wrong=is_wrong, is_changed=is_changed)

    def trace_panels(self, predictions: Mapping[int, Tokens]) -> list[Panel]:
        """Predictions by the number of supervision steps they were made after, fewest first.

        From the second on, cells that changed since the panel before are marked.
        """
        steps = sorted(predictions)
        befores = [None, *(predictions[step] for step in steps[:-1])]
        return [
            self.prediction_panel(predictions[step], after_steps(step), before)
            for step, before in zip(steps, befores, strict=True)
        ]

    def _panel(self, tokens: Tokens, caption: str, remark: str) -> Panel:
        """Tokens in which nothing is wrong and nothing changed."""
        look, asked_for, cells = TASKS[self.task].look, TASKS[self.task].asked_for, self._visible(tokens)
        nothing = np.zeros(cells.shape, dtype=bool)
        is_given = nothing if asked_for is None else self.question.reshape(cells.shape) != asked_for
        return Panel(look, caption, cells, is_given, nothing, nothing, remark)

    def _visible(self, tokens: Tokens) -> Cells:
        """The tokens that are seen, as a grid: of an ARC canvas the part that is read off it."""
        if TASKS[self.task].look == "colours" and not self.shows_canvas:
            grid: Cells = decode(tokens, self.side) + np.uint8(FIRST_COLOUR)
            return grid
        return tokens.reshape(self.side, self.side)


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


def _differs(cells: Cells, other: Cells) -> Mask:
    """Where a grid is not as another, which may have another size: what lies beyond the other differs."""
    rows, columns = np.minimum(cells.shape, other.shape)
    is_different = np.ones(cells.shape, dtype=bool)
    is_different[:rows, :columns] = cells[:rows, :columns] != other[:rows, :columns]
    return is_different
