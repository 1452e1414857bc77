"""The score of a run in one line, for the log of an evaluation."""

from serrm.core.progress import duration
from serrm.scoring.metrics import interval, metrics_of
from serrm.scoring.schema import Evaluation


def score_line(run: Evaluation, seconds: float) -> str:
    """Format the main score on the test set of the size trained on, in percent with its 95% interval, and the time.

    Such as "sudoku-trm-s0: 9×9 76.95 (71.42–81.69), 77 s". `seconds` are those of training and evaluation.
    """
    if not run.main_set:
        return f"{run.name}: no scored set, {duration(seconds)}"
    scored_set = run.scored[run.main_set]
    scores, metric = scored_set.steps[scored_set.headline_steps], run.main_metric
    statistic = metrics_of(run.task)[metric].statistic
    ends = interval(metric, statistic, scores)
    value, low, high = (statistic.factor * number for number in (scores[metric], *ends))
    return f"{run.name}: {run.main_set.replace('x', '×')} {value:.2f} ({low:.2f}–{high:.2f}), {duration(seconds)}"
