"""Scores with their intervals: every metric (`serrm.scoring.metrics`) over the answers of a set, and ARC-AGI's pass@k.

There is one tally per number of supervision steps. On ARC-AGI the predictions for all variants of a test input,
transformed back (`serrm.arrays.arc`), are votes: identical grids are pooled and ranked by votes, then by mean
confidence. A test input counts at k if its answer is among the first k, and a puzzle's credit is the fraction of its
test inputs that count. (The paper's sections "Sudoku", "Maze" and "ARC-AGI".)
"""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from jaxtyping import UInt8

from serrm.puzzles.arc.grids import Grid
from serrm.puzzles.task import GridTask
from serrm.puzzles.tasks import grid_task
from serrm.scoring.groups import clustered_wilson
from serrm.scoring.metrics import PASS_AT, Batch, Metric, metrics_of, wilson
from serrm.scoring.predictions import CHUNK, SetPredictions


@dataclass
class Tally:
    """Sums over the batches seen so far, in constant memory whatever the number of puzzles."""

    task: GridTask
    metrics: Mapping[str, Metric]
    sums: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """The sums of every metric's values, by the names that its statistic gives them; "num" and "total" in all."""
    cells_by_answer: Counter[int] = field(default_factory=Counter)
    """The number of blank cells by the token of their right answer."""

    def add(
        self,
        inputs: UInt8[np.ndarray, "N I"],
        predictions: UInt8[np.ndarray, "N I"],
        targets: UInt8[np.ndarray, "N I"],
    ) -> None:
        """Count a batch of N puzzles, all as tokens."""
        batch = Batch(inputs, predictions, targets, self.task)
        for name, metric in self.metrics.items():
            assert metric.values is not None, "metrics of votes are counted by ArcTally"
            self.sums[name].update(metric.statistic.sums(metric.values(batch)))
        self.cells_by_answer.update(targets[batch.is_open].tolist())

    def scores(self) -> dict[str, float]:
        """Compute the mean of every metric's values with what its 95% interval needs, rates as fractions.

        `gpa_guess` is the GPA of the best constant answer: one symbol in every blank cell.

        Raises:
            ValueError: nothing was counted, or no puzzle had a blank cell.
        """
        num_blank, result = self.sums["gpa"]["num"], dict[str, float]()
        if num_blank == 0:
            raise ValueError(f"no blank cell to score in {self.sums['fsr']['num']} puzzles")
        for name, metric in self.metrics.items():
            if self.sums[name]["num"]:
                result |= metric.statistic.scores(name, self.sums[name])
        return result | {"gpa_guess": max(self.cells_by_answer.values()) / num_blank}


def tally_of(predictions: SetPredictions, task: str, step: int) -> Tally:
    """Count the predictions for a set after a number of supervision steps."""
    tally, tokens = Tally(grid_task(task), metrics_of(task)), predictions.after[step].prediction
    for start in range(0, len(tokens), CHUNK):
        chunk = slice(start, min(start + CHUNK, len(tokens)))
        tally.add(
            *(np.asarray(grids[chunk]) for grids in (predictions.questions, tokens, predictions.answers))
        )
    return tally


# Confidences are added as whole numbers of this unit, so their order does not matter.
CONFIDENCE_UNIT = 2.0**-64
# Stands for a missing or empty prediction, as a grid without cells is no attempt. No published puzzle has this answer.
PLACEHOLDER = np.zeros((2, 2), dtype=np.uint8)

Key = tuple[int, int, bytes]  # rows, columns and cells of a grid
Submission = dict[str, list[dict[str, list[list[int]]]]]


class Pool(NamedTuple):
    """Votes for one grid, and the sum of their confidences in units."""

    num_votes: int
    confidence: int


@dataclass
class ArcTally:
    """The votes of one checkpoint; `answers` has the right answers to each puzzle's test inputs, by its name.

    `units` has the unit of every puzzle by its name, if puzzles are not independent (`serrm.scoring.groups`).

    Memory grows with the number of different grids, at most 1.2 kB per grid: 0.5 GB if all 1,000
    variants of 419 test inputs gave different grids of 30 × 30.
    """

    answers: Mapping[str, Sequence[Grid]]
    units: Mapping[str, str] | None = None
    pools: dict[tuple[str, int], dict[Key, Pool]] = field(default_factory=dict)

    def add(self, puzzle: str, test: int, grid: Grid, confidence: float) -> None:
        """Count the prediction for one variant of a test input. ValueError for a confidence not within 0 to 1."""
        assert 0 <= test < len(self.answers[puzzle]), "a test input with an answer"
        add_vote(self.pools.setdefault((puzzle, test), {}), grid, confidence)

    def include(self, other: "ArcTally") -> None:
        """Add the votes of another tally for the same answers; the order does not matter."""
        for question, pools in other.pools.items():
            merged = self.pools.setdefault(question, {})
            for key, pool in pools.items():
                num_votes, total = merged.get(key, Pool(0, 0))
                merged[key] = Pool(num_votes + pool.num_votes, total + pool.confidence)

    def ranking(self, puzzle: str, test: int) -> list[Grid]:
        """Rank the grids predicted for a test input, best first; none if there was no prediction.

        Ties in votes and confidence are in the order of rows, columns and cells.
        """
        return [key_grid(key) for key in ranked(self.pools.get((puzzle, test), {}))]

    def scores(self) -> dict[str, float]:
        """Compute `pass_at_k` for every k with its 95% Wilson interval over puzzles or their units, as fractions.

        A test input without prediction counts as wrong. ValueError if there are no puzzles.
        """
        ranks, scores = self._ranks(), dict[str, float]()
        for k in PASS_AT:
            credits = _credits(ranks, k)
            total = math.fsum(credits.values())
            low, high = wilson(total, len(credits))
            if self.units is not None:
                values = np.array([*credits.values()], dtype=np.float64)
                low, high = clustered_wilson(values, [self.units[puzzle] for puzzle in credits])
            scores[f"pass_at_{k}_lo"], scores[f"pass_at_{k}_hi"] = low, high
            scores[f"pass_at_{k}"] = total / len(credits)
        return scores

    def credits(self, k: int) -> dict[str, float]:
        """Compute the share of each puzzle's test inputs whose right answer is among the first k, by its name."""
        return _credits(self._ranks(), k)

    def best(self, puzzle: str, test: int) -> tuple[Grid, float]:
        """Find the grid with most votes for a test input and their mean confidence; an empty grid and 0 without."""
        pools = self.pools.get((puzzle, test), {})
        if not pools:
            return np.zeros((0, 0), dtype=np.uint8), 0.0
        key = ranked(pools)[0]
        return key_grid(key), pools[key].confidence * CONFIDENCE_UNIT / pools[key].num_votes

    def is_solved(self, puzzle: str, test: int, k: int) -> bool:
        """Return True if the right answer to a test input is among the first k."""
        rank = self._rank(puzzle, test)
        return rank is not None and rank < k

    def _ranks(self) -> dict[str, list[int | None]]:
        return {
            puzzle: [self._rank(puzzle, test) for test in range(len(answers))]
            for puzzle, answers in self.answers.items()
        }

    def _rank(self, puzzle: str, test: int) -> int | None:
        """Count the grids that rank before the answer; None if it was not predicted."""
        pools, answer = self.pools.get((puzzle, test), {}), grid_key(self.answers[puzzle][test])
        return ranked(pools).index(answer) if answer in pools else None


def _credits(ranks: Mapping[str, Sequence[int | None]], k: int) -> dict[str, float]:
    return {
        puzzle: sum(rank is not None and rank < k for rank in puzzle_ranks) / len(puzzle_ranks)
        for puzzle, puzzle_ranks in ranks.items()
    }


def grid_key(grid: Grid) -> Key:
    """Make a key that is equal for identical grids; all grids without cells have the same key."""
    num_rows, num_columns = grid.shape if grid.size else (0, 0)
    return num_rows, num_columns, grid.tobytes()


def key_grid(key: Key) -> Grid:
    """Make the grid with this key."""
    num_rows, num_columns, cells = key
    grid: Grid = np.frombuffer(cells, dtype=np.uint8).reshape(num_rows, num_columns)
    return grid


def add_vote(pools: dict[Key, Pool], grid: Grid, confidence: float) -> None:
    """Add a vote for a grid to those of its test input. ValueError for a confidence not within 0 to 1."""
    if not 0 <= confidence <= 1:
        raise ValueError(f"a confidence must lie in 0..1, not {confidence}")
    key = grid_key(grid)
    num_votes, total = pools.get(key, Pool(0, 0))
    pools[key] = Pool(num_votes + 1, total + int(confidence / CONFIDENCE_UNIT))


def ranked(pools: Mapping[Key, Pool]) -> list[Key]:
    """Rank grids by votes, then by mean confidence, then in the order of rows, columns and cells."""
    # If votes are equal, sums of confidences have the order of their means.
    return sorted(pools, key=lambda key: (-pools[key].num_votes, -pools[key].confidence, key))


def submission(tally: ArcTally) -> Submission:
    """Fill Kaggle's submission.json with the two best grids for every test input, and placeholders.

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
