"""Example puzzles for the page: the question, the prediction after each number of steps, the answer, as pictures.

Evaluation keeps a few puzzles of each set, in one file a cell: <task>-<variant>-s<seed>/examples.json.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import UInt8
from markupsafe import Markup
from pydantic import BaseModel, ConfigDict

from serrm.drawing.panels import answer_panel, question_panel, trace_panels
from serrm.reporting.efforts import trained_set
from serrm.reporting.files import read_parsed
from serrm.reporting.grids import grid_svg, verdict_svg
from serrm.reporting.inline import themed
from serrm.reporting.names import HEADLINE, model_name, set_name, task_name
from serrm.reporting.results import Evaluation, Results

EXAMPLES = "examples.json"
MOST_SIDE = 30  # of a grid on the page


class Example(BaseModel):
    """A puzzle with one model's predictions by number of supervision steps; side² tokens a grid."""

    model_config = ConfigDict(frozen=True)

    set: str
    side: int
    name: str
    question: tuple[int, ...]
    answer: tuple[int, ...]
    predictions: dict[int, tuple[int, ...]]
    is_right: bool


class Examples(BaseModel):
    """The file of one cell."""

    model_config = ConfigDict(frozen=True)

    task: str
    examples: tuple[Example, ...]


@dataclass(frozen=True)
class Frame:
    """A prediction after some steps: the whole picture, a small one of its verdicts, and a remark on it."""

    steps: int
    picture: Markup
    verdicts: Markup
    remark: str


@dataclass(frozen=True)
class Shown:
    """An example as the page shows it; the first of a task are shown at once, the others on demand."""

    heading: str
    is_right: bool
    is_first: bool
    question: Markup
    answer: Markup
    frames: tuple[Frame, ...]


def read_examples(path: Path) -> Examples:
    """The examples of one cell. ValueError, in one line with the file, where it is malformed."""
    return read_parsed(path, Examples.model_validate_json)


def shown_examples(results: Results, folder: Path) -> list[Shown]:
    """Pictures of some examples of the first seed of every model that has any.

    Of the set trained for, the first puzzle that was solved and the first that was not; of other sets the first one.
    Those of a task's best model on the set trained for are first.
    """
    found: dict[str, list[tuple[str, Examples]]] = {}
    for (task, variant), seeds in results.items():
        path = folder / seeds[0].name / EXAMPLES
        if path.is_file():
            found.setdefault(task, []).append((variant, read_examples(path)))
    shown = []
    for task, files in found.items():
        best = max((variant for variant, _ in files), key=lambda variant: _score(results[task, variant][0]))
        for variant, content in sorted(files, key=lambda file: file[0] != best):
            main = main_set(content.examples)
            for example in _chosen(content.examples, main):
                shown.append(_show(task, variant, example, variant == best and example.set == main))
    return shown


def main_set(examples: Sequence[Example]) -> str:
    """The set trained for: 9×9 of Sudoku, else the first."""
    names = [example.set for example in examples]
    return "9x9" if "9x9" in names else next(iter(names), "")


def _score(run: Evaluation) -> float:
    scored = trained_set(run)
    deepest = {} if scored is None else scored.steps[max(scored.steps)]
    return deepest.get(HEADLINE.get(run.task, "fsr"), 0.0)


def _chosen(examples: Sequence[Example], main: str) -> Iterable[Example]:
    names = dict.fromkeys(example.set for example in examples if example.side <= MOST_SIDE)
    for name in sorted(names, key=lambda name: name != main):
        members = [example for example in examples if example.set == name]
        right = [example for example in members if example.is_right][:1]
        wrong = [example for example in members if not example.is_right][:1]
        yield from (right + wrong if name == main else members[:1])


def _show(task: str, variant: str, example: Example, is_first: bool) -> Shown:
    question, answer = _tokens(example.question), _tokens(example.answer)
    predictions = {steps: _tokens(grid) for steps, grid in example.predictions.items()}
    name = model_name(variant)
    place = task_name(task) if example.set == "evaluation" else f"{set_name(example.set)} {task_name(task)}"
    panels = trace_panels(task, example.side, question, predictions, answer)
    frames = []
    for steps, panel in zip(sorted(predictions), panels, strict=True):
        title = f"Prediction of {name} {panel.caption}: {panel.remark or 'not judged'}"
        pictures = themed(grid_svg(panel, title)), themed(verdict_svg(panel, title))
        frames.append(Frame(steps, *pictures, panel.remark))
    return Shown(
        heading=f"{name} on {place}, {example.name}",
        is_right=example.is_right,
        is_first=is_first,
        question=themed(grid_svg(question_panel(task, example.side, question), "The question")),
        answer=themed(grid_svg(answer_panel(task, example.side, question, answer), "The answer")),
        frames=tuple(frames),
    )


def _tokens(values: Sequence[int]) -> UInt8[np.ndarray, " I"]:
    return np.array(values, dtype=np.uint8)
