"""The paper's claims, each in parts (the checks in paper.yaml) that are compared with our numbers; five verdicts.

A verdict is about the runs of a profile, with their data and sizes, and not about the paper's runs. A model is ahead
only if the interval of the difference (`serrm.scoring.intervals`) lies wholly above zero.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any, Final, NamedTuple

import pandas as pd

from serrm.inference.settings import HEADLINE_STEPS
from serrm.reporting.paper import Check, load_paper, model_name, set_name, task_name
from serrm.reporting.results import Report, Score, all_runs, difference, over_seeds, runs_on, score
from serrm.reporting.results import curve as curve_of_run
from serrm.reporting.tables import Table
from serrm.scoring.intervals import Difference
from serrm.scoring.metrics import METRICS
from serrm.scoring.schema import Evaluation

HOLDS, PARTLY, LEVEL = "holds", "holds in part", "undecided"
FAILS, UNTESTED = "does not hold", "not tested"
VERDICTS: Final = {  # with the words for one claim and for several
    HOLDS: (HOLDS, "hold"),
    PARTLY: (PARTLY, "hold in part"),
    LEVEL: ("stays undecided", "stay undecided"),
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
    f"lies above -{MARGIN:g}. If all scores are below {MARGIN:g}, the highest score replaces {MARGIN:g}. 'Nearly none' "
    f"means less than {NEARLY_NONE:g}%. The paper gives no such bounds.",
    "A claim holds in part if some parts hold and others fail, are undecided or are not tested. It does not hold if no "
    "part holds and at least one fails.",
)
OTHER_SETTINGS: Final = "The settings of all models differ from the paper's."


class Part(NamedTuple):
    """A part of a claim in words, its verdict, and the numbers behind it."""

    says: str
    verdict: str
    ours: str


Finding = tuple[str, str]  # a verdict, and the difference that it rests on in words


def overall(parts: Sequence[Part]) -> str:
    """The verdict on a claim: its parts' where they agree; else parts that hold count first, then those that fail."""
    verdicts = {part.verdict for part in parts}
    if HOLDS in verdicts:
        return HOLDS if verdicts == {HOLDS} else PARTLY
    return next((each for each in (FAILS, LEVEL) if each in verdicts), UNTESTED)


def decided(intervals: Iterable[Difference | Score], holds_above: float, fails_below: float) -> str:
    """The verdict that all intervals lie above a bound; one that lies below the other bound refutes it."""
    ends = [(each.low > holds_above, each.high < fails_below) for each in intervals]
    return FAILS if any(fails for _, fails in ends) else HOLDS if all(holds for holds, _ in ends) else LEVEL


def margin(*scores: Score) -> float:
    """The difference below which models are comparable; where all scores are low, it is the highest score."""
    return min(MARGIN, max(each.value for each in scores))


# Rules: the finding on the scores of a check's models and the check's number.


def ahead(points: float, first: Score, *others: Score, has_same_runs: bool = False) -> Finding:
    """The first is ahead of all others, by more than so many points."""
    found = [difference(first, each, has_same_runs=has_same_runs) for each in others]
    return decided(found, points, points), f"{'least ' * (len(found) > 1)}difference {min(found)}"


def not_behind(_: float, first: Score, *others: Score) -> Finding:
    """The first is behind no other by as much as the margin."""
    found = [difference(first, each) for each in others]
    return decided(found, -margin(first, *others), 0.0), f"least difference {min(found)}"


def comparable(_: float, first: Score, second: Score) -> Finding:
    """The two differ by less than the margin."""
    found = difference(first, second)
    is_within = max(-found.low, found.high) < margin(first, second)
    verdict = HOLDS if is_within else FAILS if found.low > 0 or found.high < 0 else LEVEL
    return verdict, f"difference {found}"


def none(_: float, *scores: Score) -> Finding:
    """Every score is zero."""
    return (FAILS if any(each.value for each in scores) else HOLDS), ""


def nearly_none(_: float, *scores: Score) -> Finding:
    """Every score is zero, or its interval lies below NEARLY_NONE."""
    if all(each.value == 0 or each.high < NEARLY_NONE for each in scores):
        return HOLDS, ""
    return FAILS if any(each.low > NEARLY_NONE for each in scores) else LEVEL, ""


def others_nearly_none(_: float, first: Score, *others: Score) -> Finding:
    """The same of every score but the first."""
    return nearly_none(_, *others)


def above(chance: float, first: Score) -> Finding:
    """The score is above chance, in percent."""
    return decided([first], chance, chance), f"chance {chance:.2f}"


def lowest_ahead(num: float, *scores: Score) -> Finding:
    """The lowest of the first scores, so many, is ahead of the lowest of the others."""
    groups = scores[: int(num)], scores[int(num) :]
    return ahead(0.0, *(min(group, key=lambda each: each.value) for group in groups))


RULES: Final[dict[str, Callable[..., Finding]]] = {
    rule.__name__: rule
    for rule in (ahead, not_behind, comparable, none, nearly_none, others_nearly_none, above, lowest_ahead)
}


def compared(report: Report, check: Check) -> Iterator[Part]:
    """A part per task, or per data set: a rule on the scores of the models."""
    for task in check.tasks:
        for name, runs in data_sets(report, task, check):
            where = name + (f" {set_name(check.set)}" if check.set else "")
            scores = scores_of(runs, task, check.models, check.metric, check.set)
            lacking = [model_name(model) for model in check.models if model not in scores]
            verdict, ours = UNTESTED, not_run(runs, task, where, lacking)
            if not lacking:
                verdict, apart = RULES[check.rule](check.number, *scores.values())
                numbers = [f"{model_name(model)} {each}" for model, each in scores.items()]
                ours = f"{METRICS[check.metric].name}: {'; '.join([*numbers, apart] if apart else numbers)}."
            yield Part(f"{where}: {check.words}", verdict, ours)


def data_sets(report: Report, task: str, check: Check) -> Iterator[tuple[str, Report]]:
    """A task with the report, and the task's further data sets that a check reads, by name, with their runs alone."""
    yield task_name(task), report
    names = dict.fromkeys(run.task for run in all_runs(report.results) if run.kind == task)
    for name in [*names][1:] if check.all_data_sets else ():
        results = {key: runs for key, runs in report.results.items() if key[0] == name}
        if all((name, model) in results for model in check.models):
            yield task_name(name), replace(report, results=results)


def not_run(report: Report, task: str, where: str, lacking: Sequence[str]) -> str:
    """What a comparison lacks: the task, or scores of models on it."""
    if all(run.kind != task for run in all_runs(report.results)):
        return f"{task_name(task)} was not run."
    return f"{', '.join(lacking)} {'were' if len(lacking) > 1 else 'was'} not run, or not scored on {where}."


def scores_of(report: Report, task: str, models: Iterable[str], *where: Any) -> dict[str, Score]:
    """The scores of those of the models that have one, by metric, set and steps."""
    scores = {model: score(runs_on(report.results, task, model, *where[1:2]), *where) for model in models}
    return {model: each for model, each in scores.items() if each}


# Checks that are no rule on scores after 16 steps.


def cannot_take(report: Report, check: Check) -> Iterator[Part]:
    """The models cannot take a set of Sudoku."""
    found, where = {}, f"Sudoku {set_name(check.set or '')}"
    for model in check.models:
        runs = runs_on(report.results, "sudoku", model, check.set)
        if runs and check.set in runs[0].sets:
            found[model_name(model)] = check.set in runs[0].refused
    lacking = [model_name(model) for model in check.models if model_name(model) not in found]
    if lacking:
        yield Part(f"{where}: {check.words}", UNTESTED, not_run(report, "sudoku", where, lacking))
    else:
        words = [f"{name} {'cannot extrapolate' if each else 'was scored'}" for name, each in found.items()]
        verdict = HOLDS if all(found.values()) else FAILS
        yield Part(f"{where}: {check.words}", verdict, f"{'; '.join(words)}.")


def more_steps(report: Report, check: Check) -> Iterator[Part]:
    """SE-RRM after more steps than in training against 16 steps, by the same runs."""
    for name, runs in data_sets(report, "sudoku", check):
        scores = by_steps(runs, check.models)
        found = {steps: each[SE_RRM] for steps, each in scores.items() if each and steps >= HEADLINE_STEPS}
        verdict, ours = UNTESTED, "More steps than in training were not scored."
        if len(found) > 1:
            verdict, apart = ahead(0.0, found[max(found)], found[min(found)], has_same_runs=True)
            numbers = "; ".join(f"after {steps} steps {each}" for steps, each in found.items())
            ours = f"{METRICS['fsr'].name} {numbers}; {apart}."
        yield Part(f"{name} {set_name('9x9')}: {check.words}", verdict, ours)


def every_depth(report: Report, check: Check) -> Iterator[Part]:
    """The first model against the others at every number of steps of table 2."""
    for steps, scores in by_steps(report, check.models).items():
        verdict, ours = UNTESTED, "SE-RRM, TRM and HRM were not scored after so many steps."
        if len(scores) == len(check.models):
            verdict, apart = ahead(0.0, *scores.values())
            ours = f"{METRICS['fsr'].name}: {apart}."
        yield Part(f"after {steps} step{'s' * (steps > 1)}: {check.words}", verdict, ours)


def by_steps(report: Report, models: Sequence[str]) -> dict[int, dict[str, Score]]:
    """The scores on 9×9 Sudoku by the numbers of steps of table 2."""
    columns = load_paper().score_tables["2"].columns.values()
    return {each.steps: scores_of(report, "sudoku", models, "fsr", "9x9", each.steps) for each in columns}


def augmentations(report: Report, check: Check) -> Iterator[Part]:
    """The first model is not behind the others, where it had fewer augmentations."""
    rule = check.model_copy(update={"rule": not_behind.__name__})
    for part, task in zip(compared(report, rule), check.tasks, strict=True):
        if part.verdict != UNTESTED:
            keys = [(runs_on(report.results, task, model)[0].task, model) for model in check.models]
            first, *others = (report.settings[key]["arrays"]["num_augmentations"] for key in keys)
            if first >= min(others):
                ours = f"SE-RRM had {first:,} augmentations, TRM and HRM had {min(others):,}."
                part = part._replace(verdict=UNTESTED, ours=ours)
        yield part


def permutation(report: Report, check: Check) -> Iterator[Part]:
    """SE-RRM on puzzles with permuted symbols; rounding may decide an answer, which refutes nothing."""
    for (task, model), runs in report.results.items():
        found = [run.equivariance for run in runs if run.equivariance] if model == SE_RRM else []
        if found:
            same, num = sum(each.num_identical for each in found), sum(each.num_pairs for each in found)
            precision = "" if all(each.is_exact for each in found) else f", counted in {found[0].precision}"
            ours = f"{same:,} of {num:,} predictions are the same{precision}."
            verdict = HOLDS if same == num else LEVEL if same else FAILS
            yield Part(f"{task_name(task)}: {check.words}", verdict, ours)


def curve(runs: Sequence[Evaluation], metric: str) -> list[tuple[float, Score]]:
    """The learning curve of a model over its seeds: mean numbers of samples processed, with scores."""
    points = zip(*(curve_of_run(run, metric) for run in runs), strict=True)
    return [
        (fmean(samples for samples, _ in seeds), over_seeds([each[:3] for _, each in seeds], 0))
        for seeds in points
    ]


def data_efficient(report: Report, check: Check) -> Iterator[Part]:
    """SE-RRM's learning curve before and after as many samples as the best score of each other model took.

    Only for runs that start from random weights: the samples of a run that continues another are not all.
    """
    for (task, model), runs in report.results.items():
        metric, ours = runs[0].main_metric, report.results.get((task, SE_RRM), [])
        samples, best = max(curve(runs, metric), key=lambda each: each[1].value, default=(0.0, None))
        mine = curve(ours, metric)
        before = [each for each in mine if each[0] <= samples]
        is_from_random = not {(task, model), (task, SE_RRM)} & report.init.keys()
        if model in check.models and is_from_random and best and best.value and before:
            after = next((each for num, each in mine if num >= samples), mine[-1][1])
            is_ahead = ahead(0.0, before[-1][1], best)[0] == HOLDS
            verdict = HOLDS if is_ahead else FAILS if ahead(0.0, best, after)[0] == HOLDS else LEVEL
            words = f"{model_name(model)}'s best snapshot {best} after {samples:,.0f} samples; "
            words += f"{model_name(SE_RRM)} {before[-1][1]} after {before[-1][0]:,.0f} samples"
            says = f"{task_name(task)}: ahead of {model_name(model)} after no more samples"
            yield Part(says, verdict, f"{METRICS[metric].name}: {words}.")


def parameters(report: Report, check: Check) -> Iterator[Part]:
    """The parameters of the paper's models of Sudoku; less than half is a fraction."""
    costs = {model: cost.parameters for model in check.models if (cost := report.cost("sudoku", model))}
    first, *others = check.models
    for model in others if len(costs) == len(check.models) else ():
        share = costs[first] / costs[model]
        numbers = "; ".join(f"{model_name(each)} {costs[each]:,}" for each in (first, model))
        says = f"profile paper, Sudoku: less than half of {model_name(model)}'s"
        yield Part(says, HOLDS if share < 0.5 else FAILS, f"Parameters: {numbers}; a share of {share:.2f}.")


CHECKS: Final[Mapping[str, Callable[[Report, Check], Iterator[Part]]]] = dict.fromkeys(RULES, compared) | {
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
    """The parts of every claim with their verdicts; of an untested claim one part, which says what it lacks.

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
        lacking = " ".join(dict.fromkeys(part.ours for part in parts)) or claim.lacking
        judged[key] = [Part("", UNTESTED, lacking)] if overall(parts) == UNTESTED else parts
    return judged


def claims_table(report: Report) -> Table:
    """A line for every part of every claim; claim and verdict stand in the first line."""
    lines, judged = [], judge(report)
    for key, parts in judged.items():
        claim = load_paper().claims[key]
        of_claim = claim.says, claim.paper, claim.section, overall(parts)
        for place, part in enumerate(parts):
            lines.append((*(of_claim if place == 0 else [""] * len(of_claim)), *part))
    caption = (
        f"{len(judged)} claims, checked on this profile's data and model sizes ({tally(judged)}). A model is ahead "
        "only if the 95% interval of the difference lies wholly above zero, or above the stated number of points."
    )
    notes = [*[OTHER_SETTINGS] * (report.profile != "paper"), *NOTES]
    return Table(
        "claims", "The paper's claims, checked", caption, pd.DataFrame(lines, columns=COLUMNS), notes
    )


def tally(judged: Mapping[str, Sequence[Part]]) -> str:
    """Number of claims by verdict, such as "5 hold, 1 holds in part, …"."""
    found = Counter(overall(parts) for parts in judged.values())
    return ", ".join(f"{found[each]} {words[found[each] != 1]}" for each, words in VERDICTS.items())
