"""Figures from the predictions for single puzzles: scores by difficulty, calibration, and failures as pictures.

They need the files of the evaluations (`serrm.scoring.predictions`), which are not in git, so only the stage draws
them; those that are committed stay when tables and figures are drawn anew from scores.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import matplotlib
import numpy as np
from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from serrm.drawing import svg
from serrm.drawing.examples import Example, read_examples
from serrm.puzzles.task import GridTask
from serrm.puzzles.tasks import TASKS
from serrm.reporting.figures import (
    BANDS,
    DARK,
    GAP,
    LEFT,
    LOOK,
    MUTED,
    SIZE,
    draw_scores,
    figure_of,
    label_scores,
    picture_heading,
    svg_text,
)
from serrm.reporting.paper import data_set_name, model_name, puzzle_set
from serrm.reporting.results import Report, Results, Score, main_models, over_seeds
from serrm.reporting.style import style
from serrm.scoring.metrics import METRICS, wilson
from serrm.scoring.predictions import PREDICTIONS, read_predictions
from serrm.scoring.schema import Evaluation

PUZZLE_FIGURES: Final = ("difficulty", "calibration", "failures")
NUM_BINS, LEAST = 6, 24  # of a figure, and the fewest puzzles that are drawn
NUM_FAILURES, NUM_SEARCHED = 2, 64  # per model and data set, and the first puzzles among which they are
COLUMNS: Final = ("set", "steps", "solved", "confidence", "halting", "question", "answer")


class Outcomes(NamedTuple):
    """The puzzles of a run's main set after its headline steps."""

    solved: Bool[np.ndarray, " N"]
    confidence: Float[np.ndarray, " N"]
    halting: Float[np.ndarray, " N"] | None
    num_filled: Float[np.ndarray, " N"]
    """Cells in which the answer differs from the question: the blanks of a Sudoku, the path of a maze."""


def puzzle_figures(report: Report, folder: Path) -> dict[str, str]:
    """Draw every figure that the predictions below `folder` have data for, by name, as an SVG document."""
    outcomes = dict(_outcomes(report.results, folder))
    with matplotlib.rc_context(LOOK):
        plots = {"difficulty": difficulty(report, outcomes), "calibration": calibration(report, outcomes)}
        figures = {name: svg_text(plot) for name, plot in plots.items() if plot}
    picture = failures(report, folder)
    return figures | ({"failures": picture} if picture else {})


def _outcomes(results: Results, folder: Path) -> Iterator[tuple[tuple[str, str], list[Outcomes]]]:
    """Yield the outcomes of all seeds by data set and main model, where all have files with enough puzzles."""
    main = main_models(results)
    for (data_set, variant), runs in results.items():
        paths = [folder / run.name / PREDICTIONS for run in runs]
        if variant in main and runs[0].main_set and all(path.is_file() for path in paths):
            seeds = [_outcomes_of(run, path) for run, path in zip(runs, paths, strict=True)]
            if min(len(seed.solved) for seed in seeds) >= LEAST:
                yield (data_set, variant), seeds


def _outcomes_of(run: Evaluation, path: Path) -> Outcomes:
    table = read_predictions(path, COLUMNS)
    steps = run.scored[run.main_set].headline_steps
    rows = (np.array(table["set"].to_pylist()) == run.main_set) & (table["steps"].to_numpy() == steps)
    table = table.filter(rows)
    pairs = zip(table["question"].to_pylist(), table["answer"].to_pylist(), strict=True)
    num_filled = [sum(one != other for one, other in zip(*pair, strict=True)) for pair in pairs]
    has_halting = len(table) > 0 and table["halting"].null_count == 0
    return Outcomes(
        solved=table["solved"].to_numpy(),
        confidence=table["confidence"].to_numpy().astype(np.float64),
        halting=table["halting"].to_numpy().astype(np.float64) if has_halting else None,
        num_filled=np.array(num_filled, dtype=np.float64),
    )


def _shares(
    values: Sequence[Float[np.ndarray, " N"]], solved: Sequence[Bool[np.ndarray, " N"]]
) -> list[tuple[float, Score]]:
    """Compute the share solved of puzzles in bins of about equal size, each with its mean value, over all seeds.

    Bins are those of all seeds together; a bin that some seed has no puzzle in is left out.
    """
    edges = np.unique(np.quantile(np.concatenate(values), np.linspace(0, 1, NUM_BINS + 1)[1:-1]))
    points = []
    for number in range(len(edges) + 1):
        members = [np.searchsorted(edges, seed_values, side="right") == number for seed_values in values]
        if not all(is_member.any() for is_member in members):
            continue
        by_seed = []
        for is_solved, is_member in zip(solved, members, strict=True):
            num, num_solved = int(is_member.sum()), int(is_solved[is_member].sum())
            by_seed.append(tuple(100 * rate for rate in (num_solved / num, *wilson(num_solved, num))))
        inside = [seed_values[is_member] for seed_values, is_member in zip(values, members, strict=True)]
        points.append((float(np.concatenate(inside).mean()), over_seeds(by_seed, len(inside[0]))))
    return points


Panels = dict[str, dict[str, list[Outcomes]]]


def _by_data_set(outcomes: Mapping[tuple[str, str], list[Outcomes]]) -> Panels:
    panels: Panels = {}
    for (data_set, variant), seeds in outcomes.items():
        panels.setdefault(data_set, {})[variant] = seeds
    return panels


def difficulty(report: Report, outcomes: Mapping[tuple[str, str], list[Outcomes]]) -> Figure | None:
    """Draw the share solved against the number of cells to fill, a panel per data set on square grids."""
    panels = {
        data_set: models
        for data_set, models in _by_data_set(outcomes).items()
        if isinstance(TASKS[_first(report, data_set).task], GridTask)
    }

    def draw(axes: Axes, data_set: str, models: Mapping[str, list[Outcomes]]) -> None:
        for variant, seeds in models.items():
            points = _shares([seed.num_filled for seed in seeds], [seed.solved for seed in seeds])
            draw_scores(axes, points, model_name(variant), label=model_name(variant))
        axes.set(title=puzzle_set(data_set, _first(report, data_set).main_set), xlabel="Cells to fill")
        label_scores(axes, METRICS["fsr"])

    remark = (
        f"Test puzzles of profile {report.profile} in bins of about equal size. Cells to fill are the blanks of a "
        f"Sudoku and the path of a maze. {BANDS}"
    )
    return figure_of(panels, draw, "Solved by difficulty", remark)


def calibration(report: Report, outcomes: Mapping[tuple[str, str], list[Outcomes]]) -> Figure | None:
    """Draw the share solved against the confidence and, where a Q head is trained, what it states."""

    def draw(axes: Axes, data_set: str, models: Mapping[str, list[Outcomes]]) -> None:
        axes.plot([0, 100], [0, 100], color=MUTED, linewidth=0.8, linestyle=":", label="calibrated")
        for variant, seeds in models.items():
            name, solved = model_name(variant), [seed.solved for seed in seeds]
            draw_scores(axes, _shares([100 * seed.confidence for seed in seeds], solved), name, label=name)
            halting = [100 * seed.halting for seed in seeds if seed.halting is not None]
            if len(halting) == len(seeds):
                label = f"{name}, Q head"
                draw_scores(axes, _shares(halting, solved), name, label=label, linestyle="--")
        axes.set(title=data_set_name(data_set), xlabel="Stated probability (%)", xlim=(-2, 102))
        label_scores(axes, METRICS["fsr"])

    remark = (
        f"Test puzzles of the size trained on in bins of about equal size; profile {report.profile}. The stated "
        f"probability is that of the least certain cell; dashed, that of being right by a trained Q head. {BANDS}"
    )
    return figure_of(_by_data_set(outcomes), draw, "Calibration", remark)


def _first(report: Report, data_set: str) -> Evaluation:
    return next(runs[0] for (name, _), runs in report.results.items() if name == data_set)


def failures(report: Report, folder: Path) -> str:
    """Draw unsolved puzzles of every main model, prediction beside answer, wrong cells marked; empty without one."""
    main, rows = main_models(report.results), list[tuple[Evaluation, list[Example]]]()
    for (_, variant), (run, *_) in report.results.items():
        path = folder / run.name / PREDICTIONS
        if variant in main and path.is_file():
            examples = read_examples(path, num_per_set=NUM_SEARCHED)
            unsolved = [
                example for example in examples if example.set == run.main_set and not example.is_right
            ]
            rows += [(run, unsolved[:NUM_FAILURES])] if unsolved else []
    if not rows:
        return ""
    title = "Puzzles that were not solved"
    about = (
        f"The first ones of profile {report.profile} for each model, seed {rows[0][0].seed}: its prediction after the "
        "most steps, with wrong cells marked, and the answer."
    )
    elements, top = picture_heading(title, about)
    for run, examples in rows:
        heading = f"{model_name(run.variant)}, {data_set_name(run.data_set)}"
        colour, _ = style(run.variant)
        elements.append(svg.text(LEFT, top + 14, heading, font_size=13.5, font_weight=700, fill=colour))
        for column, example in enumerate(examples):
            puzzle, last = example.puzzle, max(example.puzzle.predictions)
            assert puzzle.answer is not None
            panels = puzzle.prediction_panel(puzzle.predictions[last]), puzzle.answer_panel(puzzle.answer)
            for number, panel in enumerate(panels):
                left = LEFT + (2 * column + number) * (SIZE + GAP)
                elements.append(svg.grid_svg(panel, f"{panel.caption}, {example.name}", left, top + 26, SIZE))
                caption = panel.remark or "answer"
                elements.append(svg.text(left, top + 44 + SIZE, caption, font_size=12, fill=DARK))
        top += SIZE + 74
    return svg.document(LEFT + 2 * NUM_FAILURES * (SIZE + GAP), top, title, elements)
