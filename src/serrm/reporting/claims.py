"""The paper's claims, each in parts (the checks in paper.yaml) that are compared with our numbers; five verdicts.

A verdict is about the runs of a profile, with their data and sizes, and not about the paper's runs. A model is ahead
only if the interval of the difference (`serrm.scoring.intervals`) lies wholly above zero.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Final, NamedTuple

import pandas as pd

from serrm.core.project import PAPER
from serrm.inference.settings import HEADLINE_STEPS
from serrm.reporting.formats import Table
from serrm.reporting.paper import Check, load_paper, model_name, set_name, task_name
from serrm.reporting.results import (
    Report,
    Score,
    all_runs,
    difference,
    in_percent,
    over_seeds,
    runs_on,
    score,
)
from serrm.scoring.intervals import Difference
from serrm.scoring.metrics import METRICS
from serrm.scoring.schema import Evaluation

HOLDS, PARTLY, UNDECIDED = "holds", "holds in part", "undecided"
FAILS, UNTESTED = "does not hold", "not tested"
VERDICTS: Final = {  # with the words for one claim and for several
    HOLDS: (HOLDS, "hold"),
    PARTLY: (PARTLY, "hold in part"),
    UNDECIDED: ("stays undecided", "stay undecided"),
    FAILS: (FAILS, "do not hold"),
    UNTESTED: ("is not tested", "are not tested"),
}
SE_RRM: Final = "se_rrm"
MARGIN: Final = 10.0  # points within which two models are comparable; our choice, as the paper names none
NEARLY_NONE: Final = 1.0  # percent; our choice, too
COLUMNS: Final = [
    "The paper says",
    "The paper's numbers",
    "Section",
    "Verdict",
    "Part",
    "Verdict on the part",
    "Ours",
]
NOTES: Final = (
    "The interval of a difference is Newcombe's over puzzles. With several seeds (±) it adds Welch's t interval over "
    "seeds in quadrature, and assumes that a model with one seed varies as much as the other model. If both models "
    "have one seed, the interval does not cover other seeds.",
    f"'Comparable' means that the interval of the difference lies within ±{MARGIN:g} points, and 'not behind' that it "
    f"lies above -{MARGIN:g} and not wholly below zero. If all scores are below {MARGIN:g}, the highest score replaces "
    f"{MARGIN:g}. 'Nearly none' means that no puzzle is solved, or that the interval lies below {NEARLY_NONE:g}%. The "
    "paper gives no such bounds.",
    "A claim holds in part if some parts hold and others fail, are undecided or are not tested. It does not hold if no "
    "part holds and at least one fails.",
)
OTHER_SETTINGS: Final = "The settings of all models differ from the paper's."


class Part(NamedTuple):
    """A part of a claim as a sentence, the verdict on it, and our numbers behind the verdict as text."""

    statement: str
    verdict: str
    evidence: str


Judgement = tuple[str, str]  # a verdict, and the difference that decided it as text (empty without one)


def overall(parts: Sequence[Part]) -> str:
    """The verdict on a claim, from those on its parts (the last of NOTES has the rule)."""
    verdicts = {part.verdict for part in parts}
    if HOLDS in verdicts:
        return HOLDS if verdicts == {HOLDS} else PARTLY
    if FAILS in verdicts:
        return FAILS
    return UNDECIDED if UNDECIDED in verdicts else UNTESTED


def verdict_by_bounds(intervals: Iterable[Difference | Score], holds_above: float, fails_below: float) -> str:
    """FAILS if an interval lies below `fails_below`; else HOLDS if all lie above `holds_above`, or else UNDECIDED."""
    intervals = list(intervals)
    if any(interval.high < fails_below for interval in intervals):
        return FAILS
    return HOLDS if all(interval.low > holds_above for interval in intervals) else UNDECIDED


def margin(*scores: Score) -> float:
    """The difference below which models are comparable; where all scores are low, it is the highest score."""
    return min(MARGIN, max(score.value for score in scores))


# Rules: each judges the scores of a check's models, in the check's order, with the check's number.


def ahead(points: float, first: Score, *others: Score, has_same_runs: bool = False) -> Judgement:
    """The first is ahead of all others, by more than `points`."""
    differences = [difference(first, other, has_same_runs=has_same_runs) for other in others]
    least = "least difference" if len(differences) > 1 else "difference"
    return verdict_by_bounds(differences, points, points), f"{least} {min(differences)}"


def not_behind(_: float, first: Score, *others: Score) -> Judgement:
    """The first is behind no other by as much as the margin, and significantly behind none by however little."""
    differences = [difference(first, other) for other in others]
    verdict = verdict_by_bounds(differences, -margin(first, *others), 0.0)
    return verdict, f"least difference {min(differences)}"


def comparable(_: float, first: Score, second: Score) -> Judgement:
    """The two differ by less than the margin."""
    interval = difference(first, second)
    if max(-interval.low, interval.high) < margin(first, second):
        verdict = HOLDS
    else:
        verdict = FAILS if interval.low > 0 or interval.high < 0 else UNDECIDED
    return verdict, f"difference {interval}"


def all_zero(_: float, *scores: Score) -> Judgement:
    """Every score is zero."""
    return (FAILS if any(score.value for score in scores) else HOLDS), ""


def nearly_none(_: float, *scores: Score) -> Judgement:
    """Every score is zero, or its interval lies below NEARLY_NONE."""
    if all(score.value == 0 or score.high < NEARLY_NONE for score in scores):
        return HOLDS, ""
    return FAILS if any(score.low > NEARLY_NONE for score in scores) else UNDECIDED, ""


def others_nearly_none(number: float, _: Score, *others: Score) -> Judgement:
    """Every score but the first is nearly none."""
    return nearly_none(number, *others)


def above(chance: float, first: Score) -> Judgement:
    """The score is above chance, in percent."""
    return verdict_by_bounds([first], chance, chance), f"chance {chance:.2f}"


def lowest_ahead(num: float, *scores: Score) -> Judgement:
    """The lowest of the first `num` scores is ahead of the lowest of the others."""
    groups = scores[: int(num)], scores[int(num) :]
    return ahead(0.0, *(min(group, key=lambda score: score.value) for group in groups))


Rule = Callable[..., Judgement]
RULES: Final[dict[str, Rule]] = {
    rule.__name__: rule
    for rule in (
        ahead,
        not_behind,
        comparable,
        all_zero,
        nearly_none,
        others_nearly_none,
        above,
        lowest_ahead,
    )
}


# Checks: each compares scores of a report and yields the parts of the claim.


def by_rule(report: Report, check: Check) -> Iterator[Part]:
    """A part for every task and data set of the check, judged by the check's rule on the models' scores."""
    for task in check.tasks:
        for name, of_data_set in by_data_set(report, task, check):
            yield judge_by_rule(RULES[check.rule], of_data_set, task, name, check)


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


def by_data_set(report: Report, task: str, check: Check) -> Iterator[tuple[str, Report]]:
    """The runs on each data set that a check reads, as a report, with the name of the data set.

    One data set stands for the task and is called like it: the one on which most of the check's models have the check's
    test set, the first of these in the profile. Further data sets, if the check reads them, need all of its models.
    """
    names = dict.fromkeys(run.task for run in all_runs(report.results) if run.kind == task)
    results = {name: {key: runs for key, runs in report.results.items() if key[0] == name} for name in names}

    def num_models(name: str) -> int:
        runs = [results[name][name, model][0] for model in check.models if (name, model) in results[name]]
        return sum(check.set is None or check.set in run.sets for run in runs)

    main = max(names, key=num_models, default=None)
    yield task_name(task), report if main is None else replace(report, results=results[main])
    for name in names if check.all_data_sets else ():
        if name != main and all((name, model) in results[name] for model in check.models):
            yield task_name(name), replace(report, results=results[name])


def why_untested(report: Report, task: str, name: str, missing: Sequence[str]) -> str:
    """What a comparison lacks: the whole task, or scores of the models that are missing."""
    if all(run.kind != task for run in all_runs(report.results)):
        return f"{task_name(task)} was not run."
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
    """The models cannot take a set of Sudoku: their evaluation refused its size."""
    name = f"Sudoku {set_name(check.set or '')}"
    statement, refused = f"{name}: {check.words}", {}
    for model in check.models:
        runs = runs_on(report.results, "sudoku", model, check.set)
        if runs and check.set in runs[0].sets:
            refused[model_name(model)] = check.set in runs[0].refused
    missing = [model_name(model) for model in check.models if model_name(model) not in refused]
    if missing:
        yield Part(statement, UNTESTED, why_untested(report, "sudoku", name, missing))
    else:
        sentences = [
            f"{model} {'cannot extrapolate' if no else 'was scored'}" for model, no in refused.items()
        ]
        yield Part(statement, HOLDS if all(refused.values()) else FAILS, f"{'; '.join(sentences)}.")


def more_steps(report: Report, check: Check) -> Iterator[Part]:
    """A model (the check's one) after more steps than in training against 16 steps, by the same runs."""
    (model,) = check.models
    for name, of_data_set in by_data_set(report, "sudoku", check):
        scores = {
            steps: by_model[model]
            for steps, by_model in by_steps(of_data_set, check).items()
            if by_model and steps >= HEADLINE_STEPS
        }
        verdict, evidence = UNTESTED, "More steps than in training were not scored."
        if len(scores) > 1:
            verdict, deciding = ahead(0.0, scores[max(scores)], scores[min(scores)], has_same_runs=True)
            numbers = "; ".join(f"after {steps} steps {score}" for steps, score in scores.items())
            evidence = f"{METRICS['fsr'].name} {numbers}; {deciding}."
        yield Part(f"{name} {set_name(check.set or '')}: {check.words}", verdict, evidence)


def every_depth(report: Report, check: Check) -> Iterator[Part]:
    """The first model against the others at every number of steps of table 2."""
    for _, of_data_set in by_data_set(report, "sudoku", check):
        for steps, scores in by_steps(of_data_set, check).items():
            verdict, evidence = UNTESTED, "SE-RRM, TRM and HRM were not scored after so many steps."
            if len(scores) == len(check.models):
                verdict, deciding = ahead(0.0, *scores.values())
                evidence = f"{METRICS['fsr'].name}: {deciding}."
            label = "after 1 step" if steps == 1 else f"after {steps} steps"
            yield Part(f"{label}: {check.words}", verdict, evidence)


def by_steps(report: Report, check: Check) -> dict[int, dict[str, Score]]:
    """The scores of a check's models on its set of Sudoku, by the numbers of steps of table 2, then by model."""
    columns = load_paper().score_tables["2"].columns.values()
    return {
        column.steps: scores_of(report, "sudoku", check.models, "fsr", check.set, column.steps)
        for column in columns
    }


def augmentations(report: Report, check: Check) -> Iterator[Part]:
    """The first model is not behind the others, where it had fewer augmentations."""
    for task in check.tasks:
        for name, of_data_set in by_data_set(report, task, check):
            part = judge_by_rule(not_behind, of_data_set, task, name, check)
            if part.verdict != UNTESTED:
                nums = num_augmentations(of_data_set, task, check.models)
                first, *others = nums.values()
                if first >= min(others):
                    part = part._replace(verdict=UNTESTED, evidence=augmentations_text(nums))
            yield part


def num_augmentations(report: Report, task: str, models: Iterable[str]) -> dict[str, int]:
    """The numbers of augmentations of models that ran on a task."""
    keys = {model: (runs_on(report.results, task, model)[0].task, model) for model in models}
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
    """SE-RRM on puzzles with permuted symbols; rounding may decide an answer, which refutes nothing."""
    for (data_set, variant), runs in report.results.items():
        counts = [run.equivariance for run in runs if run.equivariance] if variant == SE_RRM else []
        if counts:
            same, num = sum(count.num_identical for count in counts), sum(count.num_pairs for count in counts)
            precision = (
                "" if all(count.is_in_float32 for count in counts) else f", counted in {counts[0].precision}"
            )
            evidence = f"{same:,} of {num:,} predictions are the same{precision}."
            verdict = HOLDS if same == num else UNDECIDED if same else FAILS
            yield Part(f"{task_name(data_set)}: {check.words}", verdict, evidence)


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
            over_seeds([in_percent(runs[0].kind, metric, point.scores) for point in seeds], 0),
        )
        for seeds in points
    ]


def data_efficient(report: Report, check: Check) -> Iterator[Part]:
    """SE-RRM against the best score of each other model on its learning curve, after as many samples.

    The claim holds if SE-RRM's last score up to there is ahead, and fails if its next score from there on is behind.
    Only for runs that start from random weights: a run that continues another has seen more samples than its own.
    """
    for (data_set, variant), runs in report.results.items():
        se_rrm_runs = report.results.get((data_set, SE_RRM), [])
        if variant not in check.models or any(run.name in report.init for run in [*runs, *se_rrm_runs]):
            continue
        metric = runs[0].main_metric
        samples, best = max(mean_curve(runs, metric), key=lambda point: point[1].value, default=(0.0, None))
        se_rrm = mean_curve(se_rrm_runs, metric)
        before = [point for point in se_rrm if point[0] <= samples]
        if best and best.value and before:
            after = next((score for num, score in se_rrm if num >= samples), se_rrm[-1][1])
            num_before, score_before = before[-1]
            if ahead(0.0, score_before, best)[0] == HOLDS:
                verdict = HOLDS
            else:
                verdict = FAILS if ahead(0.0, best, after)[0] == HOLDS else UNDECIDED
            statement = f"{task_name(data_set)}: ahead of {model_name(variant)} after no more samples"
            numbers = f"{model_name(variant)}'s best snapshot {best} after {samples:,.0f} samples; "
            numbers += f"{model_name(SE_RRM)} {score_before} after {num_before:,.0f} samples"
            yield Part(statement, verdict, f"{METRICS[metric].name}: {numbers}.")


def parameters(report: Report, check: Check) -> Iterator[Part]:
    """The parameters of the paper's models of Sudoku. The paper says "only a fraction", which we take as under half."""
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


def judge(report: Report) -> dict[str, list[Part]]:
    """The parts of every claim with verdicts; an untested claim has one part, with what it lacks if that is known.

    Runs on tasks that the paper does not have test no claim.
    """
    columns = [column for table in load_paper().score_tables.values() for column in table.columns.values()]
    tasks = {column.task for column in columns}
    results = {key: runs for key, runs in report.results.items() if runs[0].kind in tasks}
    is_other = bool(report.results) and not results
    report, judged = replace(report, results=results), {}
    for key, claim in load_paper().claims.items():
        checks = () if is_other else claim.checks
        parts = [part for check in checks for part in CHECKS[check.rule](report, check)]
        why = " ".join(dict.fromkeys(part.evidence for part in parts)) or claim.why_untested
        judged[key] = [Part("", UNTESTED, why)] if overall(parts) == UNTESTED else parts
    return judged


def claims_table(report: Report) -> Table:
    """A line for every part of every claim; claim and verdict stand in the first line."""
    lines, judged = [], judge(report)
    for key, parts in judged.items():
        claim = load_paper().claims[key]
        of_claim = claim.says, claim.paper, claim.section, overall(parts)
        for index, part in enumerate(parts):
            lines.append((*(of_claim if index == 0 else [""] * len(of_claim)), *part))
    caption = (
        f"{len(judged)} claims, checked on this profile's data and model sizes ({tally(judged)}). A model is ahead "
        "only if the 95% interval of the difference lies wholly above zero, or above the stated number of points."
    )
    notes = NOTES if report.profile == PAPER else [OTHER_SETTINGS, *NOTES]
    return Table(
        "claims", "The paper's claims, checked", caption, pd.DataFrame(lines, columns=COLUMNS), notes
    )


def tally(judged: Mapping[str, Sequence[Part]]) -> str:
    """Number of claims by verdict, such as "5 hold, 1 holds in part, …"."""
    counts = Counter(overall(parts) for parts in judged.values())
    return ", ".join(
        f"{counts[verdict]} {one if counts[verdict] == 1 else several}"
        for verdict, (one, several) in VERDICTS.items()
    )
