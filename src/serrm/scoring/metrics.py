"""Fully solved rate and grid-point accuracy of Sudoku predictions (the paper's Sudoku section).

Evaluation adds one batch after another to a `SudokuTally`, one tally for each number of supervision steps.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Bool, Integer

from serrm.scoring.intervals import wilson

T = TypeVar("T")
BLANK = 1  # the token of a blank cell; tokens 2 and up are the digits 1 and up


def solved(
    predictions: Integer[np.ndarray, "N I"], targets: Integer[np.ndarray, "N I"]
) -> Bool[np.ndarray, " N"]:
    """Which of the N puzzles have every cell right, the given cells included."""
    is_solved: Bool[np.ndarray, " N"] = np.all(predictions == targets, axis=1)
    return is_solved


def blank_hits(
    inputs: Integer[np.ndarray, "N I"],
    predictions: Integer[np.ndarray, "N I"],
    targets: Integer[np.ndarray, "N I"],
    blank: int = BLANK,
) -> tuple[int, int]:
    """How many of the cells that are blank in the inputs are predicted right, and how many there are."""
    is_blank = inputs == blank
    return int(np.sum(is_blank & (predictions == targets))), int(np.sum(is_blank))


def blank_answers(
    inputs: Integer[np.ndarray, "N I"], targets: Integer[np.ndarray, "N I"], blank: int = BLANK
) -> Counter[int]:
    """How often each token is the answer of a cell that is blank in the inputs."""
    return Counter(targets[inputs == blank].tolist())


def added_up(tallies: Sequence[T]) -> T:
    """One tally of what several have counted; their fields are counts alone."""
    kind: Any = type(tallies[0])
    total: T = kind(
        **{name: reduce(add, [vars(tally)[name] for tally in tallies]) for name in vars(tallies[0])}
    )
    return total


@dataclass
class SudokuTally:
    """Counts over the batches seen so far; constant memory whatever the number of puzzles."""

    num_puzzles: int = 0
    num_solved: int = 0
    num_blank: int = 0
    num_right: int = 0
    answers: Counter[int] = field(default_factory=Counter)  # of the blank cells

    def add(
        self,
        inputs: Integer[np.ndarray, "N I"],
        predictions: Integer[np.ndarray, "N I"],
        targets: Integer[np.ndarray, "N I"],
    ) -> None:
        """Count a batch of N puzzles, all as tokens."""
        num_right, num_blank = blank_hits(inputs, predictions, targets)
        self.num_puzzles += len(inputs)
        self.num_solved += int(np.sum(solved(predictions, targets)))
        self.num_blank += num_blank
        self.num_right += num_right
        self.answers += blank_answers(inputs, targets)

    def scores(self) -> dict[str, float]:
        """FSR over puzzles and GPA over blank cells, as fractions, with their 95% Wilson intervals.

        `gpa_guess` is the GPA of whoever writes one and the same symbol, the best, into every blank cell.

        Raises:
            ValueError: nothing was counted, or no puzzle had a blank cell.
        """
        if self.num_blank == 0:
            raise ValueError(f"no blank cell to score in {self.num_puzzles} puzzles")
        fsr_lo, fsr_hi = wilson(self.num_solved, self.num_puzzles)
        gpa_lo, gpa_hi = wilson(self.num_right, self.num_blank)
        return {
            "fsr": self.num_solved / self.num_puzzles,
            "fsr_lo": fsr_lo,
            "fsr_hi": fsr_hi,
            "gpa": self.num_right / self.num_blank,
            "gpa_lo": gpa_lo,
            "gpa_hi": gpa_hi,
            "gpa_guess": max(self.answers.values(), default=0) / self.num_blank,
        }
