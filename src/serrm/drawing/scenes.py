"""What one picture is about: a puzzle with its demonstrations, answers and predictions, arranged in rows of panels.

`files` reads scenes, `serrm show` draws them. (After the paper's figures of its tasks.)
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from serrm.drawing.panels import Panel, Puzzle, after_steps
from serrm.drawing.tasks import Tokens

Row = list[Panel | None]


@dataclass(frozen=True, eq=False)
class Item:
    """A puzzle with predictions of its answer, as many tokens each.

    `predictions` are named by their captions, `trace` has those of one model by the number of supervision steps.
    A `solution` is one that was computed: it may be shown, but nothing is judged by it.
    """

    puzzle: Puzzle
    predictions: Mapping[str, Tokens] = field(default_factory=dict)
    trace: Mapping[int, Tokens] = field(default_factory=dict)
    solution: Tokens | None = None

    def row(self, captions: tuple[str, str], shows_answer: bool, shows_trace: bool) -> Row:
        """Question, answer, predictions; of a trace that has no row of its own the last one."""
        row: Row = [self.puzzle.question_panel(captions[0])]
        answer = self.solution if self.puzzle.answer is None else self.puzzle.answer
        if shows_answer and answer is not None:
            caption = captions[1] + (", computed" if self.puzzle.answer is None else "")
            row.append(self.puzzle.answer_panel(answer, caption))
        predictions = dict(self.predictions)
        if self.trace and not shows_trace:
            last = max(self.trace)
            predictions[after_steps(last)] = self.trace[last]
        return row + [self.puzzle.prediction_panel(each, caption) for caption, each in predictions.items()]


@dataclass(frozen=True, eq=False)
class Scene:
    """What a puzzle asks, one item but for ARC, and what it demonstrates."""

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
    """A row for each demonstration and item, and one for each trace that is shown.

    `shows_canvas` is for ARC: canvases whole.
    """
    demonstrations, items = (
        [replace(item, puzzle=replace(item.puzzle, shows_canvas=shows_canvas)) for item in part]
        for part in (scene.demonstrations, scene.items)
    )
    rows = [
        item.row((f"input {number}", f"output {number}"), True, False)
        for number, item in enumerate(demonstrations, start=1)
    ]
    for number, item in enumerate(items, start=1):
        captions = ("test" if scene.demonstrations else "question"), "answer"
        if len(items) > 1:
            captions = f"test {number}", f"answer {number}"
        rows.append(item.row(captions, shows_answer, shows_trace))
        if shows_trace:
            rows.append([*item.puzzle.trace_panels(item.trace)])
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
