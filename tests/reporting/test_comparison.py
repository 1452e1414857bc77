"""Differences of scores: against published intervals, and what more seeds and more puzzles change."""

import pytest
from scipy.stats import ttest_ind, ttest_rel

from serrm.metrics import wilson
from serrm.reporting.comparison import difference
from serrm.reporting.results import over_seeds


def of_seeds(*numbers_solved, num=100):
    ends = [(solved / num, *wilson(solved, num)) for solved in numbers_solved]
    return over_seeds([tuple(100 * each for each in seed) for seed in ends], num)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    # Newcombe (1998), table II, method 10: the cases that the paper prints.
    [
        ((56, 70), (48, 80), (0.2, 0.0524, 0.3339)),
        ((9, 10), (3, 10), (0.6, 0.1705, 0.8090)),
        ((6, 7), (2, 7), (0.5714, 0.0582, 0.8062)),
        ((5, 56), (0, 29), (0.0893, -0.0381, 0.1926)),
        ((0, 10), (0, 20), (0.0, -0.1611, 0.2775)),
        ((10, 10), (0, 10), (1.0, 0.6075, 1.0)),
    ],
)
def test_with_one_seed_it_is_newcombes_interval(first, second, expected):
    found = difference(of_seeds(first[0], num=first[1]), of_seeds(second[0], num=second[1]))
    assert found == pytest.approx([100 * each for each in expected], abs=0.01)


@pytest.mark.parametrize(("first", "second"), [((60, 64, 71), (50, 51, 49)), ((60, 75, 81), (50, 66, 70))])
def test_over_seeds_alone_it_is_welchs_or_the_paired_interval(first, second):
    """Many puzzles leave the interval over seeds, here of scipy."""
    num = 10**9
    scores = [of_seeds(*(each * num // 100 for each in solved), num=num) for solved in (first, second)]
    welchs, paired = ttest_ind(first, second, equal_var=False), ttest_rel(first, second)
    assert difference(*scores)[1:] == pytest.approx(welchs.confidence_interval(0.95), abs=0.02)
    expected = paired.confidence_interval(0.95)
    assert difference(*scores, is_paired=True)[1:] == pytest.approx(expected, abs=0.02)


def test_seeds_that_differ_widen_the_interval_and_equal_seeds_do_not():
    one, other = of_seeds(60), of_seeds(40)
    alone = difference(one, other)
    assert difference(of_seeds(60, 60, 60), of_seeds(40, 40, 40)) == alone
    wide = difference(of_seeds(55, 60, 65), of_seeds(38, 40, 42))
    assert wide.low < alone.low < 20 < alone.high < wide.high
    single = difference(of_seeds(55, 60, 65), other)
    assert single.low < alone.low, "one seed is taken to vary as much as the other model's"
    assert difference(of_seeds(55, 60, 65), of_seeds(38, 40, 42)).value == alone.value


def test_the_other_way_round_it_is_the_negative():
    forth, back = (
        difference(*pair) for pair in ((of_seeds(9, 14), of_seeds(2)), (of_seeds(2), of_seeds(9, 14)))
    )
    assert (back.value, back.low, back.high) == (-forth.value, -forth.high, -forth.low)
