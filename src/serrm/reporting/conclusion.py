"""The conclusion of a report: where a model of the headline is ahead of all others, and where none is."""

from serrm.inference.settings import HEADLINE_STEPS
from serrm.reporting.paper import model_name, puzzle_set
from serrm.reporting.results import (
    Report,
    Score,
    difference,
    has_several_seeds,
    headline_models,
    headline_score,
)
from serrm.scoring.metrics import metrics_of


def conclusion(report: Report) -> str:
    """Write a sentence per model that is ahead of all others on some sets, and one on the sets where none is.

    A model is ahead if the 95% intervals of its differences to all other headline models lie above zero. If no model
    has several seeds, a last sentence says that the intervals do not cover them. Empty without two models on one set.
    """
    winners: dict[str, list[str]] = {}
    undecided = list[str]()
    for data_set in dict.fromkeys(data_set for data_set, _ in report.results):
        scores, text = _ranking(report, data_set)
        if len(scores) > 1:
            best, *others = scores.values()
            is_ahead = all(difference(best, other).low > 0 for other in others)
            sets = winners.setdefault(next(iter(scores)), []) if is_ahead else undecided
            sets.append(text)
    sentences = [
        f"{model_name(variant)} is ahead of all others on {_listed(sets)}."
        for variant, sets in winners.items()
    ]
    if undecided:
        reason = "because the 95% interval of a difference includes zero"
        sentences.append(f"No model is ahead of all others on {_listed(undecided)}, {reason}.")
    if sentences and not has_several_seeds(report.results):
        sentences.append("Each model has one seed, so the intervals do not cover the noise of training.")
    return " ".join(sentences)


def _ranking(report: Report, data_set: str) -> tuple[dict[str, Score], str]:
    """Sort the headline models' scores on the main set of the first model with a score, best first.

    The text is such as "Sudoku 9×9 (FSR: SE-RRM 96.88, TRM 91.02, HRM 89.06)". Scores are after the models' headline
    steps.
    """
    runs = {
        variant: report.results[data_set, variant]
        for variant in headline_models(report.results)
        if (data_set, variant) in report.results
    }
    first = next((run for run, *_ in runs.values() if run.scored), None)
    if first is None:
        return {}, ""
    results = {variant: headline_score(seeds, first.main_set) for variant, seeds in runs.items()}
    scores = {variant: result for variant, result in results.items() if result}
    scores = dict(sorted(scores.items(), key=lambda item: -item[1].value))
    numbers = []
    for variant, score in scores.items():
        steps = runs[variant][0].scored[first.main_set].headline_steps
        after = "" if steps == HEADLINE_STEPS else f" after {steps}"
        numbers.append(f"{model_name(variant)} {score.value:.2f}{after}")
    metric = metrics_of(first.task)[first.main_metric].short
    return scores, f"{puzzle_set(data_set, first.main_set)} ({metric}: {', '.join(numbers)})"


def _listed(names: list[str]) -> str:
    """Join names in a sentence: "a", "a and b", "a, b and c"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
