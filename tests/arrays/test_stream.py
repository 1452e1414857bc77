"""The example stream: each epoch holds every puzzle once, and example n is a function of (seed, n)."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serrm.arrays.puzzles import PuzzleArrays, open_arrays
from serrm.arrays.settings import HintSettings
from serrm.arrays.stream import GridExamples
from serrm.puzzles.sudoku.grid import are_solutions, box_for_side
from serrm.puzzles.sudoku.symmetry import apply_parameters, draw_symmetry

Maker = Callable[..., Path]
NUM_PUZZLES, NUM_MEMBERS = 8, 6  # members: the puzzle and five augmentations
seeds, positions = st.integers(0, 2**32), st.integers(0, 10**9)


@pytest.fixture(scope="module")
def drawn(make_arrays: Maker) -> PuzzleArrays:
    return open_arrays(make_arrays(num_train=NUM_PUZZLES), "train")


@given(seed=seeds, epoch=st.integers(0, 10**6))
def test_an_epoch_holds_every_puzzle_once(drawn: PuzzleArrays, seed: int, epoch: int) -> None:
    stream = GridExamples(drawn, NUM_MEMBERS - 1, seed)
    puzzles, members = stream.examples(epoch * NUM_PUZZLES, NUM_PUZZLES)
    assert sorted(puzzles) == list(range(NUM_PUZZLES))
    assert ((members >= 0) & (members < NUM_MEMBERS)).all()


@given(seed=seeds, start=positions, cut=st.integers(0, 20), num=st.integers(1, 20))
def test_an_example_depends_on_its_number_alone(
    drawn: PuzzleArrays, seed: int, start: int, cut: int, num: int
) -> None:
    stream = GridExamples(drawn, NUM_MEMBERS - 1, seed)
    whole = np.stack(stream.examples(start, cut + num))
    assert np.array_equal(np.stack(stream.examples(start + cut, num)), whole[:, cut:])


def test_examples_are_augmented_puzzles(drawn: PuzzleArrays) -> None:
    stream, box = GridExamples(drawn, NUM_MEMBERS - 1, seed=0), box_for_side(4)
    questions, answers, _ = stream.gather(0, 200)
    puzzles, members = stream.examples(0, 200)
    assert are_solutions(answers - 1, box).all()
    assert ((questions == answers) | (questions == 1)).all()
    assert len({tuple(answer) for answer in answers}) > NUM_PUZZLES
    for example in range(0, 200, 17):
        puzzle, member = int(puzzles[example]), int(members[example])
        row = draw_symmetry(0, puzzle, member, 4)[None]
        pair = np.stack([drawn.questions[puzzle], drawn.answers[puzzle]]) - 1
        expected = apply_parameters(pair, np.tile(row, (2, 1)), box) + 1
        assert np.array_equal(np.stack([questions[example], answers[example]]), expected)


def test_epochs_and_seeds_are_shuffled_differently_and_members_evenly(drawn: PuzzleArrays) -> None:
    streams = [GridExamples(drawn, NUM_MEMBERS - 1, seed) for seed in (0, 1)]
    orders = {tuple(stream.examples(8 * epoch, 8)[0]) for stream in streams for epoch in range(20)}
    assert len(orders) == 40
    num = 6000
    puzzles, members = streams[0].examples(0, num)
    counts = np.bincount(puzzles * NUM_MEMBERS + members, minlength=NUM_PUZZLES * NUM_MEMBERS)
    mean = num / len(counts)
    assert len(counts) == NUM_PUZZLES * NUM_MEMBERS
    assert np.abs(counts - mean).max() < 5 * mean**0.5


def test_hints_are_right_and_end(drawn: PuzzleArrays) -> None:
    plain, hinted = (
        GridExamples(drawn, NUM_MEMBERS - 1, seed=0, hints=hints)
        for hints in (None, HintSettings(most=5, examples=300))
    )
    (questions, answers, _), shown = plain.gather(0, 400), hinted.gather(0, 400)
    assert np.array_equal(shown.answers, answers)
    is_hint = shown.questions != questions
    assert (shown.questions[is_hint] == answers[is_hint]).all()
    num = is_hint.sum(1)
    assert set(num[:100].tolist()) == {0, 1, 2, 3, 4, 5}
    assert num[150:].max() <= 3 and not num[300:].any() and num[:150].sum() > num[150:].sum()
    later = hinted.gather(37, 20)
    assert np.array_equal(later.questions, shown.questions[37:57])
