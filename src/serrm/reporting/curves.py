"""A report's curves and scores as plain data, for `dvc plots` and `dvc metrics`: what moved between two commits."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from serrm.files import csv_text, write_json, write_whole
from serrm.reporting.names import METRIC_NAMES, model_name, reported, set_name, task_name
from serrm.reporting.results import Evaluation, Results, ScoredSet, all_runs

DEPTH: Final = ("panel", "model", "steps", "solved", "gpa")
LEARNING: Final = ("panel", "model", "step", "samples", "loss", "solved", "gpa")
Point = dict[str, str | int | float | None]


def write_curves(results: Results, folder: Path) -> None:
    """Write depth.csv and learning.csv: rates in percent against supervision steps, and against samples.

    `solved` is the score that the paper gives first: FSR, for ARC-AGI pass@2. A panel is a task or one of its sets.
    """
    folder.mkdir(parents=True, exist_ok=True)
    runs = all_runs(results)
    several = len({run.seed for run in runs}) > 1
    depth = [point for run in runs for point in _depth(run, _model(run, several))]
    learning = [point for run in runs for point in _learning(run, _model(run, several))]
    for name, columns, points in (("depth", DEPTH, depth), ("learning", LEARNING, learning)):
        rows = ([point[column] for column in columns] for point in points)
        write_whole(folder / f"{name}.csv", csv_text(columns, rows))


def write_scores(results: Results, path: Path) -> None:
    """Write one JSON of what one compares first: each cell's rates after the last step, by set, in percent."""
    scores = {
        run.name: {name: _last_rates(part) for name, part in run.scored.items()} for run in all_runs(results)
    }
    write_json(path, scores)


def _last_rates(part: ScoredSet) -> dict[str, float]:
    pairs = part.demonstrations.steps if part.demonstrations else {}
    scores = part.steps[max(part.steps)] | (pairs[max(pairs)] if pairs else {})
    return {name: round(100 * scores[name], 2) for name in METRIC_NAMES if name in scores}


def _model(run: Evaluation, has_seeds: bool) -> str:
    return model_name(run.model) + (f", seed {run.seed}" if has_seeds else "")


def _depth(run: Evaluation, model: str) -> Iterator[Point]:
    for name, part in run.scored.items():
        panel = {"panel": f"{task_name(run.task)} {set_name(name)}", "model": model}
        yield from ({**panel, "steps": steps, **_rates(run, scores)} for steps, scores in part.steps.items())


def _learning(run: Evaluation, model: str) -> Iterator[Point]:
    for point in run.learning_curve:
        place = {"step": int(point["step"]), "samples": int(point["samples"]), "loss": point["loss"]}
        yield {"panel": task_name(run.task), "model": model, **place, **_rates(run, point)}


def _rates(run: Evaluation, scores: dict[str, float]) -> Point:
    named = {"solved": scores.get(reported(run.task).headline), "gpa": scores.get("gpa")}
    return {name: None if rate is None else round(100 * rate, 2) for name, rate in named.items()}
