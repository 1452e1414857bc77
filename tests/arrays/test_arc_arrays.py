"""ARC pairs as tokens on disk, their variants, the stream of examples, and what is asked of them."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serrm.arrays.arc import (
    NUM_DRAWABLE,
    NUM_PERMUTATIONS,
    ArcArrays,
    ArcEvaluation,
    ArcExamples,
    build_index,
    draw_variants,
    open_arc_arrays,
    open_arc_evaluation,
    open_arc_examples,
    permutations_of_ranks,
    scored_set,
)
from serrm.arrays.stream import TRAIN
from serrm.manifest import data_hash
from serrm.puzzles.arc import decode, encode, recoloured, transformed
from tests.arrays.made_arc import Row, grid_of, make_arrays, make_rows
from tests.references import describe

SIDE, NUM_PUZZLES, NUM_PAIRS, NUM_VARIANTS, NUM_TESTS = 6, 5, 20, 20, 3
ROWS = make_rows(side=SIDE)
TESTS = {(row["puzzle"], row["number"]): row for row in ROWS if row["role"] == "test"}
names, seeds, positions = st.text(max_size=12), st.integers(0, 2**32), st.integers(0, 10**9)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_arrays(tmp_path_factory.mktemp("arc"), ROWS, SIDE, NUM_VARIANTS, seed=3)


@pytest.fixture(scope="module")
def stream(folder: Path) -> ArcExamples:
    return open_arc_examples(folder, NUM_VARIANTS, seed=0)


@pytest.fixture(scope="module")
def evaluation(folder: Path) -> ArcEvaluation:
    return open_arc_evaluation(folder, NUM_VARIANTS)


# On disk.


def pairs_of(arrays: ArcArrays) -> list[tuple[str, int, bytes, bytes]]:
    names = [arrays.puzzle_names[puzzle] for puzzle in arrays.puzzles]
    parts = zip(names, arrays.numbers.tolist(), arrays.questions, arrays.answers, strict=True)
    return [(name, number, question.tobytes(), answer.tobytes()) for name, number, question, answer in parts]


def tokens(row: Row, part: str, side: int) -> bytes:
    return encode(grid_of(row, part), side).tobytes()


@pytest.mark.parametrize("name", ["evaluation", "held_out"])
def test_each_set_has_its_pairs_as_tokens_at_the_corner(tmp_path: Path, name: str) -> None:
    rows = make_rows(side=5)
    for row in rows:
        if row["collection"] == "evaluation":
            row["collection"] = name
    folder = make_arrays(tmp_path, rows, canvas=7)
    assert scored_set(folder) == open_arc_evaluation(folder, 3).set_name == name
    is_asked = [row["role"] == "test" and row["collection"] == name for row in rows]
    for set_name in (TRAIN, name):
        arrays = open_arc_arrays(folder, set_name)
        chosen = [row for row, asked in zip(rows, is_asked, strict=True) if asked == (set_name == name)]
        assert isinstance(arrays.questions, np.memmap) and isinstance(arrays.index, np.memmap)
        assert len(arrays) == len(chosen)
        assert pairs_of(arrays) == [
            (row["puzzle"], row["number"], tokens(row, "question", 7), tokens(row, "answer", 7))
            for row in chosen
        ]
        assert (np.diff(arrays.puzzles) >= 0).all(), "the pairs of one puzzle lie side by side"
        sizes = [[row["answer_rows"], row["answer_cols"]] for row in chosen]
        assert arrays.answer_sizes.tolist() == sizes
        assert np.array_equal(arrays.index, build_index(arrays.puzzle_names, 10, seed=0))
    assert is_asked.count(False) == 20


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda row: {"is_trained": True}, AssertionError),
        (lambda row: {"role": "demonstration"}, ValueError),
        (lambda row: {"collection": "held_out"} if row["puzzle"] == "evaluation_1" else {}, AssertionError),
        (lambda row: {"question_rows": 6, "question_cols": 1, "question": bytes(6)}, ValueError),
    ],
)
def test_wrong_sets_are_refused_and_leave_the_old_arrays(
    tmp_path: Path, change: Callable[[Row], Row], error: type[Exception]
) -> None:
    arrays = make_arrays(tmp_path, make_rows())
    before = data_hash(arrays)
    rows = [row | (change(row) if row["collection"] == "evaluation" else {}) for row in make_rows()]
    with pytest.raises(error):
        make_arrays(tmp_path, rows)
    assert data_hash(arrays) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["arrays", "pairs"]


def test_a_puzzle_that_the_audit_takes_out_is_in_no_set(tmp_path: Path) -> None:
    rows = [row | {"is_trained": row["is_trained"] and row["puzzle"] != "concept_2"} for row in make_rows()]
    arrays = open_arc_arrays(make_arrays(tmp_path, rows), TRAIN)
    assert arrays.puzzle_names == ("training_0", "evaluation_1", "evaluation_3", "training_4")
    assert len(arrays.index) == 4
    assert set(arrays.puzzles.tolist()) == {0, 1, 2, 3}


def test_an_evaluation_puzzle_that_the_audit_left_without_pairs_is_still_scored(tmp_path: Path) -> None:
    rows = [row | {"is_trained": row["collection"] == "training"} for row in make_rows()]
    arrays = make_arrays(tmp_path, rows)
    stream = open_arc_examples(arrays, 3, 0)
    pairs = stream.examples(0, 5 * len(stream.arrays)).pairs
    assert sorted(set(pairs.tolist())) == list(range(len(stream.arrays)))
    assert len(stream.gather(0, 7).questions) == 7
    scored = open_arc_evaluation(arrays, 3).answers()
    assert set(scored) == {row["puzzle"] for row in rows if row["collection"] == "evaluation"}
    with pytest.raises(ValueError, match="no pair in the set train"):
        make_arrays(tmp_path, [row | {"is_trained": False} for row in rows])


# Variants.


def test_ranks_count_all_permutations_in_lexicographic_order() -> None:
    permutations = permutations_of_ranks(np.arange(NUM_PERMUTATIONS))
    assert not permutations[:, 0].any(), "colour 0 stays"
    assert np.array_equal(np.sort(permutations[::97], axis=1)[:, 1:], np.tile(np.arange(1, 10), (3742, 1)))
    as_numbers = permutations.astype(np.int64) @ 10 ** np.arange(9, -1, -1)
    assert (np.diff(as_numbers) > 0).all()
    assert as_numbers[[0, -1]].tolist() == [123456789, 987654321]


@settings(max_examples=20)
@given(names, seeds)
def test_a_thousand_variants_are_different_and_the_first_eight_keep_colours(puzzle: str, seed: int) -> None:
    variants = draw_variants(puzzle, 1000, seed)
    assert len(np.unique(variants, axis=0)) == 1000
    assert variants[:8, 0].tolist() == list(range(8))
    assert (variants[:8, 1:] == np.arange(10)).all()
    assert (variants[8:, 1:] != np.arange(10)).any(axis=1).all()
    assert (np.sort(variants[:, 1:], axis=1) == np.arange(10)).all()
    assert not variants[:, 1].any(), "colour 0 stays"


@settings(max_examples=30)
@given(names, seeds, st.integers(1, 60), st.integers(0, 60))
def test_a_variant_does_not_depend_on_how_many_there_are(puzzle: str, seed: int, num: int, more: int) -> None:
    assert np.array_equal(draw_variants(puzzle, num + more, seed)[:num], draw_variants(puzzle, num, seed))


def test_the_same_variants_on_every_machine() -> None:
    # A change would make every recorded result irreproducible.
    assert draw_variants("007bbfb7", 11, 0)[8:].tolist() == [
        [6, 0, 5, 3, 7, 9, 2, 1, 4, 8, 6],
        [3, 0, 5, 2, 4, 8, 1, 6, 7, 9, 3],
        [6, 0, 1, 3, 2, 7, 6, 8, 4, 9, 5],
    ]


@pytest.mark.parametrize("num", [0, -1, NUM_DRAWABLE + 9])
def test_more_variants_than_there_are_are_refused(num: int) -> None:
    with pytest.raises(ValueError, match=f"{num} variants asked for, a puzzle has 1 to 2903040"):
        draw_variants("a", num, 0)


# Training examples.


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


# Questions.


def test_the_true_answer_of_every_variant_comes_back_as_the_answer(evaluation: ArcEvaluation) -> None:
    answers = {
        place: grid_of(row, "answer") for place, row in TESTS.items() if row["collection"] == "evaluation"
    }
    asked: Counter[tuple[str, int]] = Counter()
    images = set()
    for start in range(0, evaluation.num_examples, 271):
        batch = evaluation.gather(start, min(271, evaluation.num_examples - start))
        inputs = evaluation.inputs(start, len(batch.answers))
        for place, grid in zip(inputs, evaluation.undo(start, batch.answers), strict=True):
            assert np.array_equal(grid, answers[place])
        asked.update(inputs)
        images |= {answer.tobytes() for answer in batch.answers}
    assert asked == dict.fromkeys(answers, NUM_VARIANTS)
    assert len(images) > NUM_VARIANTS
    found = {(name, n): grid for name, grids in evaluation.answers().items() for n, grid in enumerate(grids)}
    assert found.keys() == answers.keys()
    assert all(np.array_equal(found[place], answers[place]) for place in answers)


def test_questions_lie_at_the_corner_in_their_variant(evaluation: ArcEvaluation) -> None:
    for start in range(0, evaluation.num_examples, 61):
        batch, (place,) = evaluation.gather(start, 1), evaluation.inputs(start, 1)
        puzzle, transform, permutation = describe(evaluation, int(batch.task_types[0]))
        assert puzzle == place[0]
        image = recoloured(transformed(grid_of(TESTS[place], "question"), transform), permutation)
        assert np.array_equal(decode(batch.questions[0], SIDE), image)


@given(st.integers(0, NUM_TESTS * NUM_VARIANTS - 1), st.randoms(use_true_random=False))
def test_any_tokens_mean_the_decoded_grid_undone(evaluation: ArcEvaluation, number: int, random: Any) -> None:
    tokens = np.array([random.choice((0, 1, 2, 5, 9, 11, 11, 11)) for _ in range(SIDE**2)], dtype=np.uint8)
    (grid,) = evaluation.undo(number, tokens[None])
    _, transform, permutation = describe(evaluation, int(evaluation.gather(number, 1).task_types[0]))
    assert np.array_equal(recoloured(transformed(grid, transform), permutation), decode(tokens, SIDE))


@pytest.mark.parametrize("twice", [False, True])
def test_task_types_are_those_of_training(folder: Path, twice: bool) -> None:
    stream = open_arc_examples(folder, 8, seed=0, has_identity_twice=twice)
    asked = open_arc_evaluation(folder, 8, has_identity_twice=twice)
    num_votes = 8 + twice
    assert (asked.num_votes, asked.num_examples) == (num_votes, NUM_TESTS * num_votes)
    assert (asked.num_task_types, asked.num_symbols) == (stream.num_task_types, stream.num_symbols)
    types = asked.gather(0, asked.num_examples).task_types.reshape(NUM_TESTS, num_votes)
    assert (types % num_votes == np.arange(num_votes)).all()
    puzzles = [describe(stream, int(row)).puzzle for row in types[:, -1]]
    assert puzzles == ["evaluation_1", "evaluation_1", "evaluation_3"]


def test_variants_that_are_not_there_are_named(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"variants \[20\] asked for, the index has 0 to 19"):
        open_arc_evaluation(folder, NUM_VARIANTS + 1)
    with pytest.raises(ValueError, match="variants"):
        open_arc_evaluation(folder, 0)
