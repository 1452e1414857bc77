"""The ARC stream: whole puzzles in one variant each, images as made one by one, example n a function of (seed, n)."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serrm.arrays.arc_images import draw_images
from serrm.arrays.arc_stream import ArcExamples, open_arc_examples
from serrm.puzzles.arc.canvas import decode, encode
from serrm.puzzles.arc.colours import recoloured
from serrm.puzzles.dihedral import transformed
from tests.arrays.made_arc import make_arrays, make_rows
from tests.references import describe

SIDE, NUM_PUZZLES, NUM_PAIRS, NUM_VARIANTS = 6, 5, 20, 20
seeds, positions = st.integers(0, 2**32), st.integers(0, 10**9)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_arrays(tmp_path_factory.mktemp("arc"), make_rows(side=SIDE), SIDE, NUM_VARIANTS, seed=3)


@pytest.fixture(scope="module")
def stream(folder: Path) -> ArcExamples:
    return open_arc_examples(folder, NUM_VARIANTS, seed=0)


@given(
    size=st.tuples(st.integers(1, SIDE), st.integers(1, SIDE)),
    transform=st.integers(0, 7),
    colours=st.permutations(range(10)),
    data=st.data(),
)
def test_an_image_is_that_of_the_slow_reference(
    size: tuple[int, int], transform: int, colours: list[int], data: st.DataObject
) -> None:
    grid = np.arange(1, 1 + size[0] * size[1], dtype=np.uint8).reshape(size) % np.uint8(10)
    permutation = np.array(colours, dtype=np.uint8)
    image = recoloured(transformed(grid, transform), permutation)
    offset = tuple(data.draw(st.integers(0, SIDE - length)) for length in image.shape)
    change = np.array([[transform, *colours]], dtype=np.uint8)
    canvases = np.stack([np.full(SIDE**2, 3, dtype=np.uint8), encode(grid, SIDE)])
    drawn = draw_images(canvases, np.array([1]), np.array([image.shape]), change, np.array([offset]))
    assert np.array_equal(drawn[0], encode(image, SIDE, (offset[0], offset[1])))


@given(seed=seeds, start=positions)
def test_a_batch_is_that_of_the_slow_reference(stream: ArcExamples, seed: int, start: int) -> None:
    stream = ArcExamples(stream.arrays, stream.variants, seed)
    drawn, batch = stream.examples(start, 9), stream.gather(start, 9)
    for example in range(9):
        pair, slot = int(drawn.pairs[example]), int(drawn.slots[example])
        puzzle = int(stream.arrays.puzzles[pair])
        assert batch.task_types[example] == puzzle * NUM_VARIANTS + slot
        transform, *colours = stream.arrays.index[puzzle, slot].tolist()
        images = [
            recoloured(transformed(decode(np.asarray(tokens[pair]), SIDE), transform), np.uint8(colours))
            for tokens in (stream.arrays.questions, stream.arrays.answers)
        ]
        room = [SIDE - max(image.shape[axis] for image in images) for axis in (0, 1)]
        top, left = (int(drawn.shifts[example, axis] * (room[axis] + 1)) for axis in (0, 1))
        assert np.array_equal(batch.questions[example], encode(images[0], SIDE, (top, left)))
        assert np.array_equal(batch.answers[example], encode(images[1], SIDE, (top, left)))


@given(seed=seeds, epoch=st.integers(0, 10**6))
def test_an_epoch_is_every_pair_once_puzzle_by_puzzle_in_one_variant(
    stream: ArcExamples, seed: int, epoch: int
) -> None:
    stream = ArcExamples(stream.arrays, stream.variants, seed)
    pairs, slots, shifts = stream.examples(epoch * NUM_PAIRS, NUM_PAIRS)
    assert sorted(pairs) == list(range(NUM_PAIRS))
    puzzles = stream.arrays.puzzles[pairs]
    assert np.count_nonzero(np.diff(puzzles)) == NUM_PUZZLES - 1, "one puzzle after the other"
    assert len(set(zip(puzzles.tolist(), slots.tolist(), strict=True))) == NUM_PUZZLES, "one variant each"
    stays = puzzles[(shifts == 0).all(axis=1)]
    assert sorted(stays) == list(range(NUM_PUZZLES)), "one pair of each puzzle stays at the corner"
    assert ((shifts >= 0) & (shifts < 1)).all()


@given(seed=seeds, start=positions, cut=st.integers(0, 20), num=st.integers(1, 20))
def test_an_example_depends_on_its_number_alone(
    stream: ArcExamples, seed: int, start: int, cut: int, num: int
) -> None:
    stream = ArcExamples(stream.arrays, stream.variants, seed)
    whole = stream.gather(start, cut + num)
    part = ArcExamples(stream.arrays, stream.variants, seed).gather(start + cut, num)
    assert all(np.array_equal(a[cut:], b) for a, b in zip(whole, part, strict=True))


def test_streams_of_another_seed_or_epoch_differ_and_variants_are_evenly_drawn(stream: ArcExamples) -> None:
    streams = [ArcExamples(stream.arrays, stream.variants, seed) for seed in (0, 1)]
    orders = {each.examples(NUM_PAIRS * e, NUM_PAIRS).pairs.tobytes() for each in streams for e in range(20)}
    assert len(orders) == 40
    num_epochs = 2000
    types = stream.gather(0, num_epochs * NUM_PAIRS).task_types
    # A puzzle's pairs share their variant: count each puzzle once an epoch.
    first = np.unique(types.reshape(num_epochs, NUM_PAIRS) + np.arange(num_epochs)[:, None] * 1000)
    counts = np.bincount(first % 1000, minlength=stream.num_task_types)
    assert len(counts) == stream.num_task_types == NUM_PUZZLES * NUM_VARIANTS
    mean = num_epochs / NUM_VARIANTS
    assert np.abs(counts - mean).max() < 5 * mean**0.5


def test_the_stream_is_one_of_the_form_that_training_takes(folder: Path, stream: ArcExamples) -> None:
    taken = stream.stream()
    assert (taken.side, taken.num_symbols, taken.num_examples) == (SIDE, 12, NUM_PAIRS)
    assert taken.num_task_types == NUM_PUZZLES * NUM_VARIANTS and len(taken.puzzle_names) == NUM_PUZZLES
    twice = open_arc_examples(folder, 8, seed=0, has_identity_twice=True)
    assert twice.num_task_types == NUM_PUZZLES * 9
    types = twice.gather(0, 200 * NUM_PAIRS).task_types
    assert set(types.tolist()) == set(range(NUM_PUZZLES * 9))
    assert twice.variants == (0, 1, 2, 3, 4, 5, 6, 7, 0), "the identity has a second task type"
    assert describe(twice, 8)[:2] == describe(twice, 0)[:2] == ("training_0", 0)
    assert np.array_equal(describe(twice, 8).permutation, np.arange(10))
