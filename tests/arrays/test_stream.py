"""Puzzles as tokens on disk, and their stream: an epoch holds each once, example n is a function of (seed, n)."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serrm.arrays import training_hash
from serrm.arrays.stream import (
    TEST,
    TRAIN,
    TRAINING,
    Examples,
    GridExamples,
    PuzzleArrays,
    Stream,
    list_test_sets,
    open_arrays,
    read_ahead,
)
from serrm.datasets.sets import read_puzzle_set
from serrm.puzzles.settings import HintSettings
from serrm.puzzles.task import GridTask
from serrm.puzzles.tasks import grid_task
from tests.conftest import MakePath
from tests.hashing import data_hash

NUM_PUZZLES, NUM_AUGMENTATIONS, HINTS = 8, 5, HintSettings(max_cells=5, examples=300)
seeds, positions = st.integers(0, 2**32), st.integers(0, 10**9)


@pytest.fixture(scope="module")
def drawn(make_arrays: MakePath) -> PuzzleArrays:
    return open_arrays(make_arrays(num_train=NUM_PUZZLES), TRAIN)


def test_arrays_are_the_puzzles(make_arrays: MakePath) -> None:
    folder = make_arrays(side=4, tests=(4, 9))
    for name, file in (("train", "train.parquet"), ("4x4", "test_4x4.parquet"), ("9x9", "test_9x9.parquet")):
        arrays = open_arrays(folder, name)
        questions, answers = read_puzzle_set(folder.parent / file)
        assert isinstance(arrays.questions, np.memmap)
        assert np.array_equal(arrays.questions, questions)
        assert np.array_equal(arrays.answers, answers)
        assert len(arrays) == len(questions)
        assert arrays.num_symbols == arrays.side + 2
    assert list_test_sets(folder) == ["4x4", "9x9"]


def test_missing_arrays_and_sets_are_named(make_arrays: MakePath, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=str(tmp_path)):
        open_arrays(tmp_path, TRAIN)
    with pytest.raises(ValueError, match=r"'25x25', only \['4x4', 'train'\]"):
        open_arrays(make_arrays(side=4), "25x25")


@given(seed=seeds, start=positions, cut=st.integers(0, 20), num=st.integers(1, 20))
def test_example_n_is_a_function_of_n(drawn: PuzzleArrays, seed: int, start: int, cut: int, num: int) -> None:
    stream = GridExamples(drawn, NUM_AUGMENTATIONS, seed, HINTS)
    whole = stream.gather(start, cut + num)
    part = GridExamples(drawn, NUM_AUGMENTATIONS, seed, HINTS).gather(start + cut, num)
    assert all(np.array_equal(a[cut:], b) for a, b in zip(whole, part, strict=True))


@settings(max_examples=30)
@given(seed=seeds, epoch=st.integers(0, 10**6))
def test_an_epoch_holds_every_puzzle_once_augmented(drawn: PuzzleArrays, seed: int, epoch: int) -> None:
    stream, task = GridExamples(drawn, NUM_AUGMENTATIONS, seed), grid_task("sudoku")
    start = epoch * NUM_PUZZLES
    puzzles, augmentations = stream.examples(start, NUM_PUZZLES)
    assert sorted(puzzles) == list(range(NUM_PUZZLES))
    questions, answers, _ = stream.gather(start, NUM_PUZZLES)
    assert task.wrong_label(questions, answers) is None
    for example, (puzzle, number) in enumerate(zip(puzzles, augmentations, strict=True)):
        row = np.tile(task.draw(seed, int(puzzle), int(number), 4), (2, 1))
        pair = np.stack([drawn.questions[puzzle], drawn.answers[puzzle]])
        expected = pair if number == 0 else task.apply(pair, row, 4)
        assert np.array_equal(np.stack([questions[example], answers[example]]), expected)


def test_epochs_and_seeds_are_shuffled_differently_and_augmentations_evenly(drawn: PuzzleArrays) -> None:
    streams = [GridExamples(drawn, NUM_AUGMENTATIONS, seed) for seed in (0, 1)]
    orders = {tuple(stream.examples(8 * epoch, 8)[0]) for stream in streams for epoch in range(20)}
    assert len(orders) == 40
    num, num_kinds = 6000, NUM_PUZZLES * (NUM_AUGMENTATIONS + 1)
    puzzles, augmentations = streams[0].examples(0, num)
    counts = np.bincount(puzzles * (NUM_AUGMENTATIONS + 1) + augmentations, minlength=num_kinds)
    assert len(counts) == num_kinds
    assert np.abs(counts - num / num_kinds).max() < 5 * (num / num_kinds) ** 0.5


def test_hints_are_right_and_end(drawn: PuzzleArrays) -> None:
    plain, hinted = (GridExamples(drawn, NUM_AUGMENTATIONS, 0, hints) for hints in (None, HINTS))
    (questions, answers, _), shown = plain.gather(0, 400), hinted.gather(0, 400)
    assert np.array_equal(shown.answers, answers)
    is_hint = shown.questions != questions
    assert (shown.questions[is_hint] == answers[is_hint]).all()
    num = is_hint.sum(1)
    assert set(num[:100].tolist()) == {0, 1, 2, 3, 4, 5}
    assert num[150:].max() <= 3 and not num[300:].any() and num[:150].sum() > num[150:].sum()


@pytest.mark.parametrize("task", ["sudoku", "maze"])
@given(seed=seeds, puzzle=st.integers(0, 10**6), augmentation=st.integers(0, 7))
def test_augmentations_are_one_to_one(task: str, seed: int, puzzle: int, augmentation: int) -> None:
    record: GridTask = grid_task(task)
    rng, side = np.random.default_rng(seed), 4
    tokens = rng.integers(1, record.alphabet(side).num_symbols, (5, side**2), dtype=np.uint8)
    row = record.draw(seed, puzzle, augmentation, side)
    assert np.array_equal(row, record.draw(seed, puzzle, augmentation, side))
    images = record.apply(tokens, np.tile(row, (5, 1)), side)
    if augmentation == 0:
        assert np.array_equal(images, tokens)
    assert np.array_equal(
        np.sort(np.unique(tokens, return_counts=True)[1]), np.sort(np.unique(images, return_counts=True)[1])
    )
    # Grids that differ in a cell have images that differ in a cell.
    assert (images[0] != images[1]).sum() == (tokens[0] != tokens[1]).sum()


def test_the_hash_of_training_data_is_not_that_of_test_sets(make_arrays: MakePath, tmp_path: Path) -> None:
    plain, same = make_arrays(tests=(4,)), make_arrays(tests=(9,))
    assert data_hash(same / TEST) != data_hash(plain / TEST)
    assert data_hash(same / TRAINING) == data_hash(plain / TRAINING), "a stage that DVC does not repeat"
    assert training_hash(same) == training_hash(plain)
    changed = shutil.copytree(plain, tmp_path / "arrays")
    questions = np.load(changed / TRAINING / "questions.npy")
    questions[0, 0] += 1
    np.save(changed / TRAINING / "questions.npy", questions)
    others = [make_arrays(seed=1), make_arrays(num_train=7), changed]
    assert len({training_hash(arrays) for arrays in (plain, *others)}) == 4


# Reading ahead.


def gather_numbers(start: int, num: int) -> Examples:
    """Example number n is n.

    Not a stream of this package: its checks of types draw random numbers, in a thread beside hypothesis.
    """
    numbers = np.arange(start, start + num)
    tokens = (numbers % 256).astype(np.uint8)[:, None]
    return Examples(tokens, tokens + np.uint8(1), numbers)


@given(
    calls=st.lists(st.tuples(st.integers(0, 9), st.booleans(), st.integers(0, 50)), max_size=12),
    num=st.integers(1, 6),
)
def test_examples_read_ahead_are_the_streams_own(calls: list[tuple[int, bool, int]], num: int) -> None:
    plain, position = Stream(1, 11, 100, gather_numbers), 0
    ahead = read_ahead(plain, num)
    for size, jumps, place in calls:
        position = place if jumps else position
        batches = ahead.gather(position, size), plain.gather(position, size)
        assert all(np.array_equal(a, b) for a, b in zip(*batches, strict=True))
        position += size
