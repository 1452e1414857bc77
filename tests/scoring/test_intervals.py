"""Differences of scores: against published intervals, by simulation, and what more seeds and more puzzles change."""

import math

import numpy as np
import pytest
from scipy.stats import ttest_ind, ttest_rel

from serrm.scoring.intervals import Difference, difference, newcombe_correlation
from serrm.scoring.metrics import wilson


def seeds(*numbers_solved: float, num: int = 100) -> list[tuple[float, float, float]]:
    return [(solved / num, *wilson(solved, num)) for solved in numbers_solved]


def pairs(a: int, b: int, c: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes of puzzles that both models solve, only the first, only the second, and neither."""
    return np.repeat([1.0, 1, 0, 0], [a, b, c, d]), np.repeat([1.0, 0, 1, 0], [a, b, c, d])


def of_pairs(first: np.ndarray, second: np.ndarray) -> Difference:
    one, other = (seeds(float(outcomes.sum()), num=len(outcomes)) for outcomes in (first, second))
    return difference(one, other, correlation=newcombe_correlation(first, second))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    # Newcombe (1998), 17:873, table II, method 10: the cases that the paper prints.
    [
        ((56, 70), (48, 80), (0.2, 0.0524, 0.3339)),
        ((9, 10), (3, 10), (0.6, 0.1705, 0.8090)),
        ((6, 7), (2, 7), (0.5714, 0.0582, 0.8062)),
        ((5, 56), (0, 29), (0.0893, -0.0381, 0.1926)),
        ((0, 10), (0, 20), (0.0, -0.1611, 0.2775)),
        ((10, 10), (0, 10), (1.0, 0.6075, 1.0)),
    ],
)
def test_of_different_puzzles_it_is_newcombes_interval(
    first: tuple[int, int], second: tuple[int, int], expected: tuple[float, ...]
) -> None:
    found = difference(seeds(first[0], num=first[1]), seeds(second[0], num=second[1]))
    assert found == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("table", "low", "high"),
    [
        ((36, 12, 2, 0), 0.0569, 0.3404),  # Newcombe (1998), 17:2635, method 10
        ((14, 5, 0, 22), 0.011, 0.226),  # Altman et al., Statistics with Confidence (2000), table 6.2
        ((1, 1, 7, 12), -0.507, -0.026),  # Fagerland et al. (2014), https://doi.org/10.1002/sim.6148
    ],
)
def test_paired_intervals_are_newcombes(table: tuple[int, int, int, int], low: float, high: float) -> None:
    assert of_pairs(*pairs(*table))[1:] == pytest.approx((low, high), abs=6e-4)
    same = of_pairs(*pairs(0, 0, 0, 6))
    assert same.low < 0 < same.high, "without outcomes it has a width"


@pytest.mark.parametrize("has_parts", [False, True])
@pytest.mark.parametrize(("num", "rate", "gain"), [(20, 0.1, 0.03), (77, 0.02, 0.02), (200, 0.7, 0.1)])
def test_the_paired_interval_covers_differences(num: int, rate: float, gain: float, has_parts: bool) -> None:
    """Puzzles, of which the same are easy for both models, with one test input each or half of them with two."""
    rng, hits = np.random.default_rng(0), 0
    for _ in range(400):
        luck = rng.random((2, num))
        other = np.where(rng.random((2, num)) < 0.8, luck, rng.random((2, num)))
        solved = [(luck < rate).astype(float), (other < rate + gain).astype(float)]
        is_halved = has_parts & (rng.random(num) < 0.5)
        first, second = (np.where(is_halved, inputs.mean(axis=0), inputs[0]) for inputs in solved)
        found = of_pairs(first, second)
        hits += found.low <= -gain <= found.high
    assert hits / 400 > 0.93


@pytest.mark.parametrize(("first", "second"), [((60, 64, 71), (50, 51, 49)), ((60, 75, 81), (50, 66, 70))])
def test_over_seeds_it_is_welchs_or_the_paired_one(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    """Many puzzles leave the interval over seeds, here of scipy."""
    num = 10**9
    scores = [seeds(*(each * num // 100 for each in solved), num=num) for solved in (first, second)]
    welchs, paired = ttest_ind(first, second, equal_var=False), ttest_rel(first, second)
    found, expected = difference(*scores), welchs.confidence_interval(0.95)
    assert 100 * np.array(found[1:]) == pytest.approx(expected, abs=0.02)
    found, expected = difference(*scores, has_same_runs=True), paired.confidence_interval(0.95)
    assert 100 * np.array(found[1:]) == pytest.approx(expected, abs=0.02)


def test_seeds_that_differ_widen_the_interval_and_equal_seeds_do_not() -> None:
    one, other = seeds(60), seeds(40)
    alone = difference(one, other)
    assert difference(seeds(60, 60, 60), seeds(40, 40, 40)) == pytest.approx(alone)
    wide = difference(seeds(55, 60, 65), seeds(38, 40, 42))
    assert wide.low < alone.low < 0.2 < alone.high < wide.high
    single = difference(seeds(55, 60, 65), other)
    assert single.low < alone.low, "one seed is taken to vary as much as the other model's"
    assert difference(seeds(55, 60, 65), seeds(38, 40, 42)).value == pytest.approx(alone.value)


def test_the_other_way_round_it_is_the_negative() -> None:
    forth, back = (difference(*pair) for pair in ((seeds(9, 14), seeds(2)), (seeds(2), seeds(9, 14))))
    assert (back.value, back.low, back.high) == (-forth.value, -forth.high, -forth.low)


def test_without_an_interval_over_puzzles_seeds_alone_are_compared() -> None:
    unknown = [
        [(rate, math.nan, math.nan) for rate in rates] for rates in ((0.8, 0.82, 0.84), (0.6, 0.65, 0.7))
    ]
    found = difference(*unknown)
    expected = ttest_ind(*([value for value, *_ in score] for score in unknown), equal_var=False)
    assert found[1:] == pytest.approx(tuple(expected.confidence_interval()))
    assert math.isnan(difference(unknown[0][:1], unknown[1][:1]).low)
