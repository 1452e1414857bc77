"""Checks of claims (paper.yaml): each compares scores of a report and yields parts of the claim with verdicts."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Final, NamedTuple

from serrm.inference.settings import HEADLINE_STEPS
from serrm.reporting.claim_rules import FAILS, HOLDS, RULES, UNDECIDED, UNTESTED, Rule, ahead, not_behind
from serrm.reporting.paper import Check, data_set_name, load_paper, model_name, set_name
from serrm.reporting.results import Report, Score, all_runs, in_percent, over_seeds, runs_on, score
from serrm.scoring.metrics import METRICS
from serrm.scoring.schema import Evaluation


class Part(NamedTuple):
    """A part of a claim as a sentence, the verdict on it, and our numbers behind the verdict as text."""

    statement: str
    verdict: str
    evidence: str


def by_rule(report: Report, check: Check) -> Iterator[Part]:
    """A part for every task and data set of the check, judged by the check's rule on the models' scores."""
    for task, name, its_report in by_task_and_data_set(report, check):
        yield judge_by_rule(RULES[check.rule], its_report, task, name, check)


def judge_by_rule(rule: Rule, report: Report, task: str, name: str, check: Check) -> Part:
    """The part of a check on one data set, which is called `name` in the report, judged by a rule."""
    name += f" {set_name(check.set)}" if check.set else ""
    statement = f"{name}: {check.words}"
    scores = scores_of(report, task, check.models, check.metric, check.set)
    if missing := [model_name(model) for model in check.models if model not in scores]:
        return Part(statement, UNTESTED, why_untested(report, task, name, missing))
    verdict, deciding = rule(check.number, *scores.values())
    numbers = [f"{model_name(model)} {score}" for model, score in scores.items()]
    numbers += [deciding] if deciding else []
    return Part(statement, verdict, f"{METRICS[check.metric].name}: {'; '.join(numbers)}.")


def by_task_and_data_set(report: Report, check: Check) -> Iterator[tuple[str, str, Report]]:
    """Every task of a check and every data set of it that the check reads: task, name of the data set, and its runs."""
    for task in check.tasks:
        for name, its_report in by_data_set(report, task, check):
            yield task, name, its_report


def by_data_set(report: Report, task: str, check: Check) -> Iterator[tuple[str, Report]]:
    """The runs on each data set that a check reads, as a report, with the name of the data set.

    One data set stands for the task and is called like it: the one on which most of the check's models have the check's
    test set, the first of these in the profile. Further data sets, if the check reads them, need all of its models.
    """
    names = dict.fromkeys(run.data_set for run in all_runs(report.results) if run.task == task)
    results = {name: {key: runs for key, runs in report.results.items() if key[0] == name} for name in names}

    def num_models(name: str) -> int:
        runs = [results[name][name, model][0] for model in check.models if (name, model) in results[name]]
        return sum(check.set is None or check.set in run.sets for run in runs)

    main = max(names, key=num_models, default=None)
    yield data_set_name(task), report if main is None else replace(report, results=results[main])
    for name in names if check.all_data_sets else ():
        if name != main and all((name, model) in results[name] for model in check.models):
            yield data_set_name(name), replace(report, results=results[name])


def why_untested(report: Report, task: str, name: str, missing: Sequence[str]) -> str:
    """What a comparison lacks: the whole task, or scores of the models that are missing."""
    if all(run.task != task for run in all_runs(report.results)):
        return f"{data_set_name(task)} was not run."
    return f"{', '.join(missing)} {'were' if len(missing) > 1 else 'was'} not run, or not scored on {name}."


def scores_of(
    report: Report,
    task: str,
    models: Iterable[str],
    metric: str,
    of_set: str | None,
    steps: int = HEADLINE_STEPS,
) -> dict[str, Score]:
    """The scores by model, without the models that have none."""
    scores = {
        model: score(runs_on(report.results, task, model, of_set), metric, of_set, steps) for model in models
    }
    return {model: result for model, result in scores.items() if result}


def cannot_take(report: Report, check: Check) -> Iterator[Part]:
    """The models cannot take a set: their evaluation refused its size."""
    for task in check.tasks:
        name = f"{data_set_name(task)} {set_name(check.set or '')}"
        statement, refused = f"{name}: {check.words}", {}
        for model in check.models:
            runs = runs_on(report.results, task, model, check.set)
            if runs and check.set in runs[0].sets:
                refused[model_name(model)] = check.set in runs[0].refused
        missing = [model_name(model) for model in check.models if model_name(model) not in refused]
        if missing:
            yield Part(statement, UNTESTED, why_untested(report, task, name, missing))
        else:
            sentences = [
                f"{model} {'cannot extrapolate' if no else 'was scored'}" for model, no in refused.items()
            ]
            yield Part(statement, HOLDS if all(refused.values()) else FAILS, f"{'; '.join(sentences)}.")


def more_steps(report: Report, check: Check) -> Iterator[Part]:
    """A model (the check's one) after more steps than in training against 16 steps, by the same runs."""
    (model,) = check.models
    for task, name, its_report in by_task_and_data_set(report, check):
        scores = {
            steps: by_model[model]
            for steps, by_model in by_steps(its_report, task, check).items()
            if by_model and steps >= HEADLINE_STEPS
        }
        verdict, evidence = UNTESTED, "More steps than in training were not scored."
        if scores and HEADLINE_STEPS not in scores:
            evidence = f"{HEADLINE_STEPS} steps were not scored."
        elif len(scores) > 1:
            most, usual = scores[max(scores)], scores[HEADLINE_STEPS]
            verdict, deciding = ahead(0.0, most, usual, has_same_runs=True)
            numbers = "; ".join(f"after {steps} steps {score}" for steps, score in scores.items())
            evidence = f"{METRICS[check.metric].name} {numbers}; {deciding}."
        yield Part(f"{name} {set_name(check.set or '')}: {check.words}", verdict, evidence)


def every_depth(report: Report, check: Check) -> Iterator[Part]:
    """The first model against the others at every number of steps of table 2."""
    *others, last = map(model_name, check.models)
    models = f"{', '.join(others)} and {last}"
    data_sets = [*by_task_and_data_set(report, check)]
    for task, name, its_report in data_sets:
        for steps, scores in by_steps(its_report, task, check).items():
            verdict, evidence = UNTESTED, f"{models} were not scored after so many steps."
            if len(scores) == len(check.models):
                verdict, deciding = ahead(0.0, *scores.values())
                evidence = f"{METRICS[check.metric].name}: {deciding}."
            label = "after 1 step" if steps == 1 else f"after {steps} steps"
            label = f"{name} {label}" if len(data_sets) > 1 else label
            yield Part(f"{label}: {check.words}", verdict, evidence)


def by_steps(report: Report, task: str, check: Check) -> dict[int, dict[str, Score]]:
    """The scores of a check's models on its set, by the numbers of steps of table 2, then by model."""
    columns = load_paper().score_tables["2"].columns.values()
    return {
        column.steps: scores_of(report, task, check.models, check.metric, check.set, column.steps)
        for column in columns
    }


def augmentations(report: Report, check: Check) -> Iterator[Part]:
    """The first model is not behind the others, where it had fewer augmentations."""
    for task, name, its_report in by_task_and_data_set(report, check):
        part = judge_by_rule(not_behind, its_report, task, name, check)
        if part.verdict != UNTESTED:
            nums = num_augmentations(its_report, task, check.models)
            first, *others = nums.values()
            if first >= min(others):
                part = part._replace(verdict=UNTESTED, evidence=augmentations_text(nums))
        yield part


def num_augmentations(report: Report, task: str, models: Iterable[str]) -> dict[str, int]:
    """The numbers of augmentations of models that ran on a task."""
    keys = {model: (runs_on(report.results, task, model)[0].data_set, model) for model in models}
    return {model: report.settings[key]["arrays"]["num_augmentations"] for model, key in keys.items()}


def augmentations_text(nums: Mapping[str, int]) -> str:
    """Such as "SE-RRM had 8 augmentations, TRM and HRM had 1,000."."""
    first, *others = nums
    names_by_num: dict[int, list[str]] = {}
    for model in others:
        names_by_num.setdefault(nums[model], []).append(model_name(model))
    texts = [f"{model_name(first)} had {nums[first]:,} augmentations"]
    texts += [f"{' and '.join(names)} had {num:,}" for num, names in names_by_num.items()]
    return f"{', '.join(texts)}."


def permutation(report: Report, check: Check) -> Iterator[Part]:
    """A model (the check's one) on puzzles with permuted symbols; rounding may decide an answer, which refutes nothing.

    It reads the runs of all tasks.
    """
    (model,) = check.models
    for (data_set, variant), runs in report.results.items():
        counts = [run.equivariance for run in runs if run.equivariance] if variant == model else []
        if counts:
            same, num = sum(count.num_identical for count in counts), sum(count.num_pairs for count in counts)
            precision = (
                "" if all(count.is_in_float32 for count in counts) else f", counted in {counts[0].precision}"
            )
            evidence = f"{same:,} of {num:,} predictions are the same{precision}."
            verdict = HOLDS if same == num else UNDECIDED if same else FAILS
            yield Part(f"{data_set_name(data_set)}: {check.words}", verdict, evidence)


def mean_curve(runs: Sequence[Evaluation], metric: str) -> list[tuple[float, Score]]:
    """The learning curve of a variant over its seeds: mean numbers of samples processed, with scores.

    It has the snapshots after optimiser steps that all seeds have in common.
    """
    curves = [{point.step: point for point in run.learning_curve if metric in point.scores} for run in runs]
    points = [
        [curve[step] for curve in curves]
        for step in (curves[0] if curves else ())
        if all(step in curve for curve in curves)
    ]
    return [
        (
            fmean(point.samples for point in seeds),
            over_seeds([in_percent(runs[0].task, metric, point.scores) for point in seeds], 0),
        )
        for seeds in points
    ]


def data_efficient(report: Report, check: Check) -> Iterator[Part]:
    """The first model's learning curve against the best score on each other model's curve.

    Let n be the number of samples that the other model had seen at its best score. The claim holds if the first model's
    last score up to n samples is ahead of it, and fails if its next score, from n samples on, is behind. Only for runs
    that start from random weights: a run that continues another has seen more samples than its own.
    """
    first, *others = check.models
    for (data_set, variant), runs in report.results.items():
        first_runs = report.results.get((data_set, first), [])
        if variant not in others or any(run.name in report.init for run in [*runs, *first_runs]):
            continue
        metric = runs[0].main_metric
        samples, best = max(mean_curve(runs, metric), key=lambda point: point[1].value, default=(0.0, None))
        of_first = mean_curve(first_runs, metric)
        before = [point for point in of_first if point[0] <= samples]
        if best and best.value and before:
            after = next((score for num, score in of_first if num >= samples), of_first[-1][1])
            num_before, score_before = before[-1]
            if ahead(0.0, score_before, best)[0] == HOLDS:
                verdict = HOLDS
            else:
                verdict = FAILS if ahead(0.0, best, after)[0] == HOLDS else UNDECIDED
            statement = f"{data_set_name(data_set)}: ahead of {model_name(variant)} after no more samples"
            numbers = f"{model_name(variant)}'s best snapshot {best} after {samples:,.0f} samples; "
            numbers += f"{model_name(first)} {score_before} after {num_before:,.0f} samples"
            yield Part(statement, verdict, f"{METRICS[metric].name}: {numbers}.")


def parameters(report: Report, check: Check) -> Iterator[Part]:
    """The parameters of the paper's models of Sudoku, whatever the runs are.

    The paper says "only a fraction", which we take as under half.
    """
    costs = {model: cost.parameters for model in check.models if (cost := report.cost("sudoku", model))}
    if len(costs) < len(check.models):
        return
    first, *others = check.models
    for model in others:
        share = costs[first] / costs[model]
        numbers = "; ".join(f"{model_name(name)} {costs[name]:,}" for name in (first, model))
        statement = f"profile paper, Sudoku: less than half of {model_name(model)}'s"
        verdict = HOLDS if share < 0.5 else FAILS
        yield Part(statement, verdict, f"Parameters: {numbers}; a share of {share:.2f}.")


CHECKS: Final[Mapping[str, Callable[[Report, Check], Iterator[Part]]]] = dict.fromkeys(RULES, by_rule) | {
    check.__name__: check
    for check in (
        cannot_take,
        more_steps,
        every_depth,
        augmentations,
        permutation,
        data_efficient,
        parameters,
    )
}
