"""The paper's claims (paper.yaml), each compared with our numbers, with one of four verdicts.

A verdict is about the runs of a profile, with their data and sizes, and not about the paper's runs. A model is ahead
only if its interval lies wholly above the other's; if two overlap, a claim that one is ahead is undecided.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pandas as pd

from serrm.inference.settings import HEADLINE_STEPS
from serrm.reporting.paper import METRIC_NAMES, load_paper, metrics_of, model_name, set_name, task_name
from serrm.reporting.results import Report, Score, runs_on, score
from serrm.reporting.tables import ARC, Table

HOLDS, LEVEL, FAILS, UNTESTED = "holds here", "undecided here", "does not hold here", "not tested here"
Finding = tuple[str, str]  # a verdict, and the numbers in words
SE_RRM, TRM, HRM = "se_rrm", "trm", "hrm"
ALL: Final = (SE_RRM, TRM, HRM)
TRMS: Final = (TRM, "trm_random_halting", "trm_rope2d_published")
FAILING_TRMS: Final = ("trm_rope2d_random_halting_published", "trm_matched_published")
TABLE_A6: Final = (SE_RRM, "se_rrm_rope", "se_rrm_trm_hyperparameters", *TRMS, *FAILING_TRMS)
COLUMNS: Final = ["The paper says", "Section", "The paper's numbers", "Ours", "Verdict"]
NOTE: Final = "All models have other settings than in the paper."


def weakest(verdicts: Iterable[str]) -> str:
    """The verdict on a claim of several parts: one that fails refutes it, an untested one leaves no "holds"."""
    return max(verdicts, key=(HOLDS, UNTESTED, LEVEL, FAILS).index)


def leads(first: Score, *others: Score) -> str:
    """The first is ahead of all others."""
    parts = ((first.low > each.high, each.low > first.high) for each in others)
    return weakest(HOLDS if ahead else FAILS if behind else LEVEL for ahead, behind in parts)


def leads_by(points: float, first: Score, *others: Score) -> str:
    """The first is ahead of the best other by more than so many points."""
    best = max(others, key=lambda each: each.value)
    if round(first.value - best.value, 2) > points:
        return leads(first, best)
    return LEVEL if round(first.high - best.low, 2) > points else FAILS


def all_zero(*scores: Score) -> str:
    """Every score is zero."""
    return FAILS if any(each.value for each in scores) else HOLDS


def is_level(first: Score, second: Score) -> str:
    """The intervals of the two overlap."""
    return HOLDS if leads(first, second) == LEVEL else FAILS


def is_not_behind(first: Score, *others: Score) -> str:
    """The first solves any and is behind no other."""
    return FAILS if leads(first, *others) == FAILS else HOLDS if first.value else LEVEL


def above(chance: float, first: Score, *others: Score) -> str:
    """The first is above chance, and no other model has a score."""
    return FAILS if others or first.high < chance else HOLDS if first.low > chance else LEVEL


@dataclass(frozen=True)
class Check:
    """A comparison of the scores of some models on tasks, of which the first `needs` are needed (default: all)."""

    rule: Callable[..., str]
    models: Sequence[str] = ALL
    tasks: Sequence[str] = ("sudoku",)
    metric: str = "fsr"
    of_set: str | None = None
    needs: int | None = None
    fewer_augmentations: bool = False  # is part of the claim

    def __call__(self, report: Report) -> Finding:
        """The weakest verdict over the tasks, with the scores."""
        findings: list[Finding] = []
        for task in self.tasks:
            where = task_name(task) + (f" {set_name(self.of_set)}" if self.of_set else "")
            scores = scores_of(report, task, self.models, self.metric, self.of_set)
            why = ""
            if missing := [model_name(model) for model in self.models[: self.needs] if model not in scores]:
                findings.append((UNTESTED, f"Not run on {where}: {', '.join(missing)}."))
                continue
            if self.fewer_augmentations:
                nums = [report.settings[task, each]["arrays"]["num_augmentations"] for each in self.models]
                why = "" if nums[0] < min(nums[1:]) else " SE-RRM did not have fewer augmentations."
            if self.metric == "pass_at_2" and not any(each.value for each in scores.values()):
                why = " No model solved a puzzle, so nothing is compared."
            words = "; ".join(f"{model_name(model)} {each}" for model, each in scores.items())
            verdict = UNTESTED if why else self.rule(*scores.values())
            findings.append((verdict, f"{METRIC_NAMES[self.metric]} on {where}: {words}.{why}"))
        return together(findings)


def scores_of(report: Report, task: str, models: Iterable[str], *where: Any) -> dict[str, Score]:
    """The scores of those of the models that have one, by metric, set and steps."""
    scores = {model: score(runs_on(report.results, task, model, *where[1:2]), *where) for model in models}
    return {model: each for model, each in scores.items() if each}


def together(findings: Sequence[Finding], without: str = "") -> Finding:
    """The finding on a claim of several parts, or the words `without` any."""
    if not findings:
        return UNTESTED, without
    return weakest(verdict for verdict, _ in findings), " ".join(text for _, text in findings)


def depths(report: Report, models: Sequence[str]) -> dict[int, list[Score]]:
    """The scores on 9×9 Sudoku by the numbers of steps of table 2 at which all of some models were scored."""
    columns = load_paper().score_tables["2"].columns.values()
    scores = {each.steps: scores_of(report, "sudoku", models, "fsr", "9x9", each.steps) for each in columns}
    return {steps: [*found.values()] for steps, found in scores.items() if len(found) == len(models)}


def more_steps(report: Report) -> Finding:
    """SE-RRM after more steps than in training against 16 steps."""
    scores = {steps: each for steps, (each,) in depths(report, [SE_RRM]).items() if steps >= HEADLINE_STEPS}
    if len(scores) < 2:
        return UNTESTED, "More steps than in training were not scored."
    words = ", ".join(f"after {steps} steps {each}" for steps, each in scores.items())
    return leads(scores[max(scores)], scores[min(scores)]), f"Fully solved rate {words}."


def every_depth(report: Report) -> Finding:
    """SE-RRM against both others at every number of steps at which all three were scored."""
    verdicts = {steps: leads(*scores) for steps, scores in depths(report, ALL).items()}
    findings = [(verdict, f"After {steps}: {verdict}.") for steps, verdict in verdicts.items()]
    steps = (each.steps for each in load_paper().score_tables["2"].columns.values())
    if findings and (others := [str(each) for each in steps if each not in verdicts]):
        findings.append((UNTESTED, f"Not scored after {', '.join(others)}."))
    return together(findings, "Not run: SE-RRM, TRM and HRM at the same steps.")


def permutation(report: Report) -> Finding:
    """SE-RRM on puzzles with permuted symbols; rounding may decide an answer, which refutes nothing."""
    findings: list[Finding] = []
    for (task, model), runs in report.results.items():
        for part in (run.equivariance for run in runs if run.equivariance and model == SE_RRM):
            same, num = part.num_identical, part.num_pairs
            precision = "" if part.is_exact else f", counted in {part.precision}"
            text = f"{task_name(task)}: {same:,} of {num:,} predictions are the same{precision}."
            findings.append((HOLDS if same == num else LEVEL if same else FAILS, text))
    return together(findings, "Not run: SE-RRM on permuted puzzles.")


def data_efficient(report: Report) -> Finding:
    """SE-RRM's learning curve before and after as many samples as the best score of each other model took."""
    findings: list[Finding] = []
    for (task, model), (run, *_) in report.results.items():
        metric, ours = metrics_of(run.kind)[0], report.results.get((task, SE_RRM))
        samples, best = max(run.curve(metric), key=lambda each: each[1].value, default=(0.0, None))
        mine = ours[0].curve(metric) if ours else []
        before = [each for each in mine if each[0] <= samples]
        if model in (TRM, HRM) and best and best.value and before:
            after = next((each for num, each in mine if num >= samples), mine[-1][1])
            is_ahead = leads(before[-1][1], best) == HOLDS
            verdict = HOLDS if is_ahead else FAILS if leads(after, best) == FAILS else LEVEL
            words = f"{model_name(model)}'s best snapshot {best} after {samples:,.0f} samples; "
            words += f"{model_name(SE_RRM)} {before[-1][1]} after {before[-1][0]:,.0f} samples"
            findings.append((verdict, f"{METRIC_NAMES[metric]} on {task_name(task)}: {words}."))
    return together(findings, "Not run: learning curves of SE-RRM and of another model that solves a puzzle.")


CHECKS: Final[dict[str, Sequence[Callable[[Report], Finding]]]] = {
    "margins": (Check(partial(leads_by, 11.0)), Check(partial(leads_by, 7.0), metric="gpa")),
    "smaller_grids": (Check(lambda *s: weakest((leads(*s), all_zero(*s[1:]))), of_set="4x4"),),
    "larger_grids": tuple(
        Check(partial(above, 100 / side), of_set=f"{side}x{side}", metric="gpa", needs=1) for side in (16, 25)
    ),
    "larger_unsolved": tuple(Check(all_zero, [SE_RRM], of_set=name) for name in ("16x16", "25x25")),
    "more_steps": (more_steps,),
    "every_depth": (every_depth,),
    "arc_hrm": (Check(leads, (SE_RRM, HRM), ARC, "pass_at_2"),),
    "arc_trm": (Check(is_level, (SE_RRM, TRM), ARC, "pass_at_2"),),
    "augmentations": (Check(is_not_behind, ALL, ARC, "pass_at_2", fewer_augmentations=True),),
    "maze": (Check(leads, (SE_RRM, TRM, HRM), ["maze"]),),
    "permutation": (permutation,),
    "data_efficient": (data_efficient,),
    "tied_sudoku": (Check(leads, (SE_RRM, "se_rrm_untied")),),
    "tied_maze": (Check(leads, (SE_RRM, "se_rrm_tied"), ["maze"]),),
    "trm_arc": (Check(leads, TRMS, ARC[:1], "pass_at_2"),),
    "trm_arc_matched": (Check(leads, (*TRMS[:2], *FAILING_TRMS), ARC[:1], "pass_at_2"),),
    "trm_fails": (Check(all_zero, FAILING_TRMS, needs=1),),
    "rope": (Check(leads, ("se_rrm_rope", SE_RRM)),),
    "configurations": (Check(lambda *s: leads(min(s[:3]), min(s[3:])), TABLE_A6, ["sudoku", "maze"]),),
}


def claims_table(report: Report) -> Table:
    """Every claim with the paper's numbers, ours, and the verdict."""
    lines = []
    for key, claim in load_paper().claims.items():
        findings = [check(report) for check in CHECKS.get(key, ())]
        verdict, ours = together(findings, "No run here tests this.")
        lines.append((claim.says, claim.section, claim.paper, ours, verdict))
    frame = pd.DataFrame(lines, columns=COLUMNS)
    caption = (
        f"{len(frame)} claims on this profile's data and sizes: {tally(frame)}. A model is ahead only if its interval "
        "is wholly above the other's; if they overlap, that is undecided. Of several parts the worst verdict counts."
    )
    notes = [NOTE] * (report.profile != "paper")
    return Table("claims", "The paper's claims, checked", caption, frame, notes)


def tally(frame: pd.DataFrame) -> str:
    """Number of claims by verdict, such as "holds here: 5; undecided here: 3"."""
    verdicts = (HOLDS, LEVEL, FAILS, UNTESTED)
    return "; ".join(f"{each}: {int((frame['Verdict'] == each).sum())}" for each in verdicts)
