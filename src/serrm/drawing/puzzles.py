"""Grids as panels: the content of each cell, which cells are given, wrong or changed, and the remark beneath.

The tokens of a question, its answer and predictions become panels; `svg` and `terminal` draw the look that `cell_of`
returns for every cell. A run's predictions are read in `serrm.drawing.examples`, files of puzzles in
`serrm.drawing.scenes`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Bool, UInt8

from serrm.puzzles.look import CellLook, Look
from serrm.puzzles.raw import Tokens
from serrm.puzzles.tasks import TASKS

Cells = UInt8[
    np.ndarray, "_ _"
]  # R × C; the axes have no names, because the panels of a picture differ in size
Mask = Bool[np.ndarray, "_ _"]


@dataclass(frozen=True, eq=False)
class Panel:
    """One grid of a picture: R × C tokens and three masks of the same shape.

    `is_given` marks the cells that the question fixes (clues of a Sudoku; walls, start and goal of a maze; no cell in
    ARC), `is_wrong` those that differ from the answer, `is_changed` those that differ from the panel before.
    """

    look: Look
    caption: str
    cells: Cells
    is_given: Mask
    is_wrong: Mask
    is_changed: Mask
    remark: str = ""


def cell_of(panel: Panel, row: int, column: int) -> CellLook:
    """Choose the look of a cell of a panel."""
    token, is_given = int(panel.cells[row, column]), bool(panel.is_given[row, column])
    return panel.look.cell(token, is_given, bool(panel.is_wrong[row, column]))


@dataclass(frozen=True, eq=False)
class DrawnPuzzle:
    """A puzzle to draw: a question and its answer, if known, as I = side² tokens each.

    `predictions` has a model's predictions by the number of supervision steps.

    Methods raise ValueError for an unknown task, a number of tokens other than side², or a token that the task does not
    have.
    """

    task: str
    side: int
    question: Tokens
    answer: Tokens | None = None
    predictions: Mapping[int, Tokens] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise ValueError unless the tokens are a grid of the task."""
        self._check(self.question)
        if self.answer is not None:
            self._check(self.answer)

    def question_panel(self, caption: str = "question") -> Panel:
        """Build the panel of the question."""
        return self.answer_panel(self.question, caption)

    def answer_panel(self, answer: Tokens, caption: str = "answer") -> Panel:
        """Build the panel of an answer without a remark; the cells that the question fixes are marked."""
        task = TASKS[self.task]
        cells = self._visible(answer)
        nothing = np.zeros(cells.shape, dtype=bool)
        is_given = nothing
        if task.blank is not None:
            is_given = ~task.is_open(self.question[None]).reshape(cells.shape)
        return Panel(task.look, caption, cells, is_given, nothing, nothing)

    def prediction_panel(
        self, prediction: Tokens, caption: str = "prediction", before: Tokens | None = None
    ) -> Panel:
        """Build the panel of a prediction, with the task's remark on it.

        Cells that differ from the answer, if it is known, are wrong; cells that differ from `before` have changed.
        """
        self._check(prediction)
        panel = self.answer_panel(prediction, caption)
        nothing = np.zeros(panel.cells.shape, dtype=bool)
        is_wrong, is_changed = (
            nothing if other is None else _differs(panel.cells, self._visible(other))
            for other in (self.answer, before)
        )
        remark = TASKS[self.task].judge(self.side, prediction, self.question, self.answer)
        return replace(panel, is_wrong=is_wrong, is_changed=is_changed, remark=remark)

    def trace_panels(self, steps: Sequence[int]) -> list[Panel]:
        """List the predictions after these supervision steps, with the cells that changed since the one before."""
        panels, before = [], None
        for step in steps:
            caption = "after 1 step" if step == 1 else f"after {step} steps"
            panels.append(self.prediction_panel(self.predictions[step], caption, before))
            before = self.predictions[step]
        return panels

    def _visible(self, tokens: Tokens) -> Cells:
        """Cut out the visible tokens as a grid; for ARC, the decoded part of the canvas."""
        return TASKS[self.task].look.visible(tokens, self.side)

    def _check(self, tokens: Tokens) -> None:
        if self.task not in TASKS:
            raise ValueError(f"unknown task {self.task!r}; there are {', '.join(TASKS)}")
        if len(tokens) != self.side**2:
            raise ValueError(f"{len(tokens)} tokens are not a {self.side}×{self.side} grid")
        num_symbols = TASKS[self.task].alphabet(self.side).num_symbols
        if tokens.max() >= num_symbols:
            raise ValueError(f"token {tokens.max()} is out of range: {self.task} has {num_symbols} tokens")


def as_tokens(values: Sequence[int]) -> Tokens:
    """Convert token numbers from a file to an array."""
    return np.array(values, dtype=np.uint8)


def _differs(cells: Cells, other: Cells) -> Mask:
    """Mark the cells that differ from another grid, and the cells beyond it."""
    rows, columns = np.minimum(cells.shape, other.shape)
    is_different = np.ones(cells.shape, dtype=bool)
    is_different[:rows, :columns] = cells[:rows, :columns] != other[:rows, :columns]
    return is_different


@dataclass(frozen=True, eq=False)
class Scene:
    """One picture: a title and its puzzles (one, or an ARC puzzle's test inputs), after the puzzle's demonstrations."""

    title: str
    puzzles: Sequence[DrawnPuzzle]
    demonstrations: Sequence[DrawnPuzzle] = ()

    def rows(self, *, has_answer: bool = False, has_trace: bool = False) -> list[list[Panel]]:
        """List a row per demonstration and per puzzle, which ends with the last prediction.

        With `has_trace`, all predictions of a puzzle follow in a row of their own.
        """
        rows = []
        for number, demonstration in enumerate(self.demonstrations, start=1):
            assert demonstration.answer is not None
            output = demonstration.answer_panel(demonstration.answer, f"output {number}")
            rows.append([demonstration.question_panel(f"input {number}"), output])
        for puzzle in self.puzzles:
            steps, row = sorted(puzzle.predictions), [puzzle.question_panel()]
            if has_answer and puzzle.answer is not None:
                row.append(puzzle.answer_panel(puzzle.answer))
            trace = puzzle.trace_panels(steps if has_trace else steps[-1:])
            rows += [row, trace] if has_trace else [row + trace]
        return rows


def settling_panels(puzzle: DrawnPuzzle, thin_above: int | None = None) -> list[Panel]:
    """List the question and the predictions after the first step, the last step, and every step that changed a cell.

    The puzzle must have a prediction after every step 1…n. If there are more than `thin_above` of these steps, keep
    for each power of two the latest step not after it, and the last of all: about log2(n) panels.
    """
    grids, last = puzzle.predictions, len(puzzle.predictions)
    changing = [step for step in grids if step > 1 and (grids[step] != grids[step - 1]).any()]
    steps = sorted({1, last, *changing})
    if thin_above is not None and len(steps) > thin_above:
        powers = (2**power for power in range(last.bit_length()))
        steps = sorted({max(step for step in steps if step <= power) for power in powers} | {last})
    return [puzzle.question_panel(), *puzzle.trace_panels(steps)]
