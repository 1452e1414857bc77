"""Maze scores: exact match and the rates of valid paths on hand-made answers, whatever the batches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import UInt8

from serrm.puzzles.maze import SPACE, is_shortest_path, is_valid_path, parse_maze
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


@pytest.mark.parametrize(
    ("question", "answer", "label", "verdict"),
    [
        # Which puzzles are solved, valid and shortest, and how many spaces are right.
        (QUESTION, LABEL, LABEL, (1, 1, 1, 18)),
        (QUESTION, OTHER, LABEL, (0, 1, 1, 18 - 14)),  # seven spaces are on each path
        (QUESTION, BROKEN, LABEL, (0, 0, 0, 17)),
        (DETOUR_QUESTION, DETOUR, DETOUR_LABEL, (0, 1, 0, 22 - 8)),
    ],
)
def test_what_is_a_path_is_told_from_what_is_the_label(
    question: str, answer: str, label: str, verdict: tuple[int, ...]
) -> None:
    tally = tally_of((stack(question), stack(answer), stack(label)))
    assert (tally.num_solved, tally.num_valid, tally.num_shortest, tally.num_right) == verdict


def test_only_spaces_count_for_accuracy() -> None:
    spoiled = np.where(INPUTS == SPACE, TARGETS, 0).astype(np.uint8)
    tally = tally_of((INPUTS, spoiled, TARGETS))
    assert tally.num_right == tally.num_blank == int((INPUTS == SPACE).sum())
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
