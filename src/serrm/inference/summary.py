"""The score of a run in one line, for the log of an evaluation."""

from collections.abc import Mapping
from typing import Any

from serrm.inference.settings import ScoringSettings
from serrm.metrics import metrics_of
from serrm.progress import duration
from serrm.puzzles.tasks import TASKS


def score_line(name: str, scores: Mapping[str, Any], run: ScoringSettings, seconds: float) -> str:
    """The main score on the set trained on, in percent with its 95% interval, and the time of the run.

    Such as "sudoku-trm-s0: 9×9 76.95 (71.42–81.69), 77 s". `scores` are those of `evaluate`, and `seconds` those of
    training and evaluation.
    """
    scored = {of_set: part for of_set, part in scores["sets"].items() if part.get("steps")}
    of_set = scores.get("trained_set") or next(iter(scored), "")
    if of_set not in scored:
        return f"{name}: no scored set, {duration(seconds)}"
    metric, steps = TASKS[run.kind].metrics[0], scored[of_set]["steps"][str(run.evaluate.headline)]
    factor = metrics_of(run.kind)[metric].unit.factor
    value, low, high = (factor * steps[metric + end] for end in ("", "_lo", "_hi"))
    return f"{name}: {of_set.replace('x', '×')} {value:.2f} ({low:.2f}–{high:.2f}), {duration(seconds)}"
