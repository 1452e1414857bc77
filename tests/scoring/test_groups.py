"""Scores by group, and intervals over units of puzzles that are not independent."""

import numpy as np
import pytest

from serrm.scoring.groups import clustered_wilson, effective_number, group_scores
from serrm.scoring.metrics import wilson


def test_without_units_of_several_puzzles_the_interval_is_wilsons() -> None:
    values = np.array([1.0, 0, 1, 1, 0.5])
    assert clustered_wilson(values, [*"abcde"]) == pytest.approx(wilson(3.5, 5))


def test_units_that_are_solved_together_count_once() -> None:
    by_unit = np.random.default_rng(0).integers(0, 2, 400).astype(np.float64)
    values, units = np.repeat(by_unit, 4), np.repeat(np.arange(400), 4).astype(str).tolist()
    assert effective_number(values, units) == pytest.approx(400, rel=0.02)
    assert effective_number(np.zeros(1600), units) == 400
    assert effective_number(np.ones(8), ["a"] * 8) == 1


def test_the_interval_covers_the_rate_of_correlated_puzzles() -> None:
    """Of 100 puzzles in 25 units whose rates differ, Wilson's interval over puzzles covers too seldom."""
    rng, units = np.random.default_rng(0), np.repeat(np.arange(25), 4).astype(str).tolist()
    covered = dict.fromkeys(("clustered", "independent"), 0)
    for _ in range(1000):
        rates = np.repeat(rng.beta(0.4, 0.4, 25), 4)
        values = (rng.random(100) < rates).astype(np.float64)
        for name, (low, high) in {
            "clustered": clustered_wilson(values, units),
            "independent": wilson(float(values.sum()), 100),
        }.items():
            covered[name] += low <= 0.5 <= high
    assert covered["independent"] < 850 and 930 <= covered["clustered"] <= 975


def test_groups_have_their_puzzles_units_and_credits() -> None:
    scores = group_scores(np.array([1.0, 0.5, 0]), {"family": ["turn", "fill", "turn"]}, ["r", "s", "r"])
    turn, fill = scores["family"]["turn"], scores["family"]["fill"]
    assert (turn.num_puzzles, turn.num_units, turn.num_solved) == (2, 1, 1)
    assert (fill.num_puzzles, fill.num_units, fill.num_solved) == (1, 1, 0.5)
    assert fill.low == pytest.approx(wilson(0.5, 1)[0])
