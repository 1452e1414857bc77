"""The conclusion of a report: where a model of the headline is ahead of all others, and where none is."""

from typing import NamedTuple

from serrm.inference.settings import HEADLINE_STEPS
from serrm.reporting.paper import model_name, puzzle_set
from serrm.reporting.results import Report, Score, difference, headline_models, headline_score
from serrm.scoring.metrics import metrics_of


class Ranking(NamedTuple):
    """The headline models' scores on a data set's main test set, best first, and whether the first leads all others.

    Scores are after the models' headline steps.
    """

    name: str
    metric: str
    scores: dict[str, Score]
    steps: dict[str, int]
    has_winner: bool

    def __str__(self) -> str:
        """Such as "Sudoku 9×9 (FSR: SE-RRM 96.88, TRM 91.02, HRM 89.06)"."""
        numbers = []
        for variant, score in self.scores.items():
            steps = self.steps[variant]
            after = "" if steps == HEADLINE_STEPS else f" after {steps}"
            numbers.append(f"{model_name(variant)} {score.value:.2f}{after}")
        return f"{self.name} ({self.metric}: {', '.join(numbers)})"


def conclusion(report: Report) -> str:
    """A sentence per model that is ahead of all others on some sets, and one on the sets where none is.

    A model is ahead if the 95% intervals of its differences to all other headline models lie above zero. Empty without
    two models on one set.
    """
    ranked = rankings(report)
    winners: dict[str, list[str]] = {}
    for ranking in ranked:
        if ranking.has_winner:
            winners.setdefault(next(iter(ranking.scores)), []).append(str(ranking))
    sentences = [
        f"{model_name(variant)} is ahead of all others on {_listed(sets)}."
        for variant, sets in winners.items()
    ]
    if undecided := [str(ranking) for ranking in ranked if not ranking.has_winner]:
        reason = "because the 95% interval of a difference includes zero"
        sentences.append(f"No model is ahead of all others on {_listed(undecided)}, {reason}.")
    return " ".join(sentences)


def rankings(report: Report) -> list[Ranking]:
    """The rankings of the headline models, one per data set, on the main set of the first model with a score."""
    ranked = []
    for data_set in dict.fromkeys(data_set for data_set, _ in report.results):
        runs = {
            variant: report.results[data_set, variant]
            for variant in headline_models(report.results)
            if (data_set, variant) in report.results
        }
        first = next((run for run, *_ in runs.values() if run.scored), None)
        if first is None:
            continue
        results = {variant: headline_score(seeds, first.main_set) for variant, seeds in runs.items()}
        scores = {variant: result for variant, result in results.items() if result}
        scores = dict(sorted(scores.items(), key=lambda item: -item[1].value))
        if len(scores) > 1:
            best, *others = scores.values()
            has_winner = all(difference(best, other).low > 0 for other in others)
            name = puzzle_set(data_set, first.main_set)
            steps = {variant: runs[variant][0].scored[first.main_set].headline_steps for variant in scores}
            metric = metrics_of(first.task)[first.main_metric].short
            ranked.append(Ranking(name, metric, scores, steps, has_winner))
    return ranked


def _listed(names: list[str]) -> str:
    """Names in a sentence: "a", "a and b", "a, b and c"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
