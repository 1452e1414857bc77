"""ARC votes: pooled and ranked as in a slow reference, whatever the order they come in."""

import json
import random
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serrm.puzzles.arc.grids import Grid
from serrm.scoring.metrics import PASS_AT, wilson
from serrm.scoring.tally import ArcTally, submission

Lines = tuple[tuple[int, ...], ...]
Vote = tuple[str, int, Lines, float]

ANSWERS: dict[str, list[Lines]] = {"a": [((1,),), ((1, 2),)], "b": [((1,), (2,))], "c": [((3,),)] * 3}
# Few grids and few confidences, so that votes, confidences and both are often equal.
LINES: list[Lines] = [(), ((1,),), ((1, 2),), ((1,), (2,)), ((2, 1),), ((3,),), ((1, 2), (1, 1))]
# Among them some that add up to another float in another order.
confidences = st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.5, 1.0]) | st.floats(2.0**-11, 1.0, width=32)
inputs = st.sampled_from([(name, test) for name, tests in ANSWERS.items() for test in range(len(tests))])
votes = st.lists(
    st.tuples(inputs, st.sampled_from(LINES), confidences).map(lambda vote: (*vote[0], *vote[1:])),
    max_size=60,
)


def as_grid(lines: Lines) -> Grid:
    return np.array(lines, dtype=np.uint8).reshape(len(lines), -1 if lines else 0)


def tally_of(cast: Sequence[Vote], answers: dict[str, list[Lines]] = ANSWERS) -> ArcTally:
    tally = ArcTally({name: [as_grid(answer) for answer in each] for name, each in answers.items()})
    for puzzle, test, lines, confidence in cast:
        tally.add(puzzle, test, as_grid(lines), confidence)
    return tally


def reference_ranking(cast: Sequence[Vote], puzzle: str, test: int) -> list[Lines]:
    """Every grid by the number of its votes, then by their mean confidence, then by its shape and cells."""
    found: dict[Lines, list[Fraction]] = {}
    for name, number, lines, confidence in cast:
        if (name, number) == (puzzle, test):
            found.setdefault(lines, []).append(Fraction(confidence))

    def place(lines: Lines) -> tuple[int, Fraction, tuple[int, int], bytes]:
        of_grid, grid = found[lines], as_grid(lines)
        return -len(of_grid), -sum(of_grid, Fraction()) / len(of_grid), grid.shape, grid.tobytes()

    return sorted(found, key=place)


@settings(max_examples=200)
@given(votes)
def test_rankings_and_scores_agree_with_a_slow_reference(cast: list[Vote]) -> None:
    tally = tally_of(cast)
    scores, credits = tally.scores(), {k: [Fraction(0)] * 3 for k in PASS_AT}
    for place, (puzzle, answers) in enumerate(ANSWERS.items()):
        for test, answer in enumerate(answers):
            expected = reference_ranking(cast, puzzle, test)
            ranking = tally.ranking(puzzle, test)
            assert [grid.tolist() for grid in ranking] == [as_grid(lines).tolist() for lines in expected]
            for k in PASS_AT:
                credits[k][place] += Fraction(int(answer in expected[:k]), len(answers))
    for k in PASS_AT:
        assert scores[f"pass_at_{k}"] == pytest.approx(float(sum(credits[k]) / 3))
        bounds = wilson(float(sum(credits[k])), 3)
        assert (scores[f"pass_at_{k}_lo"], scores[f"pass_at_{k}_hi"]) == pytest.approx(bounds)


@given(votes, st.integers(0, 60), st.randoms(use_true_random=False))
def test_order_and_parts_do_not_matter(cast: list[Vote], cut: int, rng: random.Random) -> None:
    mixed = list(cast)
    rng.shuffle(mixed)
    tally = tally_of(mixed[:cut])
    tally.include(tally_of(mixed[cut:]))
    assert tally.pools == tally_of(cast).pools
    assert tally.scores() == tally_of(cast).scores()


def test_empty_grids_are_one_whatever_their_shape_and_grids_are_read_as_they_are_shown() -> None:
    tally = tally_of([("b", 0, ((1,), (2,)), 0.5)])
    tally.add("b", 0, np.rot90(np.array([[2, 1]], dtype=np.uint8)), 0.5)
    for shape in ((0, 0), (0, 3), (2, 0)):
        tally.add("b", 0, np.zeros(shape, dtype=np.uint8), 0.5)
    assert [grid.shape for grid in tally.ranking("b", 0)] == [(0, 0), (2, 1)]


@given(votes)
def test_a_submission_holds_the_two_best_grids_and_blanks_where_there_are_none(cast: list[Vote]) -> None:
    content = json.loads(json.dumps(submission(tally_of(cast))))
    assert {puzzle: len(tests) for puzzle, tests in content.items()} == {"a": 2, "b": 1, "c": 3}
    for puzzle, tests in content.items():
        for number, attempts in enumerate(tests):
            best = [as_grid(lines).tolist() for lines in reference_ranking(cast, puzzle, number)[:2]]
            expected = [*(grid or [[0, 0], [0, 0]] for grid in best), *[[[0, 0], [0, 0]]] * 2][:2]
            assert attempts == {"attempt_1": expected[0], "attempt_2": expected[1]}
