"""Scores of one answer a puzzle with their intervals: solved, right cells, and answers that obey a rule of the task.

Evaluation adds one batch after another to a tally, one for each number of supervision steps. (The paper's sections
"Sudoku" and "Maze".)
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from statistics import NormalDist

import numpy as np
from jaxtyping import Integer

from serrm.puzzles.tasks import Rule


def wilson(successes: float | int, num: int, level: float = 0.95) -> tuple[float, float]:
    """The Wilson score interval of a proportion, without continuity correction, as two fractions in 0..1.

    Successes may be fractional, as the credits of ARC-AGI puzzles with several test inputs are.
    Source: Wilson (1927), https://doi.org/10.1080/01621459.1927.10502953, in its closed form.

    Raises:
        ValueError: no trials, successes outside 0..num, or a level outside 0..1.
    """
    if num < 1:
        raise ValueError(f"a Wilson interval needs at least one trial, not {num}")
    if not 0 <= successes <= num:
        raise ValueError(f"successes must lie in 0..{num}, not {successes}")
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not {level}")
    z = NormalDist().inv_cdf((1 + level) / 2)
    rate = successes / num
    centre = (rate + z**2 / (2 * num)) / (1 + z**2 / num)
    half = z * math.sqrt(rate * (1 - rate) / num + z**2 / (4 * num**2)) / (1 + z**2 / num)
    # Rounding must not push the ends past the rate itself, which they meet at no and at all successes.
    return min(rate, max(0.0, centre - half)), max(rate, min(1.0, centre + half))


def rates(counts: Mapping[str, tuple[int, int]]) -> dict[str, float]:
    """Rates as fractions from (successes, trials) by name, with the ends of their intervals as _lo and _hi.

    ValueError if there were no trials.
    """
    result: dict[str, float] = {}
    for name, (successes, num) in counts.items():
        low, high = wilson(successes, num)
        result |= {name: successes / num, f"{name}_lo": low, f"{name}_hi": high}
    return result


@dataclass
class Tally:
    """Counts over the batches seen so far; constant memory whatever the number of puzzles."""

    blank: int  # the token of the cells that a question leaves to be result
    rules: Mapping[str, Rule] = field(default_factory=dict)
    num_puzzles: int = 0
    num_solved: int = 0
    num_blank: int = 0
    num_right: int = 0
    answers: Counter[int] = field(default_factory=Counter)  # of the blank cells
    num_obeying: Counter[str] = field(default_factory=Counter)  # answers, by rule

    def add(
        self,
        inputs: Integer[np.ndarray, "N I"],
        predictions: Integer[np.ndarray, "N I"],
        targets: Integer[np.ndarray, "N I"],
    ) -> None:
        """Count a batch of N puzzles, all as tokens."""
        is_blank = inputs == self.blank
        self.num_puzzles += len(inputs)
        self.num_solved += int(np.sum((predictions == targets).all(axis=1)))
        self.num_blank += int(np.sum(is_blank))
        self.num_right += int(np.sum(is_blank & (predictions == targets)))
        self.answers += Counter(targets[is_blank].tolist())
        for name, rule in self.rules.items():
            self.num_obeying[name] += int(np.sum(rule(inputs.astype(np.uint8), predictions.astype(np.uint8))))

    def scores(self) -> dict[str, float]:
        """FSR and the rates of rules over puzzles, GPA over blank cells, as fractions, with 95% Wilson intervals.

        `gpa_guess` is the GPA of the best constant answer: one symbol in every blank cell.

        Raises:
            ValueError: nothing was counted, or no puzzle had a blank cell.
        """
        if self.num_blank == 0:
            raise ValueError(f"no blank cell to score in {self.num_puzzles} puzzles")
        counts = {"fsr": (self.num_solved, self.num_puzzles), "gpa": (self.num_right, self.num_blank)}
        counts |= {name: (self.num_obeying[name], self.num_puzzles) for name in self.rules}
        return {**rates(counts), "gpa_guess": max(self.answers.values(), default=0) / self.num_blank}


COUNTS = ("num_puzzles", "num_solved", "num_blank", "num_right", "answers", "num_obeying")


def added_up(tallies: Sequence[Tally]) -> Tally:
    """The sum of several tallies."""
    sums = {name: reduce(add, [getattr(tally, name) for tally in tallies]) for name in COUNTS}
    return replace(tallies[0], **sums)
