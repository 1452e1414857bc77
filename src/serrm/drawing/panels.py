"""Grids to be drawn: what stands in each cell, which cells are given, wrong or changed, and how good a prediction is.

The tokens of a question, its answer and predictions become panels; `svg` and `terminal` draw what `cell_of` says of
each cell and compare nothing. Remarks are counted on one grid; scores are the business of `serrm.scoring`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import numpy as np
from jaxtyping import Bool, UInt8

from serrm.puzzles import maze
from serrm.puzzles.arc import FIRST_COLOUR, decode
from serrm.puzzles.sudoku import BLANK, SYMBOLS
from serrm.puzzles.tasks import TASKS, Look

Tokens = UInt8[np.ndarray, " I"]
Cells = UInt8[
    np.ndarray, "_ _"
]  # R × C; the axes have no names, for the panels of one picture differ in size
Mask = Bool[np.ndarray, "_ _"]

# The official colours of ARC-AGI, and for marks those of Okabe and Ito, which all kinds of colour vision tell apart.
ARC_COLOURS: Final = (
    *("#000000", "#0074D9", "#FF4136", "#2ECC40", "#FFDC00", "#AAAAAA", "#F012BE", "#FF851B", "#7FDBFF", "#870C25"),
)  # fmt: skip
DARK_COLOURS: Final = (0, 1, 2, 6, 9)  # on which a mark is white
INK, FAINT_INK, LINE, PAPER = "#1A1A1A", "#666666", "#B4B4B4", "#FFFFFF"
GIVEN_TINT, WALL = "#EFEFEF", "#3A3A3A"
FILLED, RIGHT_TINT = "#0072B2", "#A9D1EA"  # digits and paths that were not given
WRONG, WRONG_TINT, CHANGED = "#D55E00", "#F7BCAF", "#E69F00"
START, GOAL = "#009E73", "#CC79A7"


class Cell(NamedTuple):
    """How a cell is drawn; `plain` is what stands for it where there are no colours."""

    ground: str
    ink: str
    symbol: str
    plain: str


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


def cell_of(panel: Panel, row: int, column: int) -> Cell:
    """How a cell of a panel is drawn."""
    token, place = int(panel.cells[row, column]), (row, column)
    return CELLS[panel.look](token, bool(panel.is_given[place]), bool(panel.is_wrong[place]))


def verdict_of(panel: Panel, row: int, column: int) -> Cell:
    """The same of a Sudoku without its digits: given, right, wrong."""
    cell, is_given = cell_of(panel, row, column), panel.is_given[row, column]
    if panel.look != "digits":
        return cell
    filled = RIGHT_TINT if cell.symbol else PAPER
    return Cell(WRONG if panel.is_wrong[row, column] else GIVEN_TINT if is_given else filled, INK, "", "")


def sudoku_symbol(token: int) -> str:
    """1 to 9, then letters as in files of puzzles, from 36 on numbers; "?" for padding, nothing for a blank."""
    if token <= BLANK:
        return "?" if token == 0 else ""
    value = token - BLANK
    return SYMBOLS[value] if value < len(SYMBOLS) else str(value)


def _digit(token: int, is_given: bool, is_wrong: bool) -> Cell:
    symbol = sudoku_symbol(token)
    ground = WRONG_TINT if is_wrong else GIVEN_TINT if is_given else PAPER
    return Cell(ground, INK if is_given else FILLED, symbol, symbol or ".")


def _maze_cell(token: int, is_given: bool, is_wrong: bool) -> Cell:
    ends = {maze.START: (START, "S"), maze.GOAL: (GOAL, "G")}
    ground, symbol = ends.get(token, ({maze.WALL: WALL, maze.PATH: FILLED}.get(token, PAPER), ""))
    if is_wrong:
        ground = WRONG if token == maze.PATH else WRONG_TINT
    return Cell(ground, INK if ground in (PAPER, WRONG_TINT) else PAPER, symbol, f"?{maze.CHARACTERS}"[token])


def _colour(token: int, is_given: bool, is_wrong: bool) -> Cell:
    colour = token - FIRST_COLOUR
    ink = "#FDFDFD" if colour in DARK_COLOURS else "#000000"
    return Cell(ARC_COLOURS[colour], ink, "×" if is_wrong else "", str(colour))


CELLS: Final[dict[str, Callable[[int, bool, bool], Cell]]] = {
    "digits": _digit,
    "maze": _maze_cell,
    "colours": _colour,
}


@dataclass(frozen=True, eq=False)
class Puzzle:
    """A question of a task and its answer, if known, as I = side² tokens each, of which panels are made.

    Methods raise ValueError for an unknown task, a number of tokens other than side², or a token that it does not have.
    """

    task: str
    side: int
    question: Tokens
    answer: Tokens | None = None

    def __post_init__(self) -> None:
        """Raise ValueError unless the tokens are a grid of the task."""
        self._check(self.question)
        if self.answer is not None:
            self._check(self.answer)

    def question_panel(self, caption: str = "question") -> Panel:
        """What is asked."""
        return self.answer_panel(self.question, caption)

    def answer_panel(self, answer: Tokens, caption: str = "answer") -> Panel:
        """An answer that is not judged; what the question gives is told from what it asks for."""
        task = TASKS[self.task]
        cells = self._visible(answer)
        nothing = np.zeros(cells.shape, dtype=bool)
        is_given = nothing if task.blank is None else self.question.reshape(cells.shape) != task.blank
        return Panel(task.look, caption, cells, is_given, nothing, nothing)

    def prediction_panel(
        self, prediction: Tokens, caption: str = "prediction", before: Tokens | None = None
    ) -> Panel:
        """What a model makes of the question, with a remark on how good it is.

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

    def trace_panels(self, predictions: Mapping[int, Tokens]) -> list[Panel]:
        """Predictions by the supervision steps they were made after, with what changed since the one before."""
        steps = sorted(predictions)
        befores = [None, *(predictions[step] for step in steps[:-1])]
        return [
            self.prediction_panel(predictions[step], after_steps(step), before)
            for step, before in zip(steps, befores, strict=True)
        ]

    def _visible(self, tokens: Tokens) -> Cells:
        """The tokens that are seen, as a grid: of an ARC canvas the part that is read off it."""
        if TASKS[self.task].look == "colours":
            grid: Cells = decode(tokens, self.side) + np.uint8(FIRST_COLOUR)
            return grid
        return tokens.reshape(self.side, self.side)

    def _check(self, tokens: Tokens) -> None:
        if self.task not in TASKS:
            raise ValueError(f"task {self.task!r} is none of {', '.join(TASKS)}")
        if len(tokens) != self.side**2:
            raise ValueError(f"{len(tokens)} tokens are no {self.side}×{self.side} grid")
        if tokens.max() >= (num := TASKS[self.task].alphabet(self.side).num_symbols):
            raise ValueError(f"token {tokens.max()} is none of the {num} of {self.task}")


def after_steps(num_steps: int) -> str:
    """The caption of a prediction."""
    return f"after {num_steps} step{'' if num_steps == 1 else 's'}"


def as_tokens(values: Sequence[int]) -> Tokens:
    """Tokens from a file."""
    return np.array(values, dtype=np.uint8)


def _differs(cells: Cells, other: Cells) -> Mask:
    """Where a grid is not as another, which may have another size: what lies beyond the other differs."""
    rows, columns = np.minimum(cells.shape, other.shape)
    is_different = np.ones(cells.shape, dtype=bool)
    is_different[:rows, :columns] = cells[:rows, :columns] != other[:rows, :columns]
    return is_different


@dataclass(frozen=True, eq=False)
class Item:
    """A puzzle with predictions by their captions, and those of one model by the number of supervision steps."""

    puzzle: Puzzle
    predictions: Mapping[str, Tokens] = field(default_factory=dict)
    trace: Mapping[int, Tokens] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Scene:
    """What a puzzle asks, one item but for ARC, and what it demonstrates."""

    title: str
    items: Sequence[Item]
    demonstrations: Sequence[Puzzle] = ()

    def rows(self, *, has_answer: bool = False, has_trace: bool = False) -> list[list[Panel]]:
        """A row for each demonstration and item, one for each trace that is shown; else its last prediction."""
        rows = []
        for number, shown in enumerate(self.demonstrations, start=1):
            assert shown.answer is not None
            rows.append(
                [
                    shown.question_panel(f"input {number}"),
                    shown.answer_panel(shown.answer, f"output {number}"),
                ]
            )
        for item in self.items:
            row, grids = [item.puzzle.question_panel()], dict(item.predictions)
            if has_answer and item.puzzle.answer is not None:
                row.append(item.puzzle.answer_panel(item.puzzle.answer))
            if item.trace and not has_trace:
                grids[after_steps(max(item.trace))] = item.trace[max(item.trace)]
            rows.append(
                row + [item.puzzle.prediction_panel(grid, caption) for caption, grid in grids.items()]
            )
            if item.trace and has_trace:
                rows.append(item.puzzle.trace_panels(item.trace))
        return rows


def settling_panels(puzzle: Puzzle, predictions: Sequence[Tokens], most: int | None = None) -> list[Panel]:
    """The question and the predictions after the steps worth showing: the first, the last, those that changed it.

    If they are more than `most`, those of them that are the last up to 1, 2, 4, … steps.
    """
    last = len(predictions)
    changed = (step for step in range(2, last + 1) if (predictions[step - 1] != predictions[step - 2]).any())
    steps = sorted({1, *changed, last})
    if most is not None and len(steps) > most:
        powers = (2**power for power in range(last.bit_length()))
        steps = sorted({max(step for step in steps if step <= power) for power in powers} | {last})
    return [puzzle.question_panel(), *puzzle.trace_panels({step: predictions[step - 1] for step in steps})]
