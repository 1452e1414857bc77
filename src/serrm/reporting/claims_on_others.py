"""Checks of the paper's claims on ARC-AGI and mazes, and of those on any task: size, samples, permutations.

A model is ahead of another where its interval lies wholly above the other's.
"""

from collections.abc import Callable
from typing import Final

from serrm.reporting.evidence import BASELINES, SE_RRM, Evidence, Finding, Score, missing, said
from serrm.reporting.names import HEADLINE, METRIC_NAMES, model_name, task_name
from serrm.reporting.results import Evaluation

ARC: Final = ("arc_agi_1", "arc_agi_2")
NOTHING_SOLVED: Final = "Nothing was solved, which compares nothing."


def _on_arc(other: str, judge: Callable[[Score, Score], bool]) -> Callable[[Evidence], Finding]:
    """A check of SE-RRM against another model on both ARC-AGI sets."""

    def check(evidence: Evidence) -> Finding:
        texts, verdicts, all_scores = [], [], []
        for task in ARC:
            scores = evidence.scores(task, (SE_RRM, other), "pass_at_2")
            if len(scores) == 2:
                all_scores += scores
                verdicts.append(judge(*scores))
                texts.append(f"{task_name(task)}: {said(scores)}")
        if not verdicts:
            return missing(f"SE-RRM and {model_name(other)} on ARC-AGI")
        text = f"pass@2 on {'; '.join(texts)}."
        if not any(score.value for score in all_scores):
            return Finding(None, f"{text} {NOTHING_SOLVED}")
        if all(verdicts) and len(verdicts) < len(ARC):
            return Finding(None, f"{text} The other set was not run.")
        return Finding(all(verdicts), text)

    return check


def _augmentations(evidence: Evidence) -> Finding:
    texts, verdicts, all_scores = [], [], []
    for task in ARC:
        scores = evidence.scores(task, (SE_RRM, *BASELINES), "pass_at_2")
        if len(scores) < 2 or scores[0].variant != SE_RRM:
            continue
        all_scores += scores
        counts = {each.variant: _num_augmentations(evidence, task, each.variant) for each in scores}
        fewer = all(counts[SE_RRM] < number for name, number in counts.items() if name != SE_RRM)
        verdicts.append(fewer and not any(each.is_ahead_of(scores[0]) for each in scores[1:]))
        said_counts = ", ".join(f"{model_name(name)} {number:,}" for name, number in counts.items())
        texts.append(f"{task_name(task)}: augmentations {said_counts}; pass@2 {said(scores)}")
    if not verdicts:
        return missing("SE-RRM and another model on ARC-AGI")
    text = ". ".join(texts) + "."
    if not any(score.value for score in all_scores):
        return Finding(None, f"{text} {NOTHING_SOLVED}")
    return Finding(all(verdicts), text)


def _num_augmentations(evidence: Evidence, task: str, variant: str) -> int:
    return int(evidence.settings.here[task, variant]["arrays"]["num_augmentations"])


def _maze(evidence: Evidence) -> Finding:
    scores = evidence.scores("maze", (SE_RRM, *BASELINES), "fsr")
    if len(scores) < 3:
        return missing("SE-RRM, TRM and HRM on mazes")
    ours, trm, hrm = scores
    return Finding(ours.value > trm.value and ours.is_ahead_of(hrm), f"FSR: {said(scores)}.")


def _tied_maze(evidence: Evidence) -> Finding:
    tied = evidence.score("maze", "se_rrm_tied", "fsr")
    untied = evidence.scores("maze", ("se_rrm_untied", SE_RRM), "fsr")[:1]
    if tied is None or not untied:
        return missing("SE-RRM tied and untied on mazes")
    return Finding(untied[0].is_ahead_of(tied), f"FSR: {said([tied, *untied])}.")


def _trm_arc(evidence: Evidence) -> Finding:
    trm = evidence.score("arc_agi_1", "trm", "pass_at_2")
    others = evidence.scores(
        "arc_agi_1", ("trm_random_halting", "trm_rope2d_published", "trm_rope2d"), "pass_at_2"
    )
    if trm is None or len(others) < 2:
        return missing("TRM with random halting and with RoPE2D on ARC-AGI-1")
    return Finding(all(trm.is_ahead_of(each) for each in others), f"pass@2: {said([trm, *others])}.")


def _parameters(evidence: Evidence) -> Finding:
    texts, verdicts = [], []
    for task in dict.fromkeys(task for task, _ in evidence.results):
        seeds = {name: evidence.results.get((task, name), []) for name in (SE_RRM, *BASELINES)}
        counts = {name: runs[0].model_info.parameters for name, runs in seeds.items() if runs}
        if SE_RRM in counts and len(counts) > 1:
            verdicts.append(all(counts[SE_RRM] < number for name, number in counts.items() if name != SE_RRM))
            texts.append(
                f"{task_name(task)}: " + ", ".join(f"{model_name(k)} {n:,}" for k, n in counts.items())
            )
    if not verdicts:
        return missing("SE-RRM beside another model")
    return Finding(all(verdicts), "; ".join(texts) + ". Task-type embeddings are not counted.")


def _permutation(evidence: Evidence) -> Finding:
    found = [(run, run.equivariance) for run in evidence.runs(SE_RRM) if run.equivariance is not None]
    if not found:
        return missing("SE-RRM on permuted puzzles")
    texts = []
    for run, part in found:
        largest = (
            "" if part.max_difference is None else f", logits differ by at most {part.max_difference:.1e}"
        )
        texts.append(f"{task_name(run.task)}: {part.num_identical:,} of {part.num_pairs:,} the same{largest}")
    return Finding(all(part.num_identical == part.num_pairs for _, part in found), "; ".join(texts) + ".")


def _data_efficient(evidence: Evidence) -> Finding:
    """On every task SE-RRM reaches the best score of each baseline's learning curve, with fewer samples."""
    texts, verdicts = [], []
    for task in dict.fromkeys(task for task, _ in evidence.results):
        runs = [seeds[0] for name in (SE_RRM, *BASELINES) if (seeds := evidence.results.get((task, name)))]
        if len(runs) < 2 or runs[0].model != SE_RRM:
            continue
        metric, why = HEADLINE.get(task, "fsr"), ""
        if not any(_best(run, metric) for run in runs[1:]):
            metric, why = "gpa", "no other model solves any, so by "
        if any(metric not in point for run in runs for point in run.learning_curve or ({},)):
            continue
        for run in runs[1:]:
            target = _best(run, metric)
            needed = [samples_to_reach(each, metric, target) for each in (runs[0], run)]
            verdicts.append(_is_fewer(*needed))
            names = (model_name(each) for each in (SE_RRM, run.model))
            counts = ", ".join(
                f"{name} {_samples(number)}" for name, number in zip(names, needed, strict=True)
            )
            texts.append(
                f"{task_name(task)}: {why}{METRIC_NAMES[metric].lower()} {100 * target:.1f}% after {counts}"
            )
    if not verdicts:
        return missing("learning curves of SE-RRM beside another model")
    return Finding(all(verdicts), "; ".join(texts) + ".")


def samples_to_reach(run: Evaluation, metric: str, target: float) -> int | None:
    """The samples processed at the first point of a learning curve that is not below a target; None if none is."""
    reached = (point["samples"] for point in run.learning_curve if point.get(metric, -1.0) >= target)
    return next((int(samples) for samples in reached), None)


def _best(run: Evaluation, metric: str) -> float:
    return max((point.get(metric, 0.0) for point in run.learning_curve), default=0.0)


def _is_fewer(ours: int | None, theirs: int | None) -> bool:
    return ours is not None and theirs is not None and ours < theirs


def _samples(number: int | None) -> str:
    return "never" if number is None else f"{number:,} samples"


CHECKS: Final[dict[str, Callable[[Evidence], Finding]]] = {
    "arc_hrm": _on_arc("hrm", lambda ours, hrm: ours.is_ahead_of(hrm)),
    "arc_trm": _on_arc("trm", lambda ours, trm: not trm.is_ahead_of(ours) and not ours.is_ahead_of(trm)),
    "augmentations": _augmentations,
    "maze": _maze,
    "tied_maze": _tied_maze,
    "trm_arc": _trm_arc,
    "parameters": _parameters,
    "permutation": _permutation,
    "data_efficient": _data_efficient,
}
