"""Checks of the paper's claims on Sudoku: margins, other sizes, more steps, enforced equivariance, ablations of TRM.

A model is ahead of another where its interval lies wholly above the other's, so a difference that may be chance
does not make a claim hold.
"""

from collections.abc import Callable
from typing import Final

from serrm.reporting.evidence import BASELINES, SE_RRM, Evidence, Finding, missing, said
from serrm.reporting.names import set_name
from serrm.reporting.results import RefusedSet, ScoredSet

LARGER: Final = {"16x16": 16, "25x25": 25}


def _margins(evidence: Evidence) -> Finding:
    texts, holds = [], True
    for metric, least in (("fsr", 11), ("gpa", 7)):
        ours = evidence.score("sudoku", SE_RRM, metric)
        baselines = evidence.scores("sudoku", (*BASELINES, "trm_mlp"), metric)
        if ours is None or not {"trm", "hrm"} <= {each.variant for each in baselines}:
            return missing("SE-RRM, TRM and HRM on 9×9")
        best = max(baselines, key=lambda score: score.value)
        holds &= ours.value - best.value > least
        texts.append(f"{metric.upper()}: {said([ours, best])}; margin {ours.value - best.value} points")
    return Finding(holds, ". ".join(texts) + ".")


def _smaller_grids(evidence: Evidence) -> Finding:
    ours = evidence.score("sudoku", SE_RRM, "fsr", "4x4")
    baselines = evidence.scores("sudoku", BASELINES, "fsr", "4x4")
    if ours is None or len(baselines) < len(BASELINES):
        return missing("SE-RRM, TRM and HRM on 4×4")
    holds = all(ours.is_ahead_of(each) and each.value == 0 for each in baselines)
    return Finding(holds, f"FSR on 4×4: {said([ours, *baselines])}.")


def _larger_grids(evidence: Evidence) -> Finding:
    scores = [(name, evidence.score("sudoku", SE_RRM, "gpa", name)) for name in LARGER]
    found = [(name, score) for name, score in scores if score is not None]
    if len(found) < len(LARGER):
        return missing("SE-RRM on 16×16 and 25×25")
    is_above_chance = all(float(score.low) > 100 / LARGER[name] for name, score in found)
    parts = [run.sets.get(name) for each in BASELINES for run in evidence.runs(each) for name in LARGER]
    taken = any(isinstance(part, ScoredSet) for part in parts)
    refused = any(isinstance(part, RefusedSet) for part in parts)
    text = "; ".join(
        f"{set_name(name)}: {score}, {100 / LARGER[name]:.2f} by chance" for name, score in found
    )
    also = " HRM and TRM cannot take these sizes." if refused and not taken else ""
    return Finding(is_above_chance and not taken, f"GPA on {text}.{also}")


def _larger_unsolved(evidence: Evidence) -> Finding:
    scores = {name: evidence.score("sudoku", SE_RRM, "fsr", name) for name in LARGER}
    if None in scores.values():
        return missing("SE-RRM on 16×16 and 25×25")
    text = "; ".join(f"{set_name(name)}: {score}" for name, score in scores.items())
    return Finding(
        all(score is not None and score.value == 0 for score in scores.values()), f"FSR on {text}."
    )


def _more_steps(evidence: Evidence) -> Finding:
    depths = evidence.depths("sudoku", SE_RRM)
    if not depths:
        return missing("SE-RRM on 9×9")
    beyond = max(depths) > 16 and 16 in depths
    first, last = (16, max(depths)) if beyond else (min(depths), max(depths))
    before, after = (evidence.score("sudoku", SE_RRM, "fsr", steps=steps) for steps in (first, last))
    assert before is not None and after is not None
    text = f"FSR after {first} and {last} steps: {said([before, after])}."
    if not beyond:
        return Finding(None, f"{text} Deeper than in training was not evaluated.")
    return Finding(after.is_ahead_of(before), text)


def _every_depth(evidence: Evidence) -> Finding:
    depths = [
        depth
        for depth in evidence.depths("sudoku", SE_RRM)
        if all(depth in evidence.depths("sudoku", each) for each in BASELINES)
    ]
    if not depths:
        return missing("SE-RRM, TRM and HRM on 9×9")
    ahead: list[str] = []
    level: list[str] = []
    for depth in depths:
        ours, *others = (evidence.score("sudoku", each, "fsr", steps=depth) for each in (SE_RRM, *BASELINES))
        assert ours is not None
        is_ahead = all(each is not None and ours.is_ahead_of(each) for each in others)
        (ahead if is_ahead else level).append(str(depth))
    text = f"Ahead of both at {', '.join(ahead) or 'no'} steps"
    return Finding(not level, f"{text}; not at {', '.join(level)}." if level else f"{text}.")


def _tied(evidence: Evidence) -> Finding:
    scores = evidence.scores("sudoku", (SE_RRM, "se_rrm_untied"), "fsr")
    if len(scores) < 2:
        return missing("SE-RRM tied and untied on 9×9")
    return Finding(scores[0].is_ahead_of(scores[1]), f"FSR: {said(scores)}.")


def _trm_fails(evidence: Evidence) -> Finding:
    variants = ("trm_rope2d_random_halting_published", "trm_rope2d_random_halting")
    scores = evidence.scores("sudoku", variants, "fsr")
    if not scores:
        return missing("TRM with random halting and RoPE2D on 9×9")
    return Finding(all(score.value == 0 for score in scores), f"FSR: {said(scores)}.")


CHECKS: Final[dict[str, Callable[[Evidence], Finding]]] = {
    "margins": _margins,
    "smaller_grids": _smaller_grids,
    "larger_grids": _larger_grids,
    "larger_unsolved": _larger_unsolved,
    "more_steps": _more_steps,
    "every_depth": _every_depth,
    "tied_sudoku": _tied,
    "trm_fails": _trm_fails,
}
