"""What one picture is about: a puzzle with its demonstrations, answers and predictions, arranged in rows of panels.

`files` reads scenes, `serrm show` draws them. (After the paper's figures of its tasks.)
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from serrm.drawing.panels import (
    Panel,
    Tokens,
    after_steps,
    answer_panel,
    prediction_panel,
    question_panel,
    trace_panels,
)

Row = list[Panel | None]


@dataclass(frozen=True, eq=False)
class Item:
    """A question of I tokens, and of the same size what is known of its answer.

    `predictions` are named by their captions, `trace` has those of one model by the number of supervision steps.
    A `solution` is one that was computed: it may be shown, but nothing is judged by it.
    """

    question: Tokens
    answer: Tokens | None = None
    predictions: Mapping[str, Tokens] = field(default_factory=dict)
    trace: Mapping[int, Tokens] = field(default_factory=dict)
    solution: Tokens | None = None


@dataclass(frozen=True, eq=False)
class Scene:
    """A puzzle of a task on grids of side²: what it asks, one item but for ARC, and what it demonstrates."""

    task: str
    side: int
    title: str
    items: tuple[Item, ...]
    demonstrations: tuple[Item, ...] = ()


@dataclass(frozen=True)
class Wanted:
    """What to read of a file: a puzzle by its number, from 1, or its name, and a file of predictions for it.

    `has_answer`: the answer is wanted; if the file has none, that of a Sudoku is computed.
    """

    number: int = 1
    name: str | None = None
    prediction: Path | None = None
    has_answer: bool = False


def rows_of(
    scene: Scene, *, shows_answer: bool, shows_trace: bool = False, shows_canvas: bool = False
) -> list[Row]:
    """A row for each demonstration and item: question, answer, predictions.

    A trace is a row of its own, or else its last prediction stands for it. `shows_canvas` is for ARC: canvases whole.
    """
    rows = []
    for number, item in enumerate(scene.demonstrations, start=1):
        captions = f"input {number}", f"output {number}"
        rows.append(_row(scene, item, captions, shows_answer=True, shows_canvas=shows_canvas))
    for number, item in enumerate(scene.items, start=1):
        captions = ("test" if scene.demonstrations else "question"), "answer"
        if len(scene.items) > 1:
            captions = f"test {number}", f"answer {number}"
        predictions = dict(item.predictions)
        if item.trace and not shows_trace:
            last = max(item.trace)
            predictions[after_steps(last)] = item.trace[last]
        shown = replace(item, predictions=predictions)
        rows.append(_row(scene, shown, captions, shows_answer=shows_answer, shows_canvas=shows_canvas))
        if shows_trace:
            parts = scene.task, scene.side, item.question, item.trace, item.answer
            rows.append([*trace_panels(*parts, shows_canvas=shows_canvas)])
    return rows


def columns_of(rows: list[Row]) -> list[Row]:
    """Two rows in which every former row is a column, with what follows its answer to the right.

    This is how ARC puzzles are known: questions above, answers below.
    """
    above: Row = []
    below: Row = []
    for question, *others in rows:
        above += [question, *[None] * (len(others) - 1)]
        below += others or [None]
    return [above, below]


def _row(
    scene: Scene, item: Item, captions: tuple[str, str], *, shows_answer: bool, shows_canvas: bool
) -> Row:
    task, side, question = scene.task, scene.side, item.question
    row: Row = [question_panel(task, side, question, captions[0], shows_canvas=shows_canvas)]
    answer = item.solution if item.answer is None else item.answer
    if shows_answer and answer is not None:
        caption = captions[1] + (", computed" if item.answer is None else "")
        row.append(answer_panel(task, side, question, answer, caption, shows_canvas=shows_canvas))
    for caption, prediction in item.predictions.items():
        parts = task, side, question, prediction, caption
        row.append(prediction_panel(*parts, answer=item.answer, shows_canvas=shows_canvas))
    return row
