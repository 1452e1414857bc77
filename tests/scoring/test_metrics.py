"""FSR and GPA: on hand-made cases, and as counts that do not depend on the batches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from serrm.scoring.metrics import SudokuTally

# Two 2×2 toy puzzles, as tokens: 1 is blank, 2 and 3 are digits.
INPUTS = np.array([[1, 2, 1, 3], [1, 1, 2, 3]], dtype=np.uint8)
TARGETS = np.array([[2, 2, 3, 3], [3, 2, 2, 3]], dtype=np.uint8)


def counts(inputs, predictions, targets):
    tally = SudokuTally()
    tally.add(inputs, predictions, targets)
    return tally.num_solved, tally.num_right, tally.num_blank


tokens = arrays.arrays(np.uint8, (12, 9), elements=st.integers(1, 4))


def test_a_wrong_given_cell_spoils_the_puzzle_but_not_the_accuracy():
    predictions = TARGETS.copy()
    predictions[0, 1] = 3
    assert counts(INPUTS, predictions, TARGETS) == (1, 4, 4)


@given(tokens, tokens, tokens)
def test_all_metrics_agree_with_a_slow_reference(inputs, predictions, targets):
    rows = list(zip(inputs.tolist(), predictions.tolist(), targets.tolist(), strict=True))
    num_solved = sum(guess == truth for _, guess, truth in rows)
    blanks = [(g, t) for row in rows for given_, g, t in zip(*row, strict=True) if given_ == 1]
    expected = num_solved, sum(g == t for g, t in blanks), len(blanks)
    assert counts(inputs, predictions, targets) == expected


@given(tokens, tokens, tokens, st.integers(0, 12))
def test_the_tally_does_not_depend_on_the_batches(inputs, predictions, targets, cut):
    whole, parts = SudokuTally(), SudokuTally()
    whole.add(inputs, predictions, targets)
    parts.add(inputs[:cut], predictions[:cut], targets[:cut])
    parts.add(inputs[cut:], predictions[cut:], targets[cut:])
    assert whole == parts


@given(tokens, tokens, st.integers(1, 9))
def test_whoever_writes_one_symbol_everywhere_is_right_as_often_as_the_guess_says(inputs, targets, symbol):
    if not (inputs == 1).any():
        return
    tally = SudokuTally()
    tally.add(inputs, np.full_like(targets, symbol), targets)
    scores = tally.scores()
    best = max((targets[inputs == 1] == each).mean() for each in range(256))
    assert scores["gpa"] <= scores["gpa_guess"] == best


def test_nothing_to_score_is_said():
    with pytest.raises(ValueError, match="no blank cell to score in 0 puzzles"):
        SudokuTally().scores()
