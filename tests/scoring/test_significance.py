"""p-values against published tests, and words that mean what the glossary says."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import false_discovery_control, ttest_ind, ttest_rel

from benchmarks.legal_guesses import legal_guess_accuracy
from serrm.scoring.intervals import Difference, difference, spread
from serrm.scoring.metrics import wilson
from serrm.scoring.significance import holm, least_permutation_p, p_value
from serrm.scoring.verdicts import AHEAD, BEHIND, LEVEL, UNDECIDED, relation


def test_without_puzzles_the_p_value_is_that_of_a_t_test() -> None:
    first, second = [80.0, 84.0, 88.0], [60.0, 72.0, 71.0, 60.0]
    known = [[(value, value, value) for value in values] for values in (first, second)]
    assert p_value(spread(*known)) == pytest.approx(
        ttest_ind(first, second, equal_var=False).pvalue, rel=1e-3
    )
    paired = spread(known[0], known[1][:3], has_same_runs=True)
    assert p_value(paired) == pytest.approx(ttest_rel(first, second[:3]).pvalue, rel=1e-3)


@pytest.mark.parametrize("solved", [(60, 50), (80, 40), (55, 52), (40, 80)])
def test_p_is_below_5_percent_where_the_interval_excludes_a_bound(solved: tuple[int, int]) -> None:
    one, other = ([(num / 100, *wilson(num, 100)) for num in (of_model, of_model + 2)] for of_model in solved)
    found = difference(one, other)
    for bound in (0.0, found.low - 0.01, found.low + 0.01, found.high - 0.01, found.high + 0.01):
        is_excluded = not found.low <= bound <= found.high
        assert (p_value(spread(one, other), bound) < 0.05) == is_excluded


def test_a_difference_without_an_interval_has_no_p_value() -> None:
    assert math.isnan(p_value(spread([(0.5, math.nan, math.nan)], [(0.4, math.nan, math.nan)])))


def test_holm_corrects_as_published() -> None:
    """Holm's steps by hand, and never less than the false discovery rate's."""
    found = holm([0.01, 0.04, 0.03, 0.005])
    assert found == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert np.all(np.array(found) >= false_discovery_control([0.01, 0.04, 0.03, 0.005]) - 1e-12)
    assert holm([]) == [] and holm([0.6, 0.7]) == [1.0, 1.0]


@pytest.mark.parametrize("num", [3, 5])
def test_three_seeds_cannot_give_a_permutation_test_less_than_a_tenth(num: int) -> None:
    """The most extreme of all divisions of the seeds into two groups, and its mirror image."""
    sums = [sum(group) for group in combinations(range(2 * num), num)]
    extreme = sum(total in (min(sums), max(sums)) for total in sums) / len(sums)
    assert least_permutation_p(num, num) == pytest.approx(extreme)


@pytest.mark.parametrize(
    ("low", "high", "margin", "expected"),
    [
        (0.1, 30.0, 10.0, AHEAD),
        (0.1, 5.0, 10.0, AHEAD),
        (-5.0, -0.1, 10.0, BEHIND),
        (-9.0, 9.0, 10.0, LEVEL),
        (-9.0, 11.0, 10.0, UNDECIDED),
        (-0.1, 0.1, 0.0, UNDECIDED),
        (math.nan, math.nan, 10.0, UNDECIDED),
    ],
)
def test_a_word_follows_from_the_interval(low: float, high: float, margin: float, expected: str) -> None:
    assert relation(Difference((low + high) / 2, low, high), margin) == expected


def test_a_legal_guess_is_drawn_among_what_row_column_and_box_allow() -> None:
    """4×4: all blanks allow one digit except the last of row 3, whose column has another blank."""
    question = np.array([[2, 3, 4, 1, 4, 5, 2, 3, 1, 1, 1, 1, 5, 4, 3, 2]], dtype=np.uint8)
    assert legal_guess_accuracy(question) == pytest.approx((1 + 1 + 1 + 1 + 1 / 2) / 5)
    empty = np.ones((1, 16), dtype=np.uint8)
    assert legal_guess_accuracy(empty) == 0.25
    with pytest.raises(ValueError, match="no blank"):
        legal_guess_accuracy(np.full((1, 16), 2, dtype=np.uint8))
