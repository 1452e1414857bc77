"""Checks of those claims that need more than a comparison of scores: margins, depths, counts, permutations, samples."""

from collections.abc import Callable
from typing import Final

from serrm.reporting.evidence import BASELINES, NOTHING_SOLVED, SE_RRM, Evidence, Finding, missing, said
from serrm.reporting.names import HEADLINE, METRIC_NAMES, model_name, set_name, task_name
from serrm.reporting.results import Evaluation, RefusedSet

LARGER: Final = {"16x16": 16, "25x25": 25}
ALL: Final = (SE_RRM, *BASELINES)


def _margins(evidence: Evidence) -> Finding:
    texts, holds = [], True
    for metric, least in (("fsr", 11), ("gpa", 7)):
        scores = evidence.scores("sudoku", (*ALL, "trm_mlp"), metric)
        if not {*ALL} <= {each.variant for each in scores}:
            return missing("SE-RRM, TRM and HRM on 9×9")
        ours, best = scores[0], max(scores[1:], key=lambda score: score.value)
        holds &= ours.value - best.value > least
        texts.append(f"{metric.upper()}: {said([ours, best])}; margin {ours.value - best.value} points")
    return Finding(holds, ". ".join(texts) + ".")


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
    is_above_chance = all(float(score.low) > 100 / LARGER[name] for name, (score,) in scores.items())
    return Finding(is_above_chance and all(refused), f"GPA on {text}.{also}")


def _more_steps(evidence: Evidence) -> Finding:
    depths = evidence.depths(SE_RRM)
    if not depths:
        return missing("SE-RRM on 9×9")
    beyond = max(depths) > 16 and 16 in depths
    first, last = (16 if beyond else min(depths)), max(depths)
    before, after = (evidence.score("sudoku", SE_RRM, "fsr", steps=steps) for steps in (first, last))
    assert before is not None and after is not None
    text = f"FSR after {first} and {last} steps: {said([before, after])}."
    if not beyond:
        return Finding(None, f"{text} Deeper than in training was not evaluated.")
    return Finding(after.is_ahead_of(before), text)


def _every_depth(evidence: Evidence) -> Finding:
    depths = sorted(set.intersection(*(set(evidence.depths(each)) for each in ALL)))
    if not depths:
        return missing("SE-RRM, TRM and HRM on 9×9")
    ahead: dict[bool, list[str]] = {True: [], False: []}
    for depth in depths:
        ours, *others = (evidence.score("sudoku", each, "fsr", steps=depth) for each in ALL)
        assert ours is not None
        is_ahead = all(each is not None and ours.is_ahead_of(each) for each in others)
        ahead[is_ahead].append(str(depth))
    text = f"Ahead of both at {', '.join(ahead[True]) or 'no'} steps"
    return Finding(
        not ahead[False], f"{text}; not at {', '.join(ahead[False])}." if ahead[False] else f"{text}."
    )


def _augmentations(evidence: Evidence) -> Finding:
    texts, verdicts, solved = [], [], False
    for task in ("arc_agi_1", "arc_agi_2"):
        scores = evidence.scores(task, ALL, "pass_at_2")
        if len(scores) < 2 or scores[0].variant != SE_RRM:
            continue
        settings = {each.variant: evidence.settings.here[task, each.variant] for each in scores}
        counts = {name: int(cell["arrays"]["num_augmentations"]) for name, cell in settings.items()}
        verdicts.append(_is_least(counts) and not any(each.is_ahead_of(scores[0]) for each in scores[1:]))
        solved |= any(score.value for score in scores)
        texts.append(f"{task_name(task)}: augmentations {_counts(counts)}; pass@2 {said(scores)}")
    if not verdicts:
        return missing("SE-RRM and another model on ARC-AGI")
    text = ". ".join(texts) + "."
    return Finding(all(verdicts), text) if solved else Finding(None, f"{text} {NOTHING_SOLVED}")


def _parameters(evidence: Evidence) -> Finding:
    texts, verdicts = [], []
    for task in evidence.tasks:
        counts = {run.model: run.model_info.parameters for run in evidence.first_runs(task, ALL)}
        if SE_RRM in counts and len(counts) > 1:
            verdicts.append(_is_least(counts))
            texts.append(f"{task_name(task)}: {_counts(counts)}")
    if not verdicts:
        return missing("SE-RRM beside another model")
    return Finding(all(verdicts), "; ".join(texts) + ". Task-type embeddings are not counted.")


def _is_least(counts: dict[str, int]) -> bool:
    return all(counts[SE_RRM] < number for name, number in counts.items() if name != SE_RRM)


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{model_name(name)} {number:,}" for name, number in counts.items())


def _permutation(evidence: Evidence) -> Finding:
    found = [(run, part) for run in evidence.runs(SE_RRM) if (part := run.equivariance) is not None]
    if not found:
        return missing("SE-RRM on permuted puzzles")
    texts = [
        f"{task_name(run.task)}: {part.counts('the same', 'logits differ by at most {:.1e}')}"
        for run, part in found
    ]
    return Finding(all(part.num_identical == part.num_pairs for _, part in found), "; ".join(texts) + ".")


def _data_efficient(evidence: Evidence) -> Finding:
    """On every task SE-RRM reaches the best score of each baseline's learning curve, with fewer samples."""
    texts, verdicts = [], []
    for task in evidence.tasks:
        runs = evidence.first_runs(task, ALL)
        if len(runs) < 2 or runs[0].model != SE_RRM:
            continue
        ours, *others = runs
        metric, why = HEADLINE.get(task, "fsr"), ""
        if not any(_best(run, metric) for run in others):
            metric, why = "gpa", "no other model solves any, so by "
        if any(metric not in point for run in runs for point in run.learning_curve or ({},)):
            continue
        for run in others:
            target = _best(run, metric)
            mine, theirs = (samples_to_reach(each, metric, target) for each in (ours, run))
            verdicts.append(mine is not None and theirs is not None and mine < theirs)
            counts = f"{model_name(SE_RRM)} {_samples(mine)}, {model_name(run.model)} {_samples(theirs)}"
            name = METRIC_NAMES[metric].lower()
            texts.append(f"{task_name(task)}: {why}{name} {100 * target:.1f}% after {counts}")
    if not verdicts:
        return missing("learning curves of SE-RRM beside another model")
    return Finding(all(verdicts), "; ".join(texts) + ".")


def samples_to_reach(run: Evaluation, metric: str, target: float) -> int | None:
    """The samples processed at the first point of a learning curve that is not below a target; None if none is."""
    reached = (point["samples"] for point in run.learning_curve if point.get(metric, -1.0) >= target)
    return next((int(samples) for samples in reached), None)


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
}
