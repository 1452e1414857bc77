"""The paper's claims (paper.yaml), each compared with our numbers, with one of four verdicts.

Holding here is about the runs of a profile, with their data and sizes, and not about the paper's runs. A model is ahead
only where its interval lies wholly above the other's: where two overlap they are not separated, which neither bears a
claim out nor refutes it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Final, Literal

import pandas as pd

from serrm.inference.settings import HEADLINE_STEPS
from serrm.reporting.names import METRIC_NAMES, metrics_of, model_name, set_name, task_name
from serrm.reporting.paper import load_paper
from serrm.reporting.results import Score, score
from serrm.reporting.tables import ARC, Report, Table
from serrm.scoring.metrics import wilson

Verdict = Literal["holds here", "not separated here", "does not hold here", "not tested here"]
HOLDS: Final[Verdict] = "holds here"
LEVEL: Final[Verdict] = "not separated here"
FAILS: Final[Verdict] = "does not hold here"
UNTESTED: Final[Verdict] = "not tested here"
Finding = tuple[Verdict, str]  # and the numbers in words
SE_RRM, TRM, HRM = "se_rrm", "trm", "hrm"
ALL: Final = (SE_RRM, TRM, HRM)
SE_RRMS: Final = (SE_RRM, "se_rrm_rope", "se_rrm_trm_hyperparameters")  # the rows of table A6
TRMS: Final = (TRM, "trm_random_halting", "trm_rope2d_published")
FAILING_TRMS: Final = ("trm_rope2d_random_halting_published", "trm_matched_published")
NO_LANGUAGE_MODEL: Final[Finding] = (UNTESTED, "No language model is run here.")
TUNED_LESS: Final = "TRM and HRM have other settings than the paper's, and were tuned less than SE-RRM."


def weakest(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict on a claim of several parts: one that fails refutes it, an untested one leaves no "holds"."""
    return max(verdicts, key=(HOLDS, UNTESTED, LEVEL, FAILS).index)


def leads(first: Score, *others: Score) -> Verdict:
    """Whether a score is ahead of all others."""
    parts = ((first.low > each.high, each.low > first.high) for each in others)
    return weakest(HOLDS if ahead else FAILS if behind else LEVEL for ahead, behind in parts)


def leads_by(points: float, first: Score, *others: Score) -> Verdict:
    """Whether a score is ahead of the best other by more than so many points."""
    best = max(others, key=lambda each: each.value)
    if round(first.value - best.value, 2) > points:
        return leads(first, best)
    return LEVEL if round(first.high - best.low, 2) > points else FAILS


def higher(first: Score, second: Score) -> Verdict:
    """Whether a score is above another, by however little."""
    return HOLDS if first.value > second.value else leads(first, second)


def is_zero(each: Score) -> Verdict:
    """Whether a score is zero, or not to be told from none of as many puzzles."""
    is_more = each.low > 100 * wilson(0, each.num_puzzles)[1]
    return HOLDS if each.value == 0 else FAILS if is_more else LEVEL


def all_zero(*scores: Score) -> Verdict:
    """Whether every score is zero."""
    return FAILS if any(each.value for each in scores) else HOLDS


def is_not_behind(first: Score, *others: Score) -> Verdict:
    """Whether a score that solves any is behind no other."""
    return FAILS if leads(first, *others) == FAILS else HOLDS if first.value else LEVEL


def fall(*scores: Score) -> Verdict:
    """Whether each is above the next, and the first ahead of the last."""
    return weakest([*(higher(*pair) for pair in pairwise(scores)), leads(scores[0], scores[-1])])


def above(chance: float, first: Score, *others: Score) -> Verdict:
    """Whether a score is above chance, and no other model has one."""
    return FAILS if others or first.high < chance else HOLDS if first.low > chance else LEVEL


@dataclass(frozen=True)
class Check:
    """A comparison of the scores of some models, of which the first so many are needed (all, unless it says)."""

    rule: Callable[..., Verdict]
    models: Sequence[str]
    tasks: Sequence[str] = ("sudoku",)
    metric: str = "fsr"
    of_set: str | None = None
    needs: int | None = None
    objection: Callable[[Report, str], str] = lambda report, task: ""

    def __call__(self, report: Report) -> Finding:
        """The weakest verdict over the tasks, with the scores."""
        findings: list[Finding] = []
        for task in self.tasks:
            where = task_name(task) + (f" {set_name(self.of_set)}" if self.of_set else "")
            scores = scores_of(report, task, self.models, self.metric, self.of_set)
            missing = [model_name(model) for model in self.models[: self.needs] if model not in scores]
            if missing:
                findings.append((UNTESTED, f"Not run on {where}: {', '.join(missing)}."))
                continue
            why = self.objection(report, task)
            if self.metric == "pass_at_2" and not any(each.value for each in scores.values()):
                why = " Nothing was solved, which compares nothing."
            text = f"{METRIC_NAMES[self.metric]} on {where}: {in_words(scores)}.{why}"
            findings.append((UNTESTED if why else self.rule(*scores.values()), text))
        return together(findings)


def scores_of(report: Report, task: str, models: Iterable[str], *where: Any) -> dict[str, Score]:
    """The scores of those of the models that have one, by metric, set and steps."""
    found = {model: score(report.results.get((task, model), []), *where) for model in models}
    return {model: each for model, each in found.items() if each}


def in_words(scores: dict[str, Score]) -> str:
    """Scores as a list."""
    return "; ".join(f"{model_name(model)} {each}" for model, each in scores.items())


def together(findings: Sequence[Finding], what: str = "") -> Finding:
    """The finding on a claim of several parts; without any, that `what` was not run."""
    if not findings:
        return UNTESTED, f"Not run: {what}."
    return weakest(verdict for verdict, _ in findings), " ".join(text for _, text in findings)


def depths(report: Report, model: str) -> set[int]:
    """The numbers of steps at which a model was scored on 9×9 Sudoku."""
    parts = (run.scored.get("9x9") for run in report.results.get(("sudoku", model), []))
    return {steps for part in parts if part for steps in part.steps}


def more_steps(report: Report) -> Finding:
    """SE-RRM at its deepest against 16 steps."""
    last = max(depths(report, SE_RRM), default=0)
    if last <= HEADLINE_STEPS:
        return UNTESTED, "More steps than in training were not scored."
    before, after = (
        scores_of(report, "sudoku", [SE_RRM], "fsr", "9x9", steps)[SE_RRM] for steps in (HEADLINE_STEPS, last)
    )
    return leads(
        after, before
    ), f"Fully solved rate after {HEADLINE_STEPS} steps {before}, after {last} {after}."


def every_depth(report: Report) -> Finding:
    """SE-RRM against both others at every number of steps of table 2 at which all three were scored."""
    printed = {column.steps for column in load_paper().score_tables["2"].columns.values()}
    places: dict[Verdict, list[str]] = {}
    for steps in sorted(printed.intersection(*(depths(report, model) for model in ALL))):
        verdict = leads(*scores_of(report, "sudoku", ALL, "fsr", "9x9", steps).values())
        places.setdefault(verdict, []).append(str(steps))
    words = {HOLDS: "ahead of both", LEVEL: "not separated", FAILS: "behind one"}
    texts = [f"{words[verdict]} after {', '.join(steps)}" for verdict, steps in places.items()]
    num = sum(map(len, places.values()))
    text = f"SE-RRM is {'; '.join(texts)}: {num} of the paper's {len(printed)} numbers of steps."
    return together([(weakest(places), text)] if places else [], "SE-RRM, TRM and HRM at the same steps")


def as_many_augmentations(report: Report, task: str) -> str:
    """That SE-RRM was not given fewer augmentations than the other models, if so."""
    ours, *others = (report.settings.here[task, model]["arrays"]["num_augmentations"] for model in ALL)
    return "" if ours < min(others) else " SE-RRM was not given fewer augmentations."


def permutation(report: Report) -> Finding:
    """SE-RRM on puzzles with permuted symbols; rounding may decide an answer, which refutes nothing."""
    findings: list[Finding] = []
    for (task, model), runs in report.results.items():
        for part in (run.equivariance for run in runs if run.equivariance and model == SE_RRM):
            is_same = part.num_identical == part.num_pairs
            verdict = HOLDS if is_same else LEVEL if part.num_identical else FAILS
            findings.append((verdict, f"{task_name(task)}: {part.counts}."))
    return together(findings, "SE-RRM on permuted puzzles")


def data_efficient(report: Report) -> Finding:
    """SE-RRM's learning curve around as many samples as the best score of each other model took."""
    findings: list[Finding] = []
    for (task, model), runs in report.results.items():
        metric, ours = metrics_of(task)[0], report.results.get((task, SE_RRM), [])
        mine, theirs = (
            [p for p in each[0].learning_curve if metric in p] if each else [] for each in (ours, runs)
        )
        best = max(theirs, key=lambda point: point[metric], default={metric: 0.0})
        if model in (TRM, HRM) and mine and best[metric]:
            before = [point for point in mine if point["samples"] <= best["samples"]]
            after = [point for point in mine if point["samples"] >= best["samples"]] or mine[-1:]
            is_ahead = bool(before) and before[-1][f"{metric}_lo"] > best[f"{metric}_hi"]
            is_behind = best[f"{metric}_lo"] > after[0][f"{metric}_hi"]
            shown = {model: best, SE_RRM: (before or after)[-1]}
            parts = [
                f"{model_name(m)} {100 * p[metric]:.1f} after {p['samples']:,.0f} samples"
                for m, p in shown.items()
            ]
            text = f"{METRIC_NAMES[metric]} on {task_name(task)}: {'; '.join(parts)}."
            findings.append((HOLDS if is_ahead else FAILS if is_behind else LEVEL, text))
    return together(findings, "learning curves of SE-RRM and of another model that solves any")


CHECKS: Final[dict[str, Sequence[Callable[[Report], Finding]]]] = {
    "margins": (Check(partial(leads_by, 11.0), ALL), Check(partial(leads_by, 7.0), ALL, metric="gpa")),
    "smaller_grids": (
        Check(lambda first, *rest: weakest([leads(first, *rest), *map(is_zero, rest)]), ALL, of_set="4x4"),
    ),
    "larger_grids": tuple(
        Check(partial(above, 100 / side), ALL, of_set=f"{side}x{side}", metric="gpa", needs=1)
        for side in (16, 25)
    ),
    "larger_unsolved": tuple(Check(all_zero, [SE_RRM], of_set=name) for name in ("16x16", "25x25")),
    "language_model": (lambda report: NO_LANGUAGE_MODEL,),
    "language_model_4x4": (lambda report: NO_LANGUAGE_MODEL,),
    "more_steps": (more_steps,),
    "every_depth": (every_depth,),
    "arc_hrm": (Check(leads, (SE_RRM, HRM), ARC, "pass_at_2"),),
    "arc_trm": (
        Check(lambda a, b: HOLDS if leads(a, b) == LEVEL else FAILS, (SE_RRM, TRM), ARC, "pass_at_2"),
    ),
    "augmentations": (Check(is_not_behind, ALL, ARC, "pass_at_2", objection=as_many_augmentations),),
    "maze": (Check(lambda a, b, c: weakest([higher(a, b), leads(a, c)]), ALL, ["maze"]),),
    "parameters": (
        lambda report: (UNTESTED, "Sizes are settings, chosen and not found: see the table of runs."),
    ),
    "permutation": (permutation,),
    "data_efficient": (data_efficient,),
    "tied_sudoku": (Check(leads, (SE_RRM, "se_rrm_untied")),),
    "tied_maze": (Check(leads, (SE_RRM, "se_rrm_tied"), ["maze"]),),
    "trm_arc": (Check(leads, TRMS, ARC[:1], "pass_at_2"),),
    "trm_arc_matched": (Check(fall, (*TRMS[:2], *FAILING_TRMS), ARC[:1], "pass_at_2"),),
    "trm_fails": (Check(all_zero, FAILING_TRMS, needs=1),),
    "rope": (Check(leads, ("se_rrm_rope", SE_RRM)),),
    "configurations": (
        Check(lambda *s: leads(min(s[:3]), min(s[3:])), (*SE_RRMS, *TRMS, *FAILING_TRMS), ["sudoku", "maze"]),
    ),
}


def claims_table(report: Report) -> Table:
    """Every claim with the paper's numbers, ours, and the verdict."""
    lines = []
    for key, claim in load_paper().claims.items():
        verdict, ours = together([check(report) for check in CHECKS[key]])
        lines.append((claim.says, claim.section, claim.paper, ours, verdict))
    frame = pd.DataFrame(
        lines, columns=["The paper says", "Section", "The paper's numbers", "Ours", "Verdict"]
    )
    counts = ", ".join(f"{verdict} {number}" for verdict, number in tally(frame).items())
    caption = (
        f"On this profile's data and sizes, of {len(frame)} claims: {counts}. A model is ahead only where its interval "
        "lies wholly above the other's; overlapping intervals are not separated."
    )
    notes = [TUNED_LESS] * (report.profile != "paper")
    return Table("claims", "The paper's claims, checked", caption, frame, notes)


def tally(frame: pd.DataFrame) -> dict[str, int]:
    """How many claims have each verdict."""
    counts = Counter(frame["Verdict"])
    return {verdict: counts[verdict] for verdict in (HOLDS, LEVEL, FAILS, UNTESTED)}
