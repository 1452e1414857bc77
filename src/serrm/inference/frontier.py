"""Accuracy against compute: what adaptive depth and breadth solve for how many supervision steps a puzzle.

For evaluations, which put the points into the metric file, and through it into table 2's extension and the figure
of depth and breadth. Each point has `mean_steps` (all attempts of a puzzle added up) and FSR with its 95% Wilson
interval. (Table 2 of the paper has fixed depth only.)
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Int

from serrm.arrays.puzzles import PuzzleArrays
from serrm.inference.adaptive import Job, Plan, solve_adaptively
from serrm.inference.breadth import Way, attempts_at, choose, restarts, search, sees_digits
from serrm.inference.load import LoadedModel
from serrm.inference.tasks import TASKS
from serrm.progress import watch
from serrm.scoring.intervals import rates

Point = dict[str, str | int | float]
RESTARTS, SYMMETRIC = "restarts", "symmetries"


def adaptive_curve(
    loaded: LoadedModel, puzzles: PuzzleArrays, plan: Plan, max_steps: Sequence[int]
) -> list[Point]:
    """FSR and mean steps when puzzles stop as the plan says, and after `max_steps` at the latest, for each of these.

    All points come from one pass with the largest of them.
    """
    depths, num = sorted(max_steps), len(puzzles)
    longest = replace(plan, max_steps=depths[-1], keeps_history=True)
    jobs = (Job(number, np.asarray(tokens)) for number, tokens in enumerate(puzzles.questions))
    counts = {depth: np.zeros(2, dtype=int) for depth in depths}
    outcomes = solve_adaptively(loaded.model, jobs, puzzles.num_symbols, longest)
    for outcome in watch(outcomes, "adaptive depth", num, unit="puzzle"):
        for depth, count in counts.items():
            spent = min(depth, outcome.steps)
            is_right = np.array_equal(outcome.history[spent - 1], puzzles.answers[outcome.key])
            count += is_right, spent
    return [{"max_steps": depth, **_point(count, num)} for depth, count in counts.items()]


def breadth_points(
    loaded: LoadedModel, puzzles: PuzzleArrays, plan: Plan, kind: str, nums: Sequence[int], seed: int = 0
) -> list[Point]:
    """FSR and mean steps of as many attempts as each of `nums`, of one kind: "restarts" or "symmetries".

    Where there is a rule a puzzle makes attempts until one is verified. All points come from one pass with the most
    attempts; mazes have eight symmetries.
    """
    ways = ways_of(loaded, puzzles.side, kind, max(nums), seed)
    asked = ((n, attempts_at(np.asarray(tokens), ways)) for n, tokens in enumerate(puzzles.questions))
    counts = {num: np.zeros(2, dtype=int) for num in sorted(nums) if num <= len(ways)}
    answers = search(loaded.model, asked, puzzles.num_symbols, plan)
    for found in watch(answers, kind, len(puzzles), unit="puzzle"):
        for num, count in counts.items():
            attempts = found.attempts[:num]
            is_right = np.array_equal(choose(attempts).prediction, puzzles.answers[found.key])
            count += is_right, sum(attempt.steps for attempt in attempts)
    return [
        {"kind": kind, "num": num, "max_steps": plan.max_steps, **_point(count, len(puzzles))}
        for num, count in counts.items()
    ]


def ways_of(loaded: LoadedModel, side: int, kind: str, num: int, seed: int) -> list[Way]:
    """`num` attempts of a kind. ValueError for another kind, or a task without symmetries."""
    if kind == RESTARTS:
        return restarts(loaded.model, num, torch.Generator().manual_seed(seed))
    symmetries = TASKS[loaded.cell.task].symmetries
    if kind != SYMMETRIC or symmetries is None:
        raise ValueError(f"no breadth of the kind {kind!r} for {loaded.cell.task}")
    return symmetries(side, num, np.random.default_rng([seed, side]), sees_digits(loaded.cell.model))


def _point(count: Int[np.ndarray, "2"], num: int) -> Point:
    num_right, num_steps = (int(each) for each in count)
    return {"mean_steps": num_steps / num, **rates({"fsr": (num_right, num)})}
