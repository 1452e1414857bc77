"""Wilson intervals against scipy, against the paper, and against what an interval must obey."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from serrm.scoring.intervals import wilson


@st.composite
def counts(draw):
    num = draw(st.integers(1, 500_000))
    return draw(st.integers(0, num)), num


@given(counts(), st.floats(0.5, 0.999))
def test_agrees_with_scipy_on_whole_successes(count, level):
    successes, num = count
    theirs = binomtest(successes, num).proportion_ci(confidence_level=level, method="wilson")
    assert wilson(successes, num, level) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@pytest.mark.parametrize(
    ("successes", "num", "low", "high"),
    [
        (0, 288, 0, 1.32),
        (0, 216, 0, 1.75),
        (0, 42, 0, 8.38),
        (13, 60, 13.12, 33.62),
        (274, 288, 92.01, 97.08),
    ],
)
def test_agrees_with_the_paper_where_it_is_plain_wilson(successes, num, low, high):
    assert tuple(round(100 * end, 2) for end in wilson(successes, num)) == (low, high)


@given(st.integers(1, 10_000), st.floats(0, 1))
def test_fractional_successes_lie_inside_and_mirror(num, rate):
    assert (wilson(0, num)[0], wilson(num, num)[1]) == (0.0, 1.0)
    low, high = wilson(rate * num, num)
    # rate * num / num may differ from rate by a unit in the last place.
    assert 0 <= low <= rate * num / num <= high <= 1
    assert wilson(num - rate * num, num) == pytest.approx((1 - high, 1 - low), abs=1e-9)


@pytest.mark.parametrize(
    ("successes", "num", "level", "named"),
    [(0, 0, 0.95, "not 0"), (3, 2, 0.95, "not 3"), (1, 2, 95.0, "not 95.0")],
)
def test_refuses_what_has_no_interval(successes, num, level, named):
    with pytest.raises(ValueError, match=named):
        wilson(successes, num, level)
