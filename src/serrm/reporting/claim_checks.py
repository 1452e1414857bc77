"""Checks of claims (paper.yaml): each compares scores of a report and yields parts of the claim with verdicts."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Final, NamedTuple

from serrm.inference.settings import HEADLINE_STEPS
from serrm.models.families import FAMILIES
from serrm.reporting.claim_rules import (
    BY_CONSTRUCTION,
    FAILS,
    FAULT,
    HOLDS,
    ONLY_WITH_FAULT,
    RULES,
    UNTESTED,
    Rule,
    above,
    ahead,
)
from serrm.reporting.legal_guesses import legal_guesses
from serrm.reporting.paper import Check, data_set_name, load_paper, model_name, paper_cost, set_name
from serrm.reporting.paper_tables import EASIER_BELOW, mean_blanks
from serrm.reporting.results import (
    Report,
    Score,
    all_runs,
    in_percent,
    over_seeds,
    runs_on,
    score,
    variant_with_most_seeds,
)
from serrm.scoring.metrics import METRICS
from serrm.scoring.schema import Evaluation
from serrm.scoring.verdicts import UNDECIDED

WITHOUT_FAULT: Final = (
    "If it holds for models with the fault of the published code, it also has to hold for the same models without the "
    "fault; if it fails for these, it holds only with the fault, and if they were not run, it stays undecided."
)
DATA_EFFICIENT: Final = (
    "Let n be the number of samples that the other model had seen at its best snapshot. Holds if the interval of the "
    "difference between our last snapshot up to n samples and that snapshot lies above zero; fails if our next "
    "snapshot, from n samples on, is behind it."
)
SETTINGS_RULES: Final = ("parameters", "permutation")  # not about the scores of models
# Variants that stand for models in further parts of a claim, by what these parts are called: those that were tuned
# equally, where the families themselves have the paper's recipes (docs/experiments/claims.md), and those that were
# trained without copies of puzzles, as planned in docs/experiments/factorial.md.
TUNED: Final = "tuned equally"
TWINS: Final[Mapping[str, Mapping[str, str]]] = {
    TUNED: {
        "se_rrm": "se_rrm_tuned",
        "hrm": "hrm_rope2d_random_halting_tuned",
        "trm": "trm_rope2d_random_halting",  # no other setting was better
    },
    "no symmetric copies": {"se_rrm": "se_rrm_plain", "se_rrm_untied": "se_rrm_untied_plain"},
}
NO_COMPARISONS: Final = (*SETTINGS_RULES, "cannot_take")


class Part(NamedTuple):
    """A part of a claim as a sentence, the verdict on it, our numbers behind the verdict as text, and the rule in
    words.

    `p` is the p-value behind the verdict, NaN for a rule without one. `num_seeds` is that of the score with the
    fewest, 0 if the verdict does not depend on seeds.
    """

    statement: str
    verdict: str
    evidence: str
    rule: str = ""
    p: float = math.nan
    num_seeds: int = 0


def per_data_set(
    judge: Callable[[Report, str, str, Check], Part],
) -> Callable[[Report, Check], Iterator[Part]]:
    """Make a check of a function that judges the runs of one data set of a task, which the report calls by a name."""

    def check_data_sets(report: Report, check: Check) -> Iterator[Part]:
        for task, name, its_report in by_task_and_data_set(report, check):
            yield judge(its_report, task, name, check)

    return check_data_sets


def by_rule(report: Report, task: str, name: str, check: Check) -> Part:
    """Judge the scores of the check's models by the check's rule."""
    return judge_by_rule(RULES[check.rule], report, task, name, check)


def judge_by_rule(rule: Rule, report: Report, task: str, name: str, check: Check) -> Part:
    """Judge a check on one data set by a rule.

    A check of models with the fault of the published code is judged without the fault, too (`with_and_without`).
    """
    part = _judge_models(rule, report, task, name, check)
    models = tuple(model.removesuffix(FAULT) for model in check.models)
    if models == check.models:
        return part
    without = _judge_models(rule, report, task, name, check.model_copy(update={"models": models}))
    return part._replace(
        verdict=with_and_without(part.verdict, without.verdict),
        evidence=f"With the fault: {part.evidence} Without: {without.verdict}; {without.evidence}",
        rule=f"{part.rule} {WITHOUT_FAULT}",
        num_seeds=min((num for num in (part.num_seeds, without.num_seeds) if num), default=0),
    )


def with_and_without(verdict: str, without_fault: str) -> str:
    """Judge models with the fault by the same models without it, too (WITHOUT_FAULT has the words)."""
    if verdict != HOLDS:
        return verdict
    return {HOLDS: HOLDS, FAILS: ONLY_WITH_FAULT}.get(without_fault, UNDECIDED)


def _judge_models(rule: Rule, report: Report, task: str, name: str, check: Check) -> Part:
    """Judge the scores of the check's models on one data set by a rule."""
    statement, text = statement_of(name, check), rule.text.format(number=check.number)
    scores = scores_of(report, task, check.models, check.metric, check.set)
    if missing := [model_name(model) for model in check.models if model not in scores]:
        return Part(statement, UNTESTED, why_untested(report, task, with_set(name, check), missing), text)
    verdict, deciding, p = rule.judge(check.number, *scores.values())
    numbers = [*(f"{model_name(model)} {score}" for model, score in scores.items()), deciding]
    evidence = f"{METRICS[check.metric].name}: {'; '.join(filter(None, numbers))}."
    return Part(statement, verdict, evidence, text, p, fewest_seeds(scores.values()))


def with_set(name: str, check: Check) -> str:
    """Add the check's test set, if it names one, to the name of a data set."""
    return f"{name} {set_name(check.set)}" if check.set else name


def statement_of(name: str, check: Check) -> str:
    """State what a check tests on a data set."""
    return f"{with_set(name, check)}: {check.words}"


def fewest_seeds(scores: Iterable[Score]) -> int:
    """Count the seeds of the score with the fewest."""
    return min(len(score.seeds) for score in scores)


def with_most_seeds(report: Report, check: Check) -> Check:
    """Replace every family by its variant with the most seeds, if all models of the check are families.

    These are the models of the headline: in profile `published` the tuned ones. A check of variants stays as it is.
    """
    if check.rule in SETTINGS_RULES or not FAMILIES.keys() >= set(check.models):
        return check
    tuned = {model: variant_with_most_seeds(report.results, model) for model in check.models}
    models = [
        tuned[model] if any(runs_on(report.results, task, tuned[model]) for task in check.tasks) else model
        for model in check.models
    ]
    return check.model_copy(update={"models": tuple(models)})


def with_twins(report: Report, check: Check) -> list[Check]:
    """List a check that compares models, and the same of the variants in TWINS, where all of these ran."""
    if len(check.models) == 1 or check.rule in NO_COMPARISONS:
        return [check]
    checks = [check]
    for name, variants in TWINS.items():
        if variants.keys() >= set(check.models):
            models = tuple(variants[model] for model in check.models)
            tasks = tuple(
                task
                for task in check.tasks
                if all(runs_on(report.results, task, model, check.set) for model in models)
            )
            update = {"models": models, "tasks": tasks, "words": f"{check.words}, {name}"}
            checks += [check.model_copy(update=update)] if tasks else []
    return checks


def by_task_and_data_set(report: Report, check: Check) -> Iterator[tuple[str, str, Report]]:
    """Yield the task, the name and the runs of every data set that a check reads, task by task."""
    for task in check.tasks:
        for name, its_report in by_data_set(report, task, check):
            yield task, name, its_report


def by_data_set(report: Report, task: str, check: Check) -> Iterator[tuple[str, Report]]:
    """Yield the runs on each data set that a check reads, as a report, with the name of the data set.

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
    """State what a comparison lacks: the whole task, or scores of the models that are missing."""
    if all(run.task != task for run in all_runs(report.results)):
        return f"{data_set_name(task)} was not run."
    return f"{', '.join(missing)} {'were' if len(missing) > 1 else 'was'} not run, or not scored on {name}."


def scores_of(
    report: Report,
    task: str,
    models: Iterable[str],
    metric: str,
    test_set: str | None,
    steps: int = HEADLINE_STEPS,
) -> dict[str, Score]:
    """Score models, without those that have no score."""
    scores = {
        model: score(runs_on(report.results, task, model, test_set), metric, test_set, steps)
        for model in models
    }
    return {model: result for model, result in scores.items() if result}


def above_chance(report: Report, task: str, name: str, check: Check) -> Part:
    """Judge a model (the check's one) against legal guesses on a set of Sudokus (benchmarks/legal_guesses.py)."""
    rule = Rule(
        above,
        "Holds if the t interval over seeds of the score lies above the mean score of legal guesses: each blank filled "
        "with a digit drawn at random among what row, column and box allow. Fails if it lies below; one seed decides "
        "nothing without the right cells of every puzzle.",
    )
    runs = runs_on(report.results, task, check.models[0], check.set)
    guess = legal_guesses().get((report.profile, runs[0].data_set, check.set or "")) if runs else None
    if guess is not None:
        return judge_by_rule(rule, report, task, name, check.model_copy(update={"number": guess}))
    evidence = "The score of legal guesses on this set is not known." if runs else f"{name} was not run."
    return Part(statement_of(name, check), UNTESTED, evidence, rule.text)


def unsolved(report: Report, task: str, name: str, check: Check) -> Part:
    """Judge whether a model (the check's one) solves nearly none of Sudokus that are about as hard as the paper's."""
    rule = RULES["nearly_none"]
    text = f"{rule.text} Tested only on puzzles with at least {EASIER_BELOW:.0%} of the paper's blanks."
    part = judge_by_rule(rule, report, task, name, check)._replace(rule=text)
    runs = runs_on(report.results, task, check.models[0], check.set)
    scored = runs[0].scored.get(check.set or "") if runs else None
    blanks = mean_blanks(task, [scored]) if scored else []
    columns = load_paper().score_tables["1"].columns.values()
    paper_blanks = next(
        (column.blanks for column in columns if column.set == check.set and column.blanks), None
    )
    if part.verdict != UNTESTED and blanks and paper_blanks and blanks[0] < EASIER_BELOW * paper_blanks.num:
        evidence = f"Our puzzles have {blanks[0]} blanks, the paper's {paper_blanks}. {part.evidence}"
        return part._replace(verdict=UNTESTED, evidence=evidence)
    return part


def cannot_take(report: Report, check: Check) -> Iterator[Part]:
    """Judge by construction that the models cannot take a set: their evaluation refused its size."""
    text = "By construction if the evaluation refused the size for all these models; fails if one was scored."
    for task in check.tasks:
        name, refused = data_set_name(task), dict[str, bool]()
        for model in check.models:
            runs = runs_on(report.results, task, model, check.set)
            if runs and check.set in runs[0].sets:
                refused[model_name(model)] = check.set in runs[0].refused
        missing = [model_name(model) for model in check.models if model_name(model) not in refused]
        verdict = BY_CONSTRUCTION if all(refused.values()) else FAILS
        words = (f"{model} {'cannot extrapolate' if no else 'was scored'}" for model, no in refused.items())
        evidence = f"{'; '.join(words)}."
        if missing:
            verdict, evidence = UNTESTED, why_untested(report, task, with_set(name, check), missing)
        yield Part(statement_of(name, check), verdict, evidence, text)


def more_steps(report: Report, task: str, name: str, check: Check) -> Part:
    """Judge a model (the check's one) after more steps than in training against 16 steps, by the same runs."""
    text = (
        f"Holds if the interval of the difference between the most steps and {HEADLINE_STEPS}, by the same runs, lies "
        "above zero; fails if it lies below."
    )
    scores = {
        steps: model_scores[check.models[0]]
        for steps, model_scores in by_steps(report, task, check).items()
        if model_scores and steps >= HEADLINE_STEPS
    }
    statement = statement_of(name, check)
    if scores and HEADLINE_STEPS not in scores:
        return Part(statement, UNTESTED, f"{HEADLINE_STEPS} steps were not scored.", text)
    if len(scores) < 2:
        return Part(statement, UNTESTED, "More steps than in training were not scored.", text)
    most, usual = scores[max(scores)], scores[HEADLINE_STEPS]
    verdict, deciding, p = ahead(0.0, most, usual, has_same_runs=True)
    numbers = "; ".join(f"after {steps} steps {score}" for steps, score in scores.items())
    evidence = f"{METRICS[check.metric].name} {numbers}; {deciding}."
    return Part(statement, verdict, evidence, text, p, fewest_seeds([most, usual]))


def every_depth(report: Report, check: Check) -> Iterator[Part]:
    """Judge the first model against the others at every number of steps of table 2."""
    *others, last = map(model_name, check.models)
    models = f"{', '.join(others)} and {last}"
    for task, name, its_report in by_task_and_data_set(report, check):
        for steps, scores in by_steps(its_report, task, check).items():
            label = "after 1 step" if steps == 1 else f"after {steps} steps"
            statement, text = f"{name} {label}: {check.words}", RULES["ahead"].text.format(number=0)
            part = Part(statement, UNTESTED, f"{models} were not scored after so many steps.", text)
            if len(scores) == len(check.models):
                verdict, deciding, p = ahead(0.0, *scores.values())
                evidence = f"{METRICS[check.metric].name}: {deciding}."
                part = Part(statement, verdict, evidence, text, p, fewest_seeds(scores.values()))
            yield part


def by_steps(report: Report, task: str, check: Check) -> dict[int, dict[str, Score]]:
    """Score a check's models on its set, by the numbers of steps of table 2, then by model."""
    columns = load_paper().score_tables["2"].columns.values()
    return {
        column.steps: scores_of(report, task, check.models, check.metric, check.set, column.steps)
        for column in columns
    }


def augmentations(report: Report, task: str, name: str, check: Check) -> Part:
    """Judge that the first model is not behind the others, where it had fewer augmentations."""
    part = judge_by_rule(RULES["not_behind"], report, task, name, check)
    part = part._replace(rule=f"{part.rule} Tested only where the first model had fewer augmentations.")
    if part.verdict == UNTESTED:
        return part
    nums = num_augmentations(report, task, check.models)
    first, *others = nums.values()
    if first < min(others):
        return part
    return part._replace(verdict=UNTESTED, evidence=augmentations_text(nums))


def num_augmentations(report: Report, task: str, models: Iterable[str]) -> dict[str, int]:
    """Look up the numbers of augmentations of models that ran on a task."""
    keys = {model: (runs_on(report.results, task, model)[0].data_set, model) for model in models}
    return {model: report.settings[key]["arrays"]["num_augmentations"] for model, key in keys.items()}


def augmentations_text(nums: Mapping[str, int]) -> str:
    """Write numbers of augmentations, such as "SE-RRM had 8 augmentations, TRM and HRM had 1,000."."""
    first, *others = nums
    names_by_num: dict[int, list[str]] = {}
    for model in others:
        names_by_num.setdefault(nums[model], []).append(model_name(model))
    texts = [f"{model_name(first)} had {nums[first]:,} augmentations"]
    texts += [f"{' and '.join(names)} had {num:,}" for num, names in names_by_num.items()]
    return f"{', '.join(texts)}."


def permutation(report: Report, check: Check) -> Iterator[Part]:
    """Judge a model (the check's one) on puzzles with permuted symbols; an answer that rounding decides refutes none.

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
            text = "Holds if all predictions for permuted puzzles are the permuted predictions; fails if none is."
            statement = f"{data_set_name(data_set)}: {check.words}"
            yield Part(statement, verdict, evidence, text, num_seeds=len(runs))


def mean_curve(runs: Sequence[Evaluation], metric: str) -> list[tuple[float, Score]]:
    """Average the learning curve of a variant over its seeds: mean numbers of samples processed, with scores.

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
    """Judge the first model's learning curve against the best score on each other model's curve.

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
        first_curve = mean_curve(first_runs, metric)
        before = [point for point in first_curve if point[0] <= samples]
        if best and best.value and before:
            after = next((score for num, score in first_curve if num >= samples), first_curve[-1][1])
            num_before, score_before = before[-1]
            lead, lag = ahead(0.0, score_before, best), ahead(0.0, best, after)
            verdict = HOLDS if lead.verdict == HOLDS else FAILS if lag.verdict == HOLDS else UNDECIDED
            deciding = lag if verdict == FAILS else lead
            statement = f"{data_set_name(data_set)}: ahead of {model_name(variant)} after no more samples"
            numbers = f"{model_name(variant)}'s best snapshot {best} after {samples:,.0f} samples; "
            numbers += f"{model_name(first)} {score_before} after {num_before:,.0f} samples"
            evidence = f"{METRICS[metric].name}: {numbers}; {deciding.deciding}."
            num_seeds = fewest_seeds([score_before, best, after])
            yield Part(statement, verdict, evidence, DATA_EFFICIENT, deciding.p, num_seeds)


def parameters(report: Report, check: Check) -> Iterator[Part]:
    """Judge the parameters of the paper's models of Sudoku, whatever the runs are.

    The paper says "only a fraction", which we take as under half. No run decides it, but the evidence names the
    parameters of this profile's models, too, whose sizes may be chosen otherwise.
    """
    text = "By construction if the paper's settings give less than half of the parameters; fails if they give more."
    costs = {model: cost.parameters for model in check.models if (cost := paper_cost("sudoku", model))}
    if len(costs) < len(check.models):
        return
    first, *others = check.models
    for model in others:
        share = costs[first] / costs[model]
        numbers = "; ".join(f"{model_name(name)} {costs[name]:,}" for name in (first, model))
        statement = f"profile paper, Sudoku: less than half of {model_name(model)}'s"
        evidence = f"Parameters: {numbers}; a share of {share:.2f}."
        runs_of = {name: runs_on(report.results, "sudoku", name) for name in (first, model)}
        if all(runs_of.values()):
            sizes = {name: runs[0].model_info.parameters for name, runs in runs_of.items()}
            numbers = "; ".join(f"{model_name(name)} {num:,}" for name, num in sizes.items())
            evidence += f" In this profile: {numbers}; a share of {sizes[first] / sizes[model]:.2f}."
        yield Part(statement, BY_CONSTRUCTION if share < 0.5 else FAILS, evidence, text)


CHECKS: Final[Mapping[str, Callable[[Report, Check], Iterator[Part]]]] = {
    **dict.fromkeys(RULES, per_data_set(by_rule)),
    **{check.__name__: per_data_set(check) for check in (above_chance, unsolved, more_steps, augmentations)},
    **{
        check.__name__: check for check in (cannot_take, every_depth, permutation, data_efficient, parameters)
    },
}
