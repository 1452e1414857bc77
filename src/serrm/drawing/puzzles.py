"""Grids as panels: the content of each cell, which cells are given, wrong or changed, and the remark beneath.

An evaluation's examples are read as scenes, as are files of puzzles by `serrm.drawing.scenes`. The tokens of a
question, its answer and predictions become panels; `svg` and `terminal` draw what `cell_of` gives for each cell and
compare nothing. A fault in a file is a ValueError of one line that names the file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Final

import numpy as np
from jaxtyping import Bool, UInt8
from pydantic import BaseModel, Field

from serrm.core.files import read_parsed
from serrm.puzzles.look import CellLook, Look
from serrm.puzzles.tasks import TASKS

Tokens = UInt8[np.ndarray, " I"]
Cells = UInt8[np.ndarray, "_ _"]  # R × C, without names, as the panels of one picture differ in size
Mask = Bool[np.ndarray, "_ _"]
EXAMPLES: Final = "examples.json"
Token = Annotated[int, Field(strict=True, ge=0, le=255)]


@dataclass(frozen=True, eq=False)
class Panel:
    """One grid of a picture: R × C tokens and three masks of the same shape.

    `is_given` marks what the question fixes (the clues of a Sudoku; walls, start and goal of a maze; nothing in ARC),
    `is_wrong` what differs from the answer, `is_changed` what differs from the panel before.
    """

    look: Look
    caption: str
    cells: Cells
    is_given: Mask
    is_wrong: Mask
    is_changed: Mask
    remark: str = ""


def cell_of(panel: Panel, row: int, column: int) -> CellLook:
    """The look of a cell of a panel."""
    token, place = int(panel.cells[row, column]), (row, column)
    return panel.look.cell(token, bool(panel.is_given[place]), bool(panel.is_wrong[place]))


@dataclass(frozen=True, eq=False)
class Puzzle:
    """A question of a task and its answer, if known, as I = side² tokens each.

    `predictions` are those of a model after so many supervision steps.

    Methods raise ValueError for an unknown task, a number of tokens other than side², or a token that it does not have.
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
        """The panel of the question."""
        return self.answer_panel(self.question, caption)

    def answer_panel(self, answer: Tokens, caption: str = "answer") -> Panel:
        """The panel of an answer without a remark; the cells that the question gives are marked."""
        task = TASKS[self.task]
        cells = self._visible(answer)
        nothing = np.zeros(cells.shape, dtype=bool)
        is_given = nothing if task.blank is None else self.question.reshape(cells.shape) != task.blank
        return Panel(task.look, caption, cells, is_given, nothing, nothing)

    def prediction_panel(
        self, prediction: Tokens, caption: str = "prediction", before: Tokens | None = None
    ) -> Panel:
        """The panel of a prediction, with a remark on how good it is.

        Where the answer is known, cells that differ from it are wrong; those that differ from `before` have changed.
        """
        self._check(prediction)
        panel = self.answer_panel(prediction, caption)
        is_wrong, is_changed = (
            panel.is_wrong if other is None else _differs(panel.cells, self._visible(other))
            for other in (self.answer, before)
        )
        remark = TASKS[self.task].judge(self.side, prediction, self.question, self.answer)
        return replace(panel, is_wrong=is_wrong, is_changed=is_changed, remark=remark)

    def trace_panels(self, steps: Sequence[int]) -> list[Panel]:
        """The predictions after these supervision steps, each with what changed since the one before."""
        panels, before = [], None
        for step in steps:
            caption = f"after {step} step{'s' * (step > 1)}"
            panels.append(self.prediction_panel(self.predictions[step], caption, before))
            before = self.predictions[step]
        return panels

    def _visible(self, tokens: Tokens) -> Cells:
        """The visible tokens as a grid: of an ARC canvas the decoded part."""
        return TASKS[self.task].look.visible(tokens, self.side)

    def _check(self, tokens: Tokens) -> None:
        if self.task not in TASKS:
            raise ValueError(f"unknown task {self.task!r}; there are {', '.join(TASKS)}")
        if len(tokens) != self.side**2:
            raise ValueError(f"{len(tokens)} tokens are not a {self.side}×{self.side} grid")
        if tokens.max() >= (num := TASKS[self.task].alphabet(self.side).num_symbols):
            raise ValueError(f"token {tokens.max()} is out of range: {self.task} has {num} tokens")


def as_tokens(values: Sequence[int]) -> Tokens:
    """Tokens from a file."""
    return np.array(values, dtype=np.uint8)


def _differs(cells: Cells, other: Cells) -> Mask:
    """The cells in which a grid differs from another; cells beyond the other grid differ."""
    rows, columns = np.minimum(cells.shape, other.shape)
    is_different = np.ones(cells.shape, dtype=bool)
    is_different[:rows, :columns] = cells[:rows, :columns] != other[:rows, :columns]
    return is_different


@dataclass(frozen=True, eq=False)
class Scene:
    """A puzzle to draw, of ARC one for each test input, and its demonstrations."""

    title: str
    puzzles: Sequence[Puzzle]
    demonstrations: Sequence[Puzzle] = ()

    def rows(self, *, has_answer: bool = False, has_trace: bool = False) -> list[list[Panel]]:
        """A row for each demonstration and puzzle, one for each trace that is shown; else its last prediction."""
        rows = []
        for number, shown in enumerate(self.demonstrations, start=1):
            assert shown.answer is not None
            output = shown.answer_panel(shown.answer, f"output {number}")
            rows.append([shown.question_panel(f"input {number}"), output])
        for puzzle in self.puzzles:
            steps, row = sorted(puzzle.predictions), [puzzle.question_panel()]
            if has_answer and puzzle.answer is not None:
                row.append(puzzle.answer_panel(puzzle.answer))
            trace = puzzle.trace_panels(steps if has_trace else steps[-1:])
            rows += [row, trace] if has_trace else [row + trace]
        return rows


def settling_panels(puzzle: Puzzle, most: int | None = None) -> list[Panel]:
    """The question and the predictions after the steps worth showing: the first, the last, those that changed it.

    If they are more than `most`, those of them that are the last up to 1, 2, 4, … steps.
    """
    grids, last = puzzle.predictions, len(puzzle.predictions)
    steps = sorted(
        {1, last, *(step for step in grids if step > 1 and (grids[step] != grids[step - 1]).any())}
    )
    if most is not None and len(steps) > most:
        powers = (2**power for power in range(last.bit_length()))
        steps = sorted({max(step for step in steps if step <= power) for power in powers} | {last})
    return [puzzle.question_panel(), *puzzle.trace_panels(steps)]


class Example(BaseModel):
    """A puzzle in examples.json: side² tokens per grid, the predictions by numbers of supervision steps."""

    set: str
    side: int
    name: str
    question: list[Token]
    answer: list[Token]
    predictions: dict[int, list[Token]]
    is_right: bool = False

    def puzzle(self, task: str) -> Puzzle:
        """The example with its predictions. ValueError where a grid is none of the task's."""
        predictions = {steps: as_tokens(grid) for steps, grid in self.predictions.items()}
        return Puzzle(task, self.side, as_tokens(self.question), as_tokens(self.answer), predictions)


class Examples(BaseModel):
    """An examples.json, as evaluations write it."""

    task: str
    examples: list[Example]


def load_examples(path: Path) -> Examples:
    """An examples.json. ValueError, with the file, where it is malformed."""
    return read_parsed(path, Examples.model_validate_json)


def read_examples(path: Path) -> list[Scene]:
    """All scenes of an examples.json, each with a trace. ValueError, with the file, where it is malformed."""
    content = load_examples(path)
    return [
        Scene(f"{path.parent.name}: {each.set}, {each.name}", [each.puzzle(content.task)])
        for each in content.examples
    ]
