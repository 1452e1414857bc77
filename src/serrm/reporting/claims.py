"""The paper's claims (paper.yaml), each in parts that are compared with our numbers, with one of five verdicts.

A verdict is about the runs of a profile, with their data and sizes, and not about the paper's runs. A model is ahead
only if the interval of the difference (`serrm.reporting.comparison`) lies wholly above zero.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Any, Final, NamedTuple

import pandas as pd

from serrm.inference.settings import HEADLINE_STEPS
from serrm.reporting.comparison import Difference, difference
from serrm.reporting.paper import METRIC_NAMES, load_paper, metrics_of, model_name, set_name, task_name
from serrm.reporting.results import Evaluation, Report, Score, all_runs, over_seeds, runs_on, score
from serrm.reporting.tables import Table

HOLDS, PARTLY, LEVEL = "holds", "holds in part", "undecided"
FAILS, UNTESTED = "does not hold", "not tested"
VERDICTS: Final = (HOLDS, PARTLY, LEVEL, FAILS, UNTESTED)
SE_RRM, TRM, HRM = "se_rrm", "trm", "hrm"
ARC: Final = ("arc_agi_1", "arc_agi_2")
ALL: Final = (SE_RRM, TRM, HRM)
TRMS: Final = (TRM, "trm_random_halting", "trm_rope2d_published")
FAILING_TRMS: Final = ("trm_rope2d_random_halting_published", "trm_matched_published")
TABLE_A6: Final = (SE_RRM, "se_rrm_rope", "se_rrm_trm_hyperparameters", *TRMS, *FAILING_TRMS)
MARGIN: Final = 10.0  # points within which two models are comparable; our choice, as the paper names none
NEARLY_NONE: Final = 1.0  # percent; our choice, too
COLUMNS: Final = [
    "The paper says",
    "The paper's numbers",
    "Section",
    "Verdict",
    "Part",
    "Of the part",
    "Ours",
]
NOTES: Final = (
    "The interval of a difference is Newcombe's over puzzles. With several seeds (±) it includes Welch's t interval "
    "over seeds, added in squares; a model with one seed is taken to vary as much as the other. With one seed of both "
    "it does not cover other seeds.",
    f"Comparable means that the interval of the difference lies within ±{MARGIN:g} points, not behind that it lies "
    f"above -{MARGIN:g}; where all scores are lower, the highest takes the place of {MARGIN:g}. Nearly none: less than "
    f"{NEARLY_NONE:g}%. The paper names no such bounds.",
    "A claim holds in part if some of its parts hold; if none does, it does not hold if one part does not hold.",
)
OTHER_SETTINGS: Final = "All models have other settings than in the paper."


class Part(NamedTuple):
    """A part of a claim in words, its verdict, and the numbers behind it."""

    says: str
    verdict: str
    ours: str


Finding = tuple[str, str]  # a verdict, and the difference that it rests on in words
Rule = Callable[..., Finding]


def overall(parts: Sequence[Part]) -> str:
    """The verdict on a claim: its parts' where they agree; else parts that hold count first, then those that fail."""
    verdicts = {part.verdict for part in parts}
    if HOLDS in verdicts:
        return HOLDS if verdicts == {HOLDS} else PARTLY
    return next((each for each in (FAILS, LEVEL) if each in verdicts), UNTESTED)


def decided(differences: Iterable[Difference], holds_above: float = 0.0, fails_below: float = 0.0) -> str:
    """The verdict that all differences lie above a bound; one that lies below the other bound refutes it."""
    ends = [(each.low > holds_above, each.high < fails_below) for each in differences]
    return FAILS if any(fails for _, fails in ends) else HOLDS if all(holds for holds, _ in ends) else LEVEL


def ahead(first: Score, *others: Score, by: float = 0.0, is_paired: bool = False) -> Finding:
    """The first is ahead of all others, by more than so many points."""
    found = [difference(first, each, is_paired=is_paired) for each in others]
    return decided(found, by, by), f"least difference {min(found)}" if len(
        found
    ) > 1 else f"difference {found[0]}"


def margin(*scores: Score) -> float:
    """The difference below which models are comparable; where all scores are low, it is the highest score."""
    return min(MARGIN, max(each.value for each in scores))


def not_behind(first: Score, *others: Score) -> Finding:
    """The first is behind no other by as much as the margin."""
    found = [difference(first, each) for each in others]
    return decided(found, -margin(first, *others)), f"least difference {min(found)}"


def comparable(first: Score, second: Score) -> Finding:
    """The two differ by less than the margin."""
    found = difference(first, second)
    is_within = max(-found.low, found.high) < margin(first, second)
    verdict = HOLDS if is_within else FAILS if found.low > 0 or found.high < 0 else LEVEL
    return verdict, f"difference {found}"


def all_zero(*scores: Score) -> Finding:
    """Every score is zero."""
    return (FAILS if any(each.value for each in scores) else HOLDS), ""


def nearly_zero(*scores: Score) -> Finding:
    """Every score is zero, or its interval lies below NEARLY_NONE."""
    if all(each.value == 0 or each.high < NEARLY_NONE for each in scores):
        return HOLDS, ""
    return FAILS if any(each.low > NEARLY_NONE for each in scores) else LEVEL, ""


def above(chance: float, first: Score) -> Finding:
    """The score is above chance."""
    verdict = FAILS if first.high < chance else HOLDS if first.low > chance else LEVEL
    return verdict, f"chance {chance:.2f}"


def worst_ahead(num: int, *scores: Score) -> Finding:
    """The lowest of the first scores is ahead of the lowest of the others."""
    return ahead(*(min(group, key=lambda each: each.value) for group in (scores[:num], scores[num:])))


@dataclass(frozen=True)
class Check:
    """Rules, each with its words, on the scores of some models on tasks; a part for every rule and task."""

    rules: Mapping[str, Rule]
    models: Sequence[str] = ALL
    tasks: Sequence[str] = ("sudoku",)
    metric: str = "fsr"
    of_set: str | None = None

    def __call__(self, report: Report) -> Iterator[Part]:
        for task in self.tasks:
            where = task_name(task) + (f" {set_name(self.of_set)}" if self.of_set else "")
            scores = scores_of(report, task, self.models, self.metric, self.of_set)
            lacking = [model_name(model) for model in self.models if model not in scores]
            for words, rule in self.rules.items():
                if lacking:
                    part = UNTESTED, not_run(report, task, where, lacking)
                else:
                    verdict, apart = rule(*scores.values())
                    numbers = [f"{model_name(model)} {each}" for model, each in scores.items()]
                    part = (
                        verdict,
                        f"{METRIC_NAMES[self.metric]}: {'; '.join([*numbers, apart] if apart else numbers)}.",
                    )
                yield Part(f"{where}: {words}", *part)


def not_run(report: Report, task: str, where: str, lacking: Sequence[str]) -> str:
    """What a comparison lacks: the task, or scores of models on it."""
    if all(run.kind != task for run in all_runs(report.results)):
        return f"Not run: {task_name(task)}."
    return f"Not run or not scored on {where}: {', '.join(lacking)}."


def scores_of(report: Report, task: str, models: Iterable[str], *where: Any) -> dict[str, Score]:
    """The scores of those of the models that have one, by metric, set and steps."""
    scores = {model: score(runs_on(report.results, task, model, *where[1:2]), *where) for model in models}
    return {model: each for model, each in scores.items() if each}


def cannot_take(of_set: str, report: Report) -> Iterator[Part]:
    """HRM and TRM cannot take a set of Sudoku."""
    found = {
        model_name(model): of_set in runs[0].refused
        for model in (TRM, HRM)
        if (runs := runs_on(report.results, "sudoku", model, of_set)) and of_set in runs[0].sets
    }
    words = "; ".join(
        f"{name} {'cannot extrapolate' if refused else 'was scored'}" for name, refused in found.items()
    )
    verdict = UNTESTED if len(found) < 2 else HOLDS if all(found.values()) else FAILS
    lacking = [model_name(model) for model in (TRM, HRM) if model_name(model) not in found]
    ours = f"{words}." if not lacking else not_run(report, "sudoku", f"Sudoku {set_name(of_set)}", lacking)
    yield Part(f"Sudoku {set_name(of_set)}: HRM and TRM cannot take it", verdict, ours)


def depths(report: Report, models: Sequence[str]) -> dict[int, list[Score]]:
    """The scores on 9×9 Sudoku by the numbers of steps of table 2 at which all of some models were scored."""
    columns = load_paper().score_tables["2"].columns.values()
    scores = {each.steps: scores_of(report, "sudoku", models, "fsr", "9x9", each.steps) for each in columns}
    return {steps: [*found.values()] for steps, found in scores.items() if len(found) == len(models)}


def more_steps(report: Report) -> Iterator[Part]:
    """SE-RRM after more steps than in training against 16 steps, by the same runs."""
    scores = {steps: each for steps, (each,) in depths(report, [SE_RRM]).items() if steps >= HEADLINE_STEPS}
    says, part = (
        "Sudoku 9×9: ahead after the most steps",
        (UNTESTED, "More steps than in training were not scored."),
    )
    if len(scores) > 1:
        verdict, apart = ahead(scores[max(scores)], scores[min(scores)], is_paired=True)
        numbers = "; ".join(f"after {steps} steps {each}" for steps, each in scores.items())
        part = verdict, f"{METRIC_NAMES['fsr']} {numbers}; {apart}."
    yield Part(says, *part)


def every_depth(report: Report) -> Iterator[Part]:
    """SE-RRM against both others at every number of steps of table 2."""
    found = depths(report, ALL)
    for column in load_paper().score_tables["2"].columns.values():
        says = f"after {column.steps} step{'s' * (column.steps > 1)}: ahead of TRM and HRM"
        if column.steps in found:
            verdict, apart = ahead(*found[column.steps])
            yield Part(says, verdict, f"{METRIC_NAMES['fsr']}: {apart}.")
        else:
            yield Part(says, UNTESTED, "Not scored after so many steps: SE-RRM, TRM, HRM.")


def augmentations(report: Report) -> Iterator[Part]:
    """SE-RRM against both others on ARC-AGI, where it had fewer augmentations."""
    for part, task in zip(Check({"not behind": not_behind}, ALL, ARC, "pass_at_2")(report), ARC, strict=True):
        if part.verdict != UNTESTED:
            first, *others = (num_augmentations(report, task, model) for model in ALL)
            if first >= min(others):
                part = part._replace(
                    verdict=UNTESTED, ours=f"SE-RRM had {first:,} augmentations, TRM and HRM {min(others):,}."
                )
        yield part


def num_augmentations(report: Report, task: str, model: str) -> int:
    """The number of augmentations of a model's training on a task."""
    settings = report.settings[runs_on(report.results, task, model)[0].task, model]
    return int(settings["arrays"]["num_augmentations"])


def permutation(report: Report) -> Iterator[Part]:
    """SE-RRM on puzzles with permuted symbols; rounding may decide an answer, which refutes nothing."""
    for (task, model), runs in report.results.items():
        parts = [run.equivariance for run in runs if run.equivariance] if model == SE_RRM else []
        if parts:
            same, num = (
                sum(getattr(part, f"num_{name}") for part in parts) for name in ("identical", "pairs")
            )
            precision = "" if all(part.is_exact for part in parts) else f", counted in {parts[0].precision}"
            text = f"{same:,} of {num:,} predictions are the same{precision}."
            verdict = HOLDS if same == num else LEVEL if same else FAILS
            yield Part(f"{task_name(task)}: identical answers", verdict, text)


def curve(runs: Sequence[Evaluation], metric: str) -> list[tuple[float, Score]]:
    """The learning curve of a model over its seeds: mean numbers of samples processed, with scores."""
    points = zip(*(run.curve(metric) for run in runs), strict=True)
    return [
        (fmean(samples for samples, _ in seeds), over_seeds([each[:3] for _, each in seeds], 0))
        for seeds in points
    ]


def data_efficient(report: Report) -> Iterator[Part]:
    """SE-RRM's learning curve before and after as many samples as the best score of each other model took.

    Only for runs that start from random weights: the samples of a run that continues another are not all.
    """
    for (task, model), runs in report.results.items():
        metric, ours = metrics_of(runs[0].kind)[0], report.results.get((task, SE_RRM), [])
        samples, best = max(curve(runs, metric), key=lambda each: each[1].value, default=(0.0, None))
        mine = curve(ours, metric)
        before = [each for each in mine if each[0] <= samples]
        is_from_random = not {(task, model), (task, SE_RRM)} & report.init.keys()
        if model in (TRM, HRM) and is_from_random and best and best.value and before:
            after = next((each for num, each in mine if num >= samples), mine[-1][1])
            is_ahead = ahead(before[-1][1], best)[0] == HOLDS
            verdict = HOLDS if is_ahead else FAILS if ahead(best, after)[0] == HOLDS else LEVEL
            words = f"{model_name(model)}'s best snapshot {best} after {samples:,.0f} samples; "
            words += f"{model_name(SE_RRM)} {before[-1][1]} after {before[-1][0]:,.0f} samples"
            says = f"{task_name(task)}: ahead of {model_name(model)} after no more samples"
            yield Part(says, verdict, f"{METRIC_NAMES[metric]}: {words}.")


def parameters(report: Report) -> Iterator[Part]:
    """The parameters of the paper's models of Sudoku; less than half is a fraction."""
    costs = {model: cost.parameters for model in ALL if (cost := report.cost("sudoku", model))}
    for model in (TRM, HRM) if len(costs) == len(ALL) else ():
        share = costs[SE_RRM] / costs[model]
        numbers = "; ".join(f"{model_name(each)} {costs[each]:,}" for each in (SE_RRM, model))
        says = f"profile paper, Sudoku: less than half of {model_name(model)}'s"
        yield Part(says, HOLDS if share < 0.5 else FAILS, f"Parameters: {numbers}; a share of {share:.2f}.")


AHEAD: Final[dict[str, Rule]] = {"ahead of TRM and HRM": ahead}


def by_margin(metric: str, points: float) -> Check:
    """SE-RRM on 9×9, ahead and by more than some points."""
    name = metric.upper()
    rules: dict[str, Rule] = {
        f"ahead in {name}": ahead,
        f"by more than {points:g} points in {name}": partial(ahead, by=points),
    }
    return Check(rules, metric=metric)


Parts = Callable[[Report], Iterable[Part]]
CHECKS: Final[dict[str, Sequence[Parts]]] = {
    "margins": (by_margin("fsr", 11.0), by_margin("gpa", 7.0)),
    "smaller_grids": (
        Check(
            {**AHEAD, "TRM and HRM solve nearly none": lambda _, *others: nearly_zero(*others)}, of_set="4x4"
        ),
    ),
    "larger_grids": tuple(
        check
        for side in (16, 25)
        for check in (
            Check(
                {"GPA above chance": partial(above, 100 / side)},
                [SE_RRM],
                of_set=f"{side}x{side}",
                metric="gpa",
            ),
            partial(cannot_take, f"{side}x{side}"),
        )
    ),
    "larger_unsolved": tuple(
        Check({"solves none": all_zero}, [SE_RRM], of_set=name) for name in ("16x16", "25x25")
    ),
    "more_steps": (more_steps,),
    "every_depth": (every_depth,),
    "arc_hrm": (Check({"ahead of HRM": ahead}, (SE_RRM, HRM), ARC, "pass_at_2"),),
    "arc_trm": (Check({"comparable to TRM": comparable}, (SE_RRM, TRM), ARC, "pass_at_2"),),
    "augmentations": (augmentations,),
    "maze": tuple(
        Check({f"ahead of {name}": ahead}, (SE_RRM, name.lower()), ["maze"]) for name in ("TRM", "HRM")
    ),
    "parameters": (parameters,),
    "permutation": (permutation,),
    "data_efficient": (data_efficient,),
    "tied_sudoku": (Check({"ahead with symbol equivariance": ahead}, (SE_RRM, "se_rrm_untied")),),
    "tied_maze": (Check({"ahead without symbol equivariance": ahead}, (SE_RRM, "se_rrm_tied"), ["maze"]),),
    "trm_arc": tuple(
        Check({f"TRM ahead of itself with {name}": ahead}, (TRM, model), ARC[:1], "pass_at_2")
        for model, name in zip(TRMS[1:], ("random halting", "RoPE2D"), strict=True)
    ),
    "trm_arc_matched": (
        Check({"TRM ahead of the matched one": ahead}, (TRM, FAILING_TRMS[1]), ARC[:1], "pass_at_2"),
        Check(
            {"random halting alone ahead of it, too": ahead}, (TRMS[1], FAILING_TRMS[1]), ARC[:1], "pass_at_2"
        ),
    ),
    "trm_fails": tuple(
        Check({f"{model} solves nearly none": nearly_zero}, [model]) for model in FAILING_TRMS
    ),
    "rope": (Check({"RoPE ahead of RoPE2D": ahead}, ("se_rrm_rope", SE_RRM)),),
    "configurations": (
        Check(
            {"the lowest SE-RRM ahead of the lowest TRM": partial(worst_ahead, 3)},
            TABLE_A6,
            ["sudoku", "maze"],
        ),
    ),
}
LACKING: Final = {
    "language_model": "Not run: GPT-OSS-20B.",
    "language_model_4x4": "Not run: GPT-OSS-20B.",
    "permutation": "Not run: SE-RRM on permuted puzzles.",
    "data_efficient": "Not run: learning curves of SE-RRM and of another model that solves a puzzle.",
}


def judge(report: Report) -> dict[str, list[Part]]:
    """The parts of every claim with their verdicts; of an untested claim one part, which says what it lacks."""
    judged = {}
    for key in load_paper().claims:
        parts = [part for check in CHECKS.get(key, ()) for part in check(report)]
        lacking = " ".join(dict.fromkeys(part.ours for part in parts)) or LACKING.get(key, "")
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
        f"{len(judged)} claims on this profile's data and sizes: {tally(judged)}. A model is ahead only if the 95% "
        "interval of the difference lies wholly above zero, or above the points named."
    )
    notes = [*[OTHER_SETTINGS] * (report.profile != "paper"), *NOTES]
    return Table(
        "claims", "The paper's claims, checked", caption, pd.DataFrame(lines, columns=COLUMNS), notes
    )


def tally(judged: Mapping[str, Sequence[Part]]) -> str:
    """Number of claims by verdict, such as "holds: 5; undecided: 3"."""
    verdicts = [overall(parts) for parts in judged.values()]
    return "; ".join(f"{each}: {verdicts.count(each)}" for each in VERDICTS)
