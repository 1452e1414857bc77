"""ARC-AGI scores: the predictions of all variants of a test input are votes, and the most voted grids its answers.

Predictions come back in the frame of the puzzle (`serrm.arrays.arc`). Identical grids are pooled and
ranked by votes, then by mean confidence; a test input counts at k if its answer is among the first k, and a puzzle's
credit is the fraction of its test inputs that count. One checkpoint, one tally. Paper: section "ARC-AGI", table 3.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from serrm.puzzles.arc import Grid
from serrm.scoring.metrics import wilson

KS = (1, 2, 5, 10, 100, 1000)
# Confidences are added up as whole numbers of this part, so that the order they come in does not matter.
CONFIDENCE_UNIT = 2.0**-64
# Stands for a missing or empty prediction: a grid without cells is no attempt. It is no answer of any published puzzle.
PLACEHOLDER = np.zeros((2, 2), dtype=np.uint8)

Key = tuple[int, int, bytes]  # rows, columns and cells of a grid
Submission = dict[str, list[dict[str, list[list[int]]]]]


class Pool(NamedTuple):
    """Votes for one grid, and the sum of their confidences in units."""

    num_votes: int
    confidence: int


@dataclass
class ArcTally:
    """The votes of one checkpoint; `answers` are those to the test inputs of each puzzle, by its name.

    Memory grows with the number of different grids, at most 1.2 kB each: 0.5 GB if all 1,000 variants of 419 test
    inputs gave another grid of 30 × 30.
    """

    answers: Mapping[str, Sequence[Grid]]
    pools: dict[tuple[str, int], dict[Key, Pool]] = field(default_factory=dict)

    def add(self, puzzle: str, test: int, grid: Grid, confidence: float) -> None:
        """Count the prediction of one variant for a test input. ValueError for a confidence not within 0 to 1."""
        assert 0 <= test < len(self.answers[puzzle]), "a test input with an answer"
        if not 0 <= confidence <= 1:
            raise ValueError(f"a confidence must lie in 0..1, not {confidence}")
        pools, key = self.pools.setdefault((puzzle, test), {}), grid_key(grid)
        num_votes, total = pools.get(key, Pool(0, 0))
        pools[key] = Pool(num_votes + 1, total + int(confidence / CONFIDENCE_UNIT))

    def include(self, other: "ArcTally") -> None:
        """Count the votes of another tally of the same answers, too; the order does not matter."""
        for question, pools in other.pools.items():
            own = self.pools.setdefault(question, {})
            for key, pool in pools.items():
                num_votes, total = own.get(key, Pool(0, 0))
                own[key] = Pool(num_votes + pool.num_votes, total + pool.confidence)

    def ranking(self, puzzle: str, test: int) -> list[Grid]:
        """The grids predicted for a test input, best first; none if there was no prediction.

        Ties in votes and confidence are in the order of rows, columns and cells.
        """
        return [key_grid(key) for key in _ranked(self.pools.get((puzzle, test), {}))]

    def scores(self) -> dict[str, float]:
        """`pass_at_k` for every k with its 95% Wilson interval over puzzles, as fractions.

        A test input without prediction counts as wrong. ValueError if there are no puzzles.
        """
        ranks = {
            puzzle: [self._rank(puzzle, test) for test in range(len(answers))]
            for puzzle, answers in self.answers.items()
        }
        scores: dict[str, float] = {}
        for k in KS:
            credits = [
                sum(rank is not None and rank < k for rank in of_puzzle) / len(of_puzzle)
                for of_puzzle in ranks.values()
            ]
            total = math.fsum(credits)
            scores[f"pass_at_{k}_lo"], scores[f"pass_at_{k}_hi"] = wilson(total, len(credits))
            scores[f"pass_at_{k}"] = total / len(credits)
        return scores

    def _rank(self, puzzle: str, test: int) -> int | None:
        """Number of grids that rank before the answer; None if it was not predicted."""
        pools, answer = self.pools.get((puzzle, test), {}), grid_key(self.answers[puzzle][test])
        return _ranked(pools).index(answer) if answer in pools else None


def grid_key(grid: Grid) -> Key:
    """A key by which grids are identical: shape and cells; all grids without cells have the same."""
    num_rows, num_columns = grid.shape if grid.size else (0, 0)
    return num_rows, num_columns, grid.tobytes()


def key_grid(key: Key) -> Grid:
    """The grid with this key."""
    num_rows, num_columns, cells = key
    grid: Grid = np.frombuffer(cells, dtype=np.uint8).reshape(num_rows, num_columns)
    return grid


def _ranked(pools: Mapping[Key, Pool]) -> list[Key]:
    # Where votes are equal, sums of confidences are in the order of their means.
    return sorted(pools, key=lambda key: (-pools[key].num_votes, -pools[key].confidence, key))


def submission(tally: ArcTally) -> Submission:
    """Kaggle's submission.json: the two best grids for every test input, placeholders where there are none.

    Format: https://www.kaggle.com/competitions/arc-prize-2025/overview/evaluation.
    """
    return {
        puzzle: [_attempts(tally.ranking(puzzle, test)) for test in range(len(answers))]
        for puzzle, answers in tally.answers.items()
    }


def _attempts(ranking: Sequence[Grid]) -> dict[str, list[list[int]]]:
    grids = [grid if grid.size else PLACEHOLDER for grid in ranking]
    first, second, *_ = (*grids, PLACEHOLDER, PLACEHOLDER)
    return {"attempt_1": first.tolist(), "attempt_2": second.tolist()}
