"""Scores of one answer a puzzle, as slow references have them and whatever the batches; Wilson intervals as scipy's."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.stats import binomtest

from serrm.puzzles.maze.rules import SPACE
from serrm.puzzles.task import GridTask
from serrm.puzzles.tasks import grid_task
from serrm.scoring.metrics import MEAN, METRICS, RATIO, Metric, interval, metrics_of, wilson
from serrm.scoring.tally import Tally
from tests.references import generate_mazes, is_shortest_path, is_valid_path

TOKENS = arrays.arrays(np.uint8, (12, 9), elements=st.integers(1, 4))  # 1 is a blank cell
GENERAL = {name: METRICS[name] for name in ("fsr", "gpa")}  # of any grids
MAZES = generate_mazes(6, 12, np.random.default_rng(0), 6)
UNRULED = replace(grid_task("sudoku"), verify=None)  # only the label is right


def are_colourings(questions: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """Colours 2 to 4 in every cell but padding, other than the colour to the right, that keep what is given."""
    keeps = (questions == 1) | (questions == answers)
    is_valid = (answers != 1) & (answers <= 4) & keeps
    return is_valid.all(axis=1) & ((answers[:, 1:] != answers[:, :-1]) | (answers[:, 1:] == 0)).all(axis=1)


COLOURING = replace(grid_task("sudoku"), name="Colouring", verify=are_colourings, right_answers="any")


def tally_of(tally: Any, *batches: tuple[np.ndarray, ...]) -> Any:
    for batch in batches:
        tally.add(*batch)
    return tally


def sums(tally: Tally) -> tuple[int, int, int]:
    """Puzzles solved, cells right, and blank cells."""
    return tally.sums["fsr"]["total"], tally.sums["gpa"]["total"], tally.sums["gpa"]["num"]


@given(TOKENS, TOKENS, TOKENS, st.integers(0, 12))
def test_sudoku_scores_agree_with_a_slow_reference_whatever_the_batches(inputs, predictions, targets, cut):
    given = inputs, predictions, targets
    parts = [tuple(each[part] for each in given) for part in (slice(cut), slice(cut, None))]
    tally = tally_of(Tally(UNRULED, GENERAL), *parts)
    rows = list(zip(inputs.tolist(), predictions.tolist(), targets.tolist(), strict=True))
    blanks = [(g, t) for row in rows for given_, g, t in zip(*row, strict=True) if given_ == 1]
    num_solved, num_right = sum(g == t for _, g, t in rows), sum(g == t for g, t in blanks)
    assert sums(tally) == (num_solved, num_right, len(blanks))
    if blanks:
        of_a_symbol = [sum(t == each for _, t in blanks) / len(blanks) for each in range(1, 5)]
        assert tally.scores()["gpa_guess"] == max(of_a_symbol)


def test_squares_of_small_integers_do_not_overflow() -> None:
    most = Metric("Largest", "Largest", lambda batch: batch.predictions.max(axis=1), MEAN)
    batch = np.array([[1, 20], [1, 30], [1, 40]], np.uint8)
    scores = tally_of(Tally(UNRULED, GENERAL | {"most": most}), (batch, batch, batch)).scores()
    assert scores["most_lo"] < 20 < scores["most"] == 30 < 40 < scores["most_hi"]


@given(st.integers(0, 2**32), st.integers(0, len(MAZES)))
def test_maze_scores_agree_with_single_verdicts_whatever_the_batches(seed: int, cut: int) -> None:
    rng = np.random.default_rng(seed)
    inputs, targets = (np.stack([getattr(maze, kind) for maze in MAZES]) for kind in ("question", "answer"))
    # Half the mazes get a random cell wrong; those with a marked space may still be a path by chance.
    predictions = targets.copy()
    spoiled = np.flatnonzero(rng.random(len(MAZES)) < 0.5)
    predictions[spoiled, rng.integers(36, size=len(spoiled))] = rng.integers(1, 6, size=len(spoiled))
    batches = ((inputs[p], predictions[p], targets[p]) for p in (slice(cut), slice(cut, None)))
    tally = tally_of(Tally(grid_task("maze"), metrics_of("maze")), *batches)
    pairs = list(zip(inputs, predictions, strict=True))
    expected = {
        "fsr": (predictions == targets).all(1).sum(),
        "valid": sum(is_valid_path(*pair) for pair in pairs),
        "valid_shortest": sum(is_shortest_path(*pair) for pair in pairs),
    }
    scores = tally.scores()
    assert tally.sums["gpa"]["total"] == ((predictions == targets) & (inputs == SPACE)).sum()
    for name, num in expected.items():
        assert scores[name] == num / len(MAZES)
        assert (scores[f"{name}_lo"], scores[f"{name}_hi"]) == wilson(int(num), len(MAZES))


def test_every_answer_that_obeys_the_rule_counts_where_several_are_right() -> None:
    question = np.array([[2, 1, 1, 1]] * 4, np.uint8)
    label = np.array([[2, 3, 2, 3]] * 4, np.uint8)
    predictions = np.array([[2, 3, 2, 3], [2, 4, 2, 3], [2, 3, 3, 2], [3, 2, 3, 2]], np.uint8)
    assert sums(tally_of(Tally(COLOURING, GENERAL), (question, predictions, label)))[0] == 2
    by_label = replace(COLOURING, right_answers="label")
    assert sums(tally_of(Tally(by_label, GENERAL), (question, predictions, label)))[0] == 1
    with pytest.raises(ValueError, match="Colouring: right_answers"):
        replace(COLOURING, verify=None)


@pytest.mark.parametrize("task", [COLOURING, UNRULED])
def test_padding_counts_nowhere(task: GridTask) -> None:
    question, label = np.array([[2, 1, 0, 0]], np.uint8), np.array([[2, 3, 0, 0]], np.uint8)
    prediction = np.array([[2, 3, 4, 1]], np.uint8)
    assert sums(tally_of(Tally(task, GENERAL), (question, prediction, label))) == (1, 1, 1)


@given(st.data(), st.integers(1, 500_000), st.floats(0.5, 0.999))
def test_intervals_agree_with_scipy_on_whole_successes(data: st.DataObject, num: int, level: float) -> None:
    successes = data.draw(st.integers(0, num))
    theirs = binomtest(successes, num).proportion_ci(confidence_level=level, method="wilson")
    assert wilson(successes, num, level) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@given(st.integers(1, 10_000), st.floats(0, 1))
def test_fractional_successes_lie_inside_and_mirror(num: int, rate: float) -> None:
    assert (wilson(0, num)[0], wilson(num, num)[1]) == (0.0, 1.0)
    low, high = wilson(rate * num, num)
    # rate * num / num may differ from rate by a unit in the last place.
    assert 0 <= low <= rate * num / num <= high <= 1
    assert wilson(num - rate * num, num) == pytest.approx((1 - high, 1 - low), abs=1e-9)


@pytest.mark.parametrize(
    ("successes", "num", "level", "named"),
    [(0, 0, 0.95, "not 0"), (3, 2, 0.95, "not 3"), (1, 2, 95.0, "not 95.0")],
)
def test_what_has_no_interval_is_refused(successes: int, num: int, level: float, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        wilson(successes, num, level)


def ratio_interval(right: np.ndarray, blank: np.ndarray) -> tuple[float, float]:
    return interval("gpa", RATIO, RATIO.scores("gpa", RATIO.sums(np.stack([right, blank], axis=1))))


def test_the_rate_of_cells_has_an_interval_over_puzzles() -> None:
    """Against the normal interval of a ratio by the delta method, and by the bootstrap over puzzles."""
    rng = np.random.default_rng(0)
    blank = rng.integers(40, 60, 400)
    right = rng.binomial(blank, rng.beta(8, 2, 400))  # puzzles differ more than chance makes them
    rate = right.sum() / blank.sum()
    low, high = ratio_interval(right, blank)
    draws = rng.integers(400, size=(4000, 400))
    ends = np.quantile(right[draws].sum(1) / blank[draws].sum(1), [0.025, 0.975])
    assert (low, high) == pytest.approx(tuple(ends), abs=0.002)
    independent = wilson(int(right.sum()), int(blank.sum()))
    assert low < independent[0] < rate < independent[1] < high


def test_a_rate_of_cells_covers_the_truth_as_often_as_it_should() -> None:
    rng, blank = np.random.default_rng(1), np.full(100, 50)
    truth, num_covered = 0.9, 0
    for _ in range(500):
        low, high = ratio_interval(rng.binomial(50, rng.beta(9, 1, 100)), blank)
        num_covered += low <= truth <= high
    assert 0.92 <= num_covered / 500 <= 0.98


def test_a_rate_of_cells_stays_within_its_bounds() -> None:
    """Without variance the cells of a puzzle count as one, and no interval is wider than 0 to 1."""
    blank = np.full(20, 50)
    assert ratio_interval(blank, blank) == pytest.approx(wilson(20, 20))
    assert ratio_interval(blank * 0, blank) == pytest.approx(wilson(0, 20))
    low, high = ratio_interval(np.array([50, 0]), np.array([50, 50]))
    assert 0 <= low < 0.5 < high <= 1
