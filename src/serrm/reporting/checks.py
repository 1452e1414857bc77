"""Checks of those claims that need more than a comparison of scores: margins, depths, counts, permutations, samples."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Final

from serrm.inference.settings import HEADLINE_STEPS
from serrm.reporting.evidence import (
    BASELINES,
    FAILS,
    HOLDS,
    LEVEL,
    SE_RRM,
    UNTESTED,
    Evidence,
    Finding,
    Verdict,
    in_words,
    missing,
    weakest,
)
from serrm.reporting.names import METRIC_NAMES, model_name, reported, set_name, task_name
from serrm.reporting.results import Evaluation, RefusedSet

LARGER: Final = {"16x16": 16, "25x25": 25}
ALL: Final = (SE_RRM, *BASELINES)
# The rows of table A6, by model.
CONFIGURATIONS: Final = (
    (SE_RRM, "se_rrm_rope", "se_rrm_trm_hyperparameters"),
    (
        *("trm", "trm_random_halting", "trm_rope2d_published"),
        *("trm_rope2d_random_halting_published", "trm_matched_published"),
    ),
)


def _margins(evidence: Evidence) -> Finding:
    texts, verdicts = [], []
    for metric, least in (("fsr", 11), ("gpa", 7)):
        scores = evidence.scores("sudoku", ALL, metric)
        if len(scores) < len(ALL):
            return missing("SE-RRM, TRM and HRM on 9×9")
        ours, best = scores[0], max(scores[1:], key=lambda score: score.value)
        is_wide, can_be = ours.value - best.value > least, ours.high - best.low > least
        verdicts.append(ours.leads(best) if is_wide else LEVEL if can_be else FAILS)
        texts.append(f"{metric.upper()}: {in_words([ours, best])}; margin {ours.value - best.value} points")
    mixer = evidence.score("sudoku", "trm_mlp", "fsr")
    texts += [f"Not among the paper's baselines: {mixer}"] if mixer else []
    return Finding(weakest(verdicts), ". ".join(texts) + ".")


def _larger_grids(evidence: Evidence) -> Finding:
    scores = {name: evidence.scores("sudoku", [SE_RRM], "gpa", name) for name in LARGER}
    if not all(scores.values()):
        return missing("SE-RRM on 16×16 and 25×25")
    parts = [run.sets.get(name) for each in BASELINES for run in evidence.runs(each) for name in LARGER]
    refused = [isinstance(part, RefusedSet) for part in parts if part is not None]
    text = "; ".join(
        f"{set_name(name)}: {score}, {100 / LARGER[name]:.2f} by chance" for name, (score,) in scores.items()
    )
    also = " HRM and TRM cannot take these sizes." if refused and all(refused) else ""
    verdicts = [_above(100 / LARGER[name], score.low, score.high) for name, (score,) in scores.items()]
    return Finding(weakest(verdicts) if all(refused) else FAILS, f"GPA on {text}.{also}")


def _above(chance: float, low: Decimal, high: Decimal) -> Verdict:
    return HOLDS if low > chance else LEVEL if high >= chance else FAILS


def _more_steps(evidence: Evidence) -> Finding:
    depths = evidence.depths(SE_RRM)
    if not depths:
        return missing("SE-RRM on 9×9")
    beyond = max(depths) > HEADLINE_STEPS and HEADLINE_STEPS in depths
    first, last = (HEADLINE_STEPS if beyond else min(depths)), max(depths)
    before, after = (evidence.score("sudoku", SE_RRM, "fsr", steps=steps) for steps in (first, last))
    assert before is not None and after is not None
    text = f"FSR after {first} and {last} steps: {in_words([before, after])}."
    if not beyond:
        return Finding(UNTESTED, f"{text} Deeper than in training was not evaluated.")
    return Finding(after.leads(before), text)


def _every_depth(evidence: Evidence) -> Finding:
    depths = sorted(set.intersection(*(set(evidence.depths(each)) for each in ALL)))
    if not depths:
        return missing("SE-RRM, TRM and HRM on 9×9")
    found: dict[Verdict, list[str]] = {HOLDS: [], LEVEL: [], FAILS: []}
    for depth in depths:
        ours, *others = (evidence.score("sudoku", each, "fsr", steps=depth) for each in ALL)
        assert ours is not None
        found[ours.leads(*(each for each in others if each is not None))].append(str(depth))
    text = f"Ahead of both at {', '.join(found[HOLDS]) or 'no'} steps"
    for verdict, words in ((LEVEL, "not separated"), (FAILS, "behind one")):
        text += f"; {words} at {', '.join(found[verdict])}" if found[verdict] else ""
    return Finding(weakest(verdict for verdict, at in found.items() if at), f"{text}.")


def _augmentations(evidence: Evidence) -> Finding:
    findings = []
    for task in ("arc_agi_1", "arc_agi_2"):
        scores = evidence.scores(task, ALL, "pass_at_2")
        if len(scores) < 2 or scores[0].variant != SE_RRM:
            continue
        settings = {each.variant: evidence.settings.here[task, each.variant] for each in scores}
        counts = {name: int(cell["arrays"]["num_augmentations"]) for name, cell in settings.items()}
        text = f"{task_name(task)}: augmentations {_counts(counts)}; pass@2 {in_words(scores)}"
        if counts[SE_RRM] >= min(counts[score.variant] for score in scores[1:]):
            findings.append(Finding(UNTESTED, f"{text}; {model_name(SE_RRM)} was not given fewer"))
        elif not any(score.value for score in scores):
            findings.append(Finding(UNTESTED, f"{text}; nothing solved, which compares nothing"))
        else:
            is_behind = any(each.is_ahead_of(scores[0]) for each in scores[1:])
            findings.append(Finding(FAILS if is_behind else HOLDS if scores[0].value else LEVEL, text))
    return _together(findings, ". ", "SE-RRM and another model on ARC-AGI")


def _together(findings: Sequence[Finding], separator: str, what: str) -> Finding:
    """The finding on a claim of several parts; that `what` is missing where there are no words on any of them."""
    texts = [each.ours for each in findings if each.ours]
    if not texts:
        return missing(what)
    return Finding(weakest(each.verdict for each in findings), f"{separator.join(texts)}.")


def _parameters(evidence: Evidence) -> Finding:
    texts = []
    for task in evidence.tasks:
        counts = {run.model: run.model_info.parameters for run in evidence.first_runs(task, ALL)}
        if SE_RRM in counts and len(counts) > 1:
            texts.append(f"{task_name(task)}: {_counts(counts)}")
    if not texts:
        return missing("SE-RRM beside another model")
    why = "Task-type embeddings are not counted. These sizes are settings, chosen and not found."
    return Finding(UNTESTED, f"{'; '.join(texts)}. {why}")


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{model_name(name)} {number:,}" for name, number in counts.items())


def _permutation(evidence: Evidence) -> Finding:
    """In float32 an answer may turn on rounding, which refutes nothing that is proved of exact arithmetic."""
    findings = [
        Finding(
            HOLDS if part.num_identical == part.num_pairs else LEVEL if part.num_identical else FAILS,
            f"{task_name(run.task)}: {part.counts} the same",
        )
        for run in evidence.runs(SE_RRM)
        if (part := run.equivariance)
    ]
    return _together(findings, "; ", "SE-RRM on permuted puzzles")


def _configurations(evidence: Evidence) -> Finding:
    """SE-RRM at its worst configuration against TRM at its worst, on Sudoku and on mazes."""
    findings = []
    for task in ("sudoku", "maze"):
        ours, theirs = (evidence.scores(task, variants, "fsr") for variants in CONFIGURATIONS)
        if len(ours) < 2 or len(theirs) < 2:
            findings.append(Finding(UNTESTED, ""))
            continue
        lowest = [min(scores, key=lambda score: score.value) for scores in (ours, theirs)]
        counts = f"the lowest of {len(ours)} configurations of SE-RRM and of {len(theirs)} of TRM"
        text = f"{task_name(task)}, {counts}: {in_words(lowest)}"
        findings.append(Finding(lowest[0].leads(lowest[1]), text))
    return _together(findings, ". ", "several configurations of SE-RRM and of TRM")


def _data_efficient(evidence: Evidence) -> Finding:
    """On every task SE-RRM reaches the best score of each baseline's learning curve, with fewer samples."""
    texts, verdicts = [], []
    for task in evidence.tasks:
        runs = evidence.first_runs(task, ALL)
        if len(runs) < 2 or runs[0].model != SE_RRM:
            continue
        ours, *others = runs
        metric, why = reported(task).headline, ""
        if not any(_best(run, metric) for run in others):
            metric, why = "gpa", "no other model solves any, so by "
        if any(metric not in point for run in runs for point in run.learning_curve or ({},)):
            continue
        for run in others:
            target, name = _best(run, metric), METRIC_NAMES[metric].lower()
            if not target:
                texts.append(f"{task_name(task)}: {name} of {model_name(run.model)} 0.0%, not compared")
                continue
            mine, theirs = (samples_to_reach(each, metric, target) for each in (ours, run))
            assert theirs is not None
            if mine is not None and mine < theirs:
                verdicts.append(HOLDS if _is_above(ours, run, metric, mine) else LEVEL)
            else:
                verdicts.append(FAILS if _is_above(run, ours, metric, theirs) else LEVEL)
            counts = f"{model_name(SE_RRM)} {_samples(mine)}, {model_name(run.model)} {_samples(theirs)}"
            texts.append(f"{task_name(task)}: {why}{name} {100 * target:.1f}% after {counts}")
    if not texts:
        return missing("learning curves of SE-RRM beside another model")
    return Finding(weakest(verdicts or [UNTESTED]), "; ".join(texts) + ".")


def samples_to_reach(run: Evaluation, metric: str, target: float) -> int | None:
    """The samples processed at the first point of a learning curve that is not below a target; None if none is."""
    reached = (point["samples"] for point in run.learning_curve if point.get(metric, -1.0) >= target)
    return next((int(samples) for samples in reached), None)


def _is_above(first: Evaluation, second: Evaluation, metric: str, samples: int) -> bool:
    """Whether the first's interval after so many samples lies wholly above the second's, after as many or more.

    A curve has few points, so the second's next one counts: where it is not below, they may have been level before.
    """
    at = next(point for point in first.learning_curve if point["samples"] == samples)
    later = (point for point in second.learning_curve if point["samples"] >= samples)
    return at[f"{metric}_lo"] > next(later, second.learning_curve[-1])[f"{metric}_hi"]


def _best(run: Evaluation, metric: str) -> float:
    return max((point.get(metric, 0.0) for point in run.learning_curve), default=0.0)


def _samples(number: int | None) -> str:
    return "never" if number is None else f"{number:,} samples"


CHECKS: Final[dict[str, Callable[[Evidence], Finding]]] = {
    "margins": _margins,
    "larger_grids": _larger_grids,
    "more_steps": _more_steps,
    "every_depth": _every_depth,
    "augmentations": _augmentations,
    "parameters": _parameters,
    "permutation": _permutation,
    "data_efficient": _data_efficient,
    "configurations": _configurations,
}
