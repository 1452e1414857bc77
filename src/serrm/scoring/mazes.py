"""Scores of maze predictions: exact match as in the paper, and whether the path is valid and shortest.

No maze of Maze-Hard has a unique shortest path, so exact match also tests the tie-breaking of the labels; the rates of
valid paths do not. Evaluation adds one batch after another to a `MazeTally`. Paper: section "Maze".
"""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Integer

from serrm.puzzles.maze.grid import SPACE
from serrm.puzzles.maze.paths import are_shortest_paths, are_valid_paths
from serrm.scoring.intervals import wilson
from serrm.scoring.metrics import blank_answers, blank_hits, solved


@dataclass
class MazeTally:
    """Counts over the batches seen so far; constant memory whatever the number of mazes."""

    num_puzzles: int = 0
    num_solved: int = 0
    num_valid: int = 0
    num_shortest: int = 0
    num_blank: int = 0
    num_right: int = 0
    answers: Counter[int] = field(default_factory=Counter)  # of the blank cells

    def add(
        self,
        inputs: Integer[np.ndarray, "N I"],
        predictions: Integer[np.ndarray, "N I"],
        targets: Integer[np.ndarray, "N I"],
    ) -> None:
        """Count a batch of N mazes, all as tokens. ValueError if an input is no maze."""
        num_right, num_blank = blank_hits(inputs, predictions, targets, SPACE)
        questions, answers = inputs.astype(np.uint8), predictions.astype(np.uint8)
        is_valid = are_valid_paths(questions, answers)
        self.num_puzzles += len(inputs)
        self.num_solved += int(np.sum(solved(predictions, targets)))
        self.num_valid += int(np.sum(is_valid))
        self.num_shortest += int(np.sum(are_shortest_paths(questions[is_valid], answers[is_valid])))
        self.num_blank += num_blank
        self.num_right += num_right
        self.answers += blank_answers(inputs, targets, SPACE)

    def scores(self) -> dict[str, float]:
        """The rates as fractions, with their 95% Wilson intervals.

        `fsr`: every cell right; `valid`: a path from start to goal and nothing else; `valid_shortest`: and none is
        shorter, all three over mazes. `gpa`: right cells over those that are spaces in the input; `gpa_guess`: the
        GPA of one and the same token, the best, in all of them.

        Raises:
            ValueError: nothing was counted, or no maze had a space.
        """
        if self.num_blank == 0:
            raise ValueError(f"no blank cell to score in {self.num_puzzles} mazes")
        counts = {
            "fsr": (self.num_solved, self.num_puzzles),
            "gpa": (self.num_right, self.num_blank),
            "valid": (self.num_valid, self.num_puzzles),
            "valid_shortest": (self.num_shortest, self.num_puzzles),
        }
        scores = {"gpa_guess": max(self.answers.values(), default=0) / self.num_blank}
        for name, (num_right, num) in counts.items():
            low, high = wilson(num_right, num)
            scores |= {name: num_right / num, f"{name}_lo": low, f"{name}_hi": high}
        return scores
