"""Example puzzles for the page: the question, the prediction after each number of steps, the answer, as pictures.

Evaluation keeps a few puzzles of each set, in one file a cell: <task>-<variant>-s<seed>/examples.json.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from markupsafe import Markup

from serrm.drawing.files import EXAMPLES, Example, load_examples
from serrm.drawing.panels import as_tokens, verdict_of
from serrm.drawing.svg import grid_svg
from serrm.reporting.inline import themed
from serrm.reporting.names import model_name, reported, set_name, task_name
from serrm.reporting.results import Evaluation, Results

MOST_SIDE = 30  # of a grid on the page


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


def shown_examples(results: Results, folder: Path) -> list[Shown]:
    """Pictures of some examples of the first seed of every model that has any.

    Of the set trained for, the first puzzle that was solved and the first that was not; of other sets the first one.
    Those of a task's best model on the set trained for are first. ValueError, with the file, where one is malformed.
    """
    found: dict[str, list[tuple[Evaluation, list[Example]]]] = {}
    for (task, _), (run, *_) in results.items():
        path = folder / run.name / EXAMPLES
        if path.is_file():
            found.setdefault(task, []).append((run, load_examples(path).examples))
    shown = []
    for files in found.values():
        best = max((run for run, _ in files), key=_score)
        for run, examples in sorted(files, key=lambda file: file[0] is not best):
            names = [example.set for example in examples]
            main = "9x9" if "9x9" in names else next(iter(names), "")  # the set trained for
            shown += [_show(run, each, run is best and each.set == main) for each in _chosen(examples, main)]
    return shown


def _score(run: Evaluation) -> float:
    steps = run.trained_steps
    return steps[max(steps)].get(reported(run.task).headline, 0.0) if steps else 0.0


def _chosen(examples: Sequence[Example], main: str) -> Iterator[Example]:
    names = dict.fromkeys(example.set for example in examples if example.side <= MOST_SIDE)
    for name in sorted(names, key=lambda name: name != main):
        members = [example for example in examples if example.set == name]
        right = [example for example in members if example.is_right][:1]
        wrong = [example for example in members if not example.is_right][:1]
        yield from (right + wrong if name == main else members[:1])


def _show(run: Evaluation, example: Example, is_first: bool) -> Shown:
    item, name = example.item(run.task), model_name(run.model)
    place = task_name(run.task)
    if example.set != "evaluation":
        place = f"{set_name(example.set)} {place}"
    frames = []
    for steps, panel in zip(sorted(item.trace), item.puzzle.trace_panels(item.trace), strict=True):
        # The page has tints for changes in a Sudoku only.
        panel = replace(panel, is_changed=panel.is_changed & (panel.look == "digits"))
        title = f"Prediction of {name} {panel.caption}: {panel.remark or 'not judged'}"
        pictures = themed(grid_svg(panel, title)), themed(grid_svg(panel, title, draw=verdict_of))
        frames.append(Frame(steps, *pictures, panel.remark))
    return Shown(
        f"{name} on {place}, {example.name}",
        example.is_right,
        is_first,
        themed(grid_svg(item.puzzle.question_panel(), "The question")),
        themed(grid_svg(item.puzzle.answer_panel(as_tokens(example.answer)), "The answer")),
        tuple(frames),
    )
