"""ARC votes: pooled and ranked as in a slow reference, whatever the order they come in; credits are fractions."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serrm.puzzles.arc.grid import Grid
from serrm.scoring.arc import KS, ArcTally
from serrm.scoring.intervals import wilson

Lines = tuple[tuple[int, ...], ...]
Vote = tuple[str, int, Lines, float]

ANSWERS: dict[str, list[Lines]] = {"a": [((1,),), ((1, 2),)], "b": [((1,), (2,))], "c": [((3,),)] * 3}
# Few grids and few confidences, so that votes, confidences and both are often equal.
LINES: list[Lines] = [(), ((1,),), ((1, 2),), ((1,), (2,)), ((2, 1),), ((3,),), ((1, 2), (1, 1))]
confidences = st.sampled_from([0.0, 0.25, 0.5, 1.0]) | st.floats(2.0**-11, 1.0, width=32)
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


def reference_ranking(cast: Sequence[Vote], puzzle: str, test: int) -> list[tuple[Lines, int, Fraction]]:
    """Every grid with its votes and mean confidence, best first."""
    found = [
        (lines, Fraction(confidence))
        for name, number, lines, confidence in cast
        if (name, number) == (puzzle, test)
    ]
    ranked = []
    for lines in LINES:
        of_grid = [confidence for other, confidence in found if other == lines]
        if of_grid:
            ranked.append((lines, len(of_grid), sum(of_grid) / len(of_grid)))

    def place(entry: tuple[Lines, int, Fraction]) -> tuple[int, Fraction, tuple[int, int], bytes]:
        lines, num_votes, mean = entry
        return -num_votes, -mean, as_grid(lines).shape, as_grid(lines).tobytes()

    return sorted(ranked, key=place)


@settings(max_examples=200)
@given(votes)
def test_rankings_and_scores_agree_with_a_slow_reference(cast: list[Vote]) -> None:
    tally = tally_of(cast)
    scores, credits = tally.scores(), {k: [Fraction(0)] * 3 for k in KS}
    for place, (puzzle, answers) in enumerate(ANSWERS.items()):
        for test, answer in enumerate(answers):
            expected = reference_ranking(cast, puzzle, test)
            ranking = tally.ranking(puzzle, test)
            assert [
                np.array_equal(one.grid, as_grid(lines))
                for one, (lines, _, _) in zip(ranking, expected, strict=True)
            ] == [True] * len(expected)
            assert [one.num_votes for one in ranking] == [num for _, num, _ in expected]
            assert [one.confidence for one in ranking] == pytest.approx(
                [float(mean) for _, _, mean in expected]
            )
            for k in KS:
                is_hit = answer in [lines for lines, _, _ in expected[:k]]
                credits[k][place] += Fraction(int(is_hit), len(answers))
    for k in KS:
        assert scores[f"pass_at_{k}"] == pytest.approx(float(sum(credits[k]) / 3))
        bounds = wilson(float(sum(credits[k])), 3)
        assert (scores[f"pass_at_{k}_lo"], scores[f"pass_at_{k}_hi"]) == pytest.approx(bounds)


@given(votes, st.randoms(use_true_random=False))
def test_the_order_of_predictions_does_not_matter(cast: list[Vote], random: object) -> None:
    mixed = list(cast)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    one, other = tally_of(cast), tally_of(mixed)
    assert one.pools == other.pools
    assert one.scores() == other.scores()


def test_many_small_confidences_add_up_exactly_in_any_order() -> None:
    # As floats, 0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ.
    up, down = (
        [("b", 0, ((1,),), value) for value in values] for values in ((0.1, 0.2, 0.3), (0.3, 0.2, 0.1))
    )
    assert tally_of(up).ranking("b", 0)[0].confidence == tally_of(down).ranking("b", 0)[0].confidence


def test_votes_come_before_confidence_and_confidence_before_cells() -> None:
    cast: list[Vote] = [
        ("b", 0, ((3,),), 0.1),
        ("b", 0, ((3,),), 0.1),
        ("b", 0, ((1,), (2,)), 0.9),
        ("b", 0, ((2,),), 0.95),
        ("b", 0, ((1, 1),), 0.9),
    ]
    tally = tally_of(cast)
    assert [candidate.grid.tolist() for candidate in tally.ranking("b", 0)] == [
        [[3]],
        [[2]],
        [[1, 1]],
        [[1], [2]],
    ]
    scores = tally_of(cast, {"b": ANSWERS["b"]}).scores()
    assert [scores[f"pass_at_{k}"] for k in KS] == [0, 0, 1, 1, 1, 1]


def test_a_puzzle_gets_the_fraction_of_its_test_inputs() -> None:
    scores = tally_of([("c", 1, ((3,),), 0.5), ("b", 0, ((1,), (2,)), 0.5)]).scores()
    assert scores["pass_at_1"] == pytest.approx((0 + 1 + 1 / 3) / 3)
    assert (scores["pass_at_1_lo"], scores["pass_at_1_hi"]) == pytest.approx(wilson(4 / 3, 3))
    assert set(scores) == {
        f"pass_at_{k}{end}" for k in (1, 2, 5, 10, 100, 1000) for end in ("", "_lo", "_hi")
    }


def test_without_predictions_everything_is_wrong() -> None:
    tally = tally_of([])
    assert tally.ranking("a", 1) == []
    assert {tally.scores()[f"pass_at_{k}"] for k in KS} == {0.0}


def test_grids_of_the_same_cells_and_another_shape_differ_and_empty_ones_do_not() -> None:
    tally = tally_of([("b", 0, ((1,), (2,)), 0.5), ("b", 0, ((1, 2),), 0.5)])
    for shape in ((0, 0), (0, 3), (2, 0)):
        tally.add("b", 0, np.zeros(shape, dtype=np.uint8), 0.5)
    shapes = [(candidate.grid.shape, candidate.num_votes) for candidate in tally.ranking("b", 0)]
    assert shapes == [((0, 0), 3), ((1, 2), 1), ((2, 1), 1)]


def test_rotated_grids_are_read_as_they_are_shown() -> None:
    tally = tally_of([("b", 0, ((1,), (2,)), 0.5)])
    tally.add("b", 0, np.rot90(np.array([[2, 1]], dtype=np.uint8)), 0.5)
    assert [candidate.num_votes for candidate in tally.ranking("b", 0)] == [2]


@pytest.mark.parametrize(
    ("puzzle", "test", "confidence", "message"),
    [
        ("d", 0, 0.5, "no test input 0 of a puzzle 'd'"),
        ("a", 2, 0.5, "no test input 2 of a puzzle 'a'"),
        ("a", -1, 0.5, "no test input -1 of a puzzle 'a'"),
        ("a", 0, 1.5, r"a confidence must lie in 0..1, not 1.5"),
        ("a", 0, float("nan"), r"a confidence must lie in 0..1, not nan"),
    ],
)
def test_what_cannot_be_counted_is_named(puzzle: str, test: int, confidence: float, message: str) -> None:
    tally = tally_of([])
    with pytest.raises(ValueError, match=message):
        tally.add(puzzle, test, as_grid(((1,),)), confidence)
    assert tally.pools == {}


def test_nothing_to_score_is_said() -> None:
    with pytest.raises(ValueError, match="at least one trial"):
        ArcTally({}).scores()
    with pytest.raises(ValueError, match="puzzle a has no test inputs to score"):
        ArcTally({"a": []})


@given(cast=votes, is_first=st.lists(st.booleans(), min_size=60, max_size=60))
def test_tallies_of_parts_make_the_tally_of_all(cast: list[Vote], is_first: list[bool]) -> None:
    first, second = (
        [v for v, own in zip(cast, is_first, strict=False) if own is part] for part in (True, False)
    )
    tally = tally_of(first)
    tally.include(tally_of(second))
    assert tally.pools == tally_of(cast).pools
