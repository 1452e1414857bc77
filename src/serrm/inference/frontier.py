"""Accuracy against compute: what adaptive depth and breadth solve for how many supervision steps a puzzle.

For evaluations, which put the points into the metric file, and through it into table 2's extension and the figure
of depth and breadth. Each point has `mean_steps` (all attempts of a puzzle added up) and FSR with its 95% Wilson
interval. (Table 2 of the paper has fixed depth only.)
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import UInt8

from serrm.inference.adaptive import Job, Plan, solve_adaptively
from serrm.inference.breadth import SYMMETRIES, Found, Way, attempts_at, choose, restarts, search, sees_digits
from serrm.inference.load import LoadedModel
from serrm.progress import watch
from serrm.puzzles.alphabet import alphabet
from serrm.scoring.intervals import wilson

Tokens = UInt8[np.ndarray, "N I"]
Point = dict[str, str | int | float]
RESTARTS, SYMMETRIC = "restarts", "symmetries"


def adaptive_curve(
    loaded: LoadedModel,
    questions: Tokens,
    answers: Tokens,
    side: int,
    plan: Plan,
    max_steps: Sequence[int],
) -> list[Point]:
    """FSR and mean steps when puzzles stop as the plan says, and after `max_steps` at the latest, for each of these.

    All points come from one pass with the largest of them.
    """
    depths = sorted(max_steps)
    longest = replace(plan, max_steps=depths[-1], keeps_history=True)
    jobs = (Job(number, np.asarray(tokens)) for number, tokens in enumerate(questions))
    num_right, num_steps = np.zeros(len(depths), dtype=int), np.zeros(len(depths), dtype=int)
    symbols = alphabet(loaded.cell.task, side).num_symbols
    outcomes = solve_adaptively(loaded.model, jobs, symbols, longest)
    for outcome in watch(outcomes, "adaptive depth", len(questions), unit="puzzle"):
        spent = [min(depth, outcome.steps) for depth in depths]
        num_steps += spent
        num_right += [np.array_equal(outcome.history[s - 1], answers[outcome.key]) for s in spent]
    return [
        {"max_steps": depth, **_point(int(right), int(steps), len(questions))}
        for depth, right, steps in zip(depths, num_right, num_steps, strict=True)
    ]


def breadth_points(
    loaded: LoadedModel,
    questions: Tokens,
    answers: Tokens,
    side: int,
    plan: Plan,
    kind: str,
    nums: Sequence[int],
    seed: int = 0,
) -> list[Point]:
    """FSR and mean steps of as many attempts as each of `nums`, of one kind: "restarts" or "symmetries".

    Where there is a rule a puzzle makes attempts until one is verified. All points come from one pass with the most
    attempts; mazes have eight symmetries.
    """
    ways = ways_of(loaded, side, kind, max(nums), seed)
    puzzles = ((number, attempts_at(np.asarray(tokens), ways)) for number, tokens in enumerate(questions))
    counts = {num: np.zeros(2, dtype=int) for num in sorted(nums) if num <= len(ways)}
    symbols = alphabet(loaded.cell.task, side).num_symbols
    answers_found = search(loaded.model, puzzles, symbols, plan)
    for found in watch(answers_found, kind, len(questions), unit="puzzle"):
        for num, count in counts.items():
            count += _right_and_steps(found, num, answers[found.key])
    return [
        {
            "kind": kind,
            "num": num,
            "max_steps": plan.max_steps,
            **_point(int(right), int(steps), len(questions)),
        }
        for num, (right, steps) in counts.items()
    ]


def ways_of(loaded: LoadedModel, side: int, kind: str, num: int, seed: int) -> list[Way]:
    """`num` attempts of a kind. ValueError for another kind, or a task without symmetries."""
    if kind == RESTARTS:
        return restarts(loaded.model, num, torch.Generator().manual_seed(seed))
    if kind != SYMMETRIC or loaded.cell.task not in SYMMETRIES:
        raise ValueError(f"no breadth of the kind {kind!r} for {loaded.cell.task}")
    rng, has_digits = np.random.default_rng([seed, side]), sees_digits(loaded.cell.model)
    return SYMMETRIES[loaded.cell.task](side, num, rng, has_digits=has_digits)


def _right_and_steps(found: Found, num: int, answer: UInt8[np.ndarray, " I"]) -> tuple[bool, int]:
    """Whether the first `num` attempts give the answer, and what they took."""
    attempts = found.attempts[:num]
    is_right = np.array_equal(choose(attempts).prediction, answer)
    return is_right, sum(attempt.steps for attempt in attempts)


def _point(num_right: int, num_steps: int, num: int) -> Point:
    low, high = wilson(num_right, num)
    return {"mean_steps": num_steps / num, "fsr": num_right / num, "fsr_lo": low, "fsr_hi": high}
