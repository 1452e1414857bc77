"""Maze scores: exact match and the rates of valid paths on hand-made answers, whatever the batches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import UInt8

from serrm.puzzles.maze.grid import PATH, SPACE, parse_maze
from serrm.puzzles.maze.paths import is_shortest_path, is_valid_path
from serrm.scoring.intervals import wilson
from serrm.scoring.metrics import MazeTally
from tests.references import generate_mazes

# Two shortest paths, along either side; the first is the label. A detour, and the label with a gap.
QUESTION = "S    " + " # # " + " # # " + " #   " + "    G"
LABEL = "S    " + "o# # " + "o# # " + "o#   " + "ooooG"
OTHER = "Soooo" + " # #o" + " # #o" + " #  o" + "    G"
BROKEN = "S    " + "o# # " + "o# # " + "o#   " + "oo oG"
DETOUR_QUESTION = "S #  " + "   G " + "     " + "     " + "     "
DETOUR_LABEL = "S #  " + "oooG " + "     " + "     " + "     "
DETOUR = "S #  " + "o  G " + "o  o " + "oooo " + "     "
MAZES = generate_mazes(6, 12, np.random.default_rng(0), 6)
INPUTS = np.stack([maze.question for maze in MAZES])
TARGETS = np.stack([maze.answer for maze in MAZES])


def stack(*texts: str) -> UInt8[np.ndarray, "N I"]:
    return np.stack([parse_maze(text) for text in texts])


def tally_of(*batches: tuple[np.ndarray, np.ndarray, np.ndarray]) -> MazeTally:
    tally = MazeTally()
    for batch in batches:
        tally.add(*batch)
    return tally


def test_another_shortest_path_is_no_exact_match_but_valid_and_shortest() -> None:
    tally = tally_of((stack(QUESTION, QUESTION), stack(LABEL, OTHER), stack(LABEL, LABEL)))
    assert (tally.num_puzzles, tally.num_solved, tally.num_valid, tally.num_shortest) == (2, 1, 2, 2)
    # Of the 18 spaces of the second, seven are on each path.
    assert (tally.num_blank, tally.num_right) == (36, 18 + 4)


def test_a_broken_path_is_neither_valid_nor_shortest() -> None:
    tally = tally_of((stack(QUESTION), stack(BROKEN), stack(LABEL)))
    assert (tally.num_solved, tally.num_valid, tally.num_shortest, tally.num_right) == (0, 0, 0, 17)


def test_a_detour_is_valid_but_not_shortest() -> None:
    tally = tally_of((stack(DETOUR_QUESTION), stack(DETOUR), stack(DETOUR_LABEL)))
    assert (tally.num_solved, tally.num_valid, tally.num_shortest) == (0, 1, 0)


def test_only_spaces_count_for_accuracy() -> None:
    question, label = stack(QUESTION), stack(LABEL)
    spoiled = np.where(question == SPACE, label, 0).astype(np.uint8)
    tally = tally_of((question, spoiled, label))
    assert tally.num_right == tally.num_blank == int((question == SPACE).sum())
    assert (tally.num_solved, tally.num_valid) == (0, 0)


@given(st.integers(0, 2**32), st.integers(0, len(MAZES)))
def test_the_tally_agrees_with_single_verdicts_whatever_the_batches(seed: int, cut: int) -> None:
    rng = np.random.default_rng(seed)
    # Half the mazes get a random cell wrong; those with a marked space may still be a path by chance.
    predictions = TARGETS.astype(np.int64)
    spoiled = np.flatnonzero(rng.random(len(MAZES)) < 0.5)
    predictions[spoiled, rng.integers(36, size=len(spoiled))] = rng.integers(1, 6, size=len(spoiled))
    whole = tally_of((INPUTS, predictions, TARGETS))
    parts = tally_of(*((INPUTS[p], predictions[p], TARGETS[p]) for p in (slice(cut), slice(cut, None))))
    assert whole == parts
    pairs = list(zip(INPUTS, predictions.astype(np.uint8), strict=True))
    assert whole.num_valid == sum(is_valid_path(*pair) for pair in pairs)
    assert whole.num_shortest == sum(is_shortest_path(*pair) for pair in pairs)
    assert whole.num_solved == sum(
        p.tolist() == t.tolist() for p, t in zip(predictions, TARGETS, strict=True)
    )
    assert whole.num_solved <= whole.num_shortest <= whole.num_valid


def test_labels_score_full_and_questions_nothing() -> None:
    scores = tally_of((INPUTS, TARGETS, TARGETS)).scores()
    assert [scores[name] for name in ("fsr", "gpa", "valid", "valid_shortest")] == [1.0] * 4
    scores = tally_of((INPUTS, INPUTS, TARGETS)).scores()
    assert [scores[name] for name in ("fsr", "valid", "valid_shortest")] == [0.0] * 3
    assert scores["gpa"] == 1 - (TARGETS == PATH).sum() / (INPUTS == SPACE).sum()


def test_scores_have_wilson_intervals_over_mazes_and_over_cells() -> None:
    tally = MazeTally(
        num_puzzles=1_000, num_solved=888, num_valid=930, num_shortest=920, num_blank=5_000, num_right=4_900
    )
    scores = tally.scores()
    assert len(scores) == 13
    for name, (right, num) in {
        "fsr": (888, 1_000),
        "valid": (930, 1_000),
        "valid_shortest": (920, 1_000),
        "gpa": (4_900, 5_000),
    }.items():
        assert scores[name] == right / num
        assert (scores[f"{name}_lo"], scores[f"{name}_hi"]) == wilson(right, num)


def test_nothing_to_score_is_said() -> None:
    with pytest.raises(ValueError, match="no blank cell to score in 0 puzzles"):
        MazeTally().scores()
