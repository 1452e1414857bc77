"""Accuracy against compute: what adaptive depth and breadth solve for how many supervision steps a puzzle.

For evaluations, which put the points into the metric file, and through it into table 2's extension and the figure
of depth and breadth. Each point has `mean_steps` (all attempts of a puzzle added up) and FSR with its 95% Wilson
interval. (Table 2 of the paper has fixed depth only.)
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from serrm.arrays.puzzles import PuzzleArrays
from serrm.inference.adaptive import Plan
from serrm.inference.breadth import Attempts, Found, Way, attempts_at, choose, search
from serrm.inference.guessing import Tokens, guesses
from serrm.inference.load import LoadedModel
from serrm.inference.tasks import TASKS, WAYS
from serrm.progress import watch
from serrm.scoring.intervals import rates

Point = dict[str, str | int | float]
# What is found for a puzzle → the prediction that counts as its answer, and the supervision steps it took.
Reading = Callable[[Found], tuple[Tokens, int]]


def adaptive_curve(
    loaded: LoadedModel, puzzles: PuzzleArrays, plan: Plan, max_steps: Sequence[int]
) -> list[Point]:
    """FSR and mean steps when puzzles stop as the plan says, and after `max_steps` at the latest, for each of these.

    All points come from one pass with the largest of them.
    """

    def after(depth: int, found: Found) -> tuple[Tokens, int]:
        return found.chosen.history[:depth][-1], min(depth, found.chosen.steps)

    longest = replace(plan, max_steps=max(max_steps), keeps_history=True)
    readings = {depth: partial(after, depth) for depth in sorted(max_steps)}
    plain = partial(attempts_at, ways=[Way()])
    points = _points(loaded, puzzles, longest, plain, "adaptive depth", readings)
    return [{"max_steps": depth, **point} for depth, point in points.items()]


def breadth_points(
    loaded: LoadedModel, puzzles: PuzzleArrays, plan: Plan, kind: str, nums: Sequence[int], seed: int = 0
) -> list[Point]:
    """FSR and mean steps of as many attempts as each of `nums`, of one kind: "restarts", "symmetries" or "guesses".

    Where there is a rule a puzzle makes attempts until one is verified. All points come from one pass with the most
    attempts; mazes have eight symmetries.
    """

    def of_first(num: int, found: Found) -> tuple[Tokens, int]:
        attempts = found.attempts[:num]
        return choose(attempts).prediction, sum(attempt.steps for attempt in attempts)

    if kind == "guesses":
        blank, most = TASKS[loaded.cell.task].blank, max(nums)
        assert blank is not None, "only where there are blanks to fill in"
        attempts = partial(guesses, num=most, blank=blank, num_symbols=puzzles.num_symbols)
    else:
        ways = WAYS[kind](loaded, puzzles.side, max(nums), seed)
        attempts, most = partial(attempts_at, ways=ways), len(ways)
    readings = {num: partial(of_first, num) for num in sorted(nums) if num <= most}
    points = _points(loaded, puzzles, plan, attempts, kind, readings)
    return [{"kind": kind, "num": num, "max_steps": plan.max_steps, **point} for num, point in points.items()]


def _points(
    loaded: LoadedModel,
    puzzles: PuzzleArrays,
    plan: Plan,
    attempts: Callable[[Tokens], Attempts],
    what: str,
    readings: Mapping[int, Reading],
) -> dict[int, Point]:
    """FSR and mean steps by each reading of what one pass finds."""
    num = len(puzzles)
    asked = ((n, attempts(np.asarray(tokens))) for n, tokens in enumerate(puzzles.questions))
    counts = {key: np.zeros(2, dtype=int) for key in readings}
    answers = search(loaded.model, asked, puzzles.num_symbols, plan)
    for found in watch(answers, what, num, unit="puzzle"):
        for key, reading in readings.items():
            prediction, num_steps = reading(found)
            counts[key] += np.array_equal(prediction, puzzles.answers[found.key]), num_steps
    return {
        key: {"mean_steps": int(num_steps) / num, **rates({"fsr": (int(num_right), num)})}
        for key, (num_right, num_steps) in counts.items()
    }
