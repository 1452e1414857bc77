"""ARC pairs as tokens on disk, their variants, the stream of examples, and the questions of an evaluation."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serrm.arrays import arc as arrays_module
from serrm.arrays.arc import ArcEvaluation, ArcExamples, draw_variants, open_arc_arrays
from serrm.arrays.build import build_arc_arrays
from serrm.arrays.stream import TRAIN
from serrm.datasets.arc import AUDIT, PAIRS, schema
from serrm.puzzles.arc.grids import Grid, decode, encode, recoloured
from serrm.puzzles.transforms import transformed
from tests.hashing import data_hash
from tests.references import describe

# Collection, demonstrations and test pairs of the puzzles.
PUZZLES = [
    ("training", 3, 1),
    ("evaluation", 2, 2),
    ("concept", 4, 3),
    ("evaluation", 3, 1),
    ("training", 2, 2),
]
SIDE, NUM_PUZZLES, NUM_PAIRS, NUM_ON_DISK, NUM_VARIANTS, NUM_TESTS = 6, 5, 20, 20, 8, 3
Row = dict[str, Any]
names, seeds, positions = st.text(max_size=12), st.integers(0, 2**32), st.integers(0, 10**9)


def make_rows(side: int = 5) -> list[Row]:
    """Random pairs on grids of every size up to `side`, as rows of the Parquet file."""
    rng, rows = np.random.default_rng(0), []
    for place, (collection, *counts) in enumerate(PUZZLES):
        for role, num in zip(("demonstration", "test"), counts, strict=True):
            for number in range(num):
                row = {"puzzle": f"{collection}_{place}", "collection": collection, "role": role}
                row |= {"number": number, "is_trained": role == "demonstration" or collection != "evaluation"}
                for part in ("question", "answer"):
                    grid = rng.integers(0, 10, rng.integers(1, side + 1, 2), dtype=np.uint8)
                    num_rows, num_columns = grid.shape
                    row |= {f"{part}_rows": num_rows, f"{part}_cols": num_columns, part: grid.tobytes()}
                rows.append(row)
    return rows


def grid_of(row: Row, part: str) -> Grid:
    return np.frombuffer(row[part], dtype=np.uint8).reshape(row[f"{part}_rows"], -1)


def make_arrays(
    folder: Path, rows: list[Row], canvas: int = 5, num_variants: int = 10, seed: int = 0
) -> Path:
    """The arrays of rows, beside their Parquet file in a new folder."""
    (folder / "pairs").mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=schema()), folder / "pairs" / PAIRS)
    (folder / "pairs" / AUDIT).write_text(json.dumps({"canvas": canvas}))
    target = folder / "arrays"
    build_arc_arrays(folder / "pairs", target, task="arc_agi_1", num_variants=num_variants, seed=seed)
    return target


ROWS = make_rows(SIDE)
TESTS = {(row["puzzle"], row["number"]): row for row in ROWS if row["role"] == "test"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_arrays(tmp_path_factory.mktemp("arc"), ROWS, SIDE, NUM_ON_DISK, seed=3)


@pytest.fixture(scope="module")
def stream(folder: Path) -> ArcExamples:
    return ArcExamples(open_arc_arrays(folder, "train"), NUM_VARIANTS, seed=0)


@pytest.fixture(scope="module")
def evaluation(folder: Path) -> ArcEvaluation:
    return arrays_module.open_arc_evaluation(folder, NUM_VARIANTS)


# On disk.


@pytest.mark.parametrize("name", ["evaluation", "held_out"])
def test_each_set_has_its_pairs_as_tokens_at_the_corner(tmp_path: Path, name: str) -> None:
    rows = [
        row | {"collection": name if row["collection"] == "evaluation" else row["collection"]}
        for row in make_rows()
    ]
    folder = make_arrays(tmp_path, rows, canvas=7)
    assert arrays_module.open_arc_evaluation(folder, 3).name == name
    for set_name in (TRAIN, name):
        arrays = open_arc_arrays(folder, set_name)
        chosen = [row for row in rows if row["is_trained"] == (set_name == TRAIN)]
        assert isinstance(arrays.questions, np.memmap) and isinstance(arrays.index, np.memmap)
        assert len(arrays) == len(chosen) == {TRAIN: 20}.get(set_name, NUM_TESTS)
        assert [arrays.puzzle_names[puzzle] for puzzle in arrays.puzzles] == [row["puzzle"] for row in chosen]
        assert arrays.numbers.tolist() == [row["number"] for row in chosen]
        for part in ("question", "answer"):
            tokens = [encode(grid_of(row, part), 7) for row in chosen]
            assert np.array_equal(getattr(arrays, f"{part}s"), tokens)
            sizes = [[row[f"{part}_rows"], row[f"{part}_cols"]] for row in chosen]
            assert getattr(arrays, f"{part}_sizes").tolist() == sizes
        expected = np.stack([draw_variants(puzzle, 10, 0) for puzzle in arrays.puzzle_names])
        assert np.array_equal(arrays.index, expected)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda row: {"is_trained": True}, AssertionError),
        (lambda row: {"role": "demonstration"}, ValueError),
        (lambda row: {"collection": "held_out"} if row["puzzle"] == "evaluation_1" else {}, AssertionError),
        (lambda row: {"question_rows": 6, "question_cols": 1, "question": bytes(6)}, ValueError),
    ],
)
def test_wrong_sets_are_refused(tmp_path: Path, change: Callable[[Row], Row], error: type[Exception]) -> None:
    arrays = make_arrays(tmp_path, make_rows())
    before = data_hash(arrays)
    rows = [row | (change(row) if row["collection"] == "evaluation" else {}) for row in make_rows()]
    with pytest.raises(error):
        make_arrays(tmp_path, rows)
    assert data_hash(arrays) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["arrays", "pairs"]


def test_a_puzzle_without_trained_pairs_is_in_no_set_unless_it_is_scored(tmp_path: Path) -> None:
    rows = [
        row | {"is_trained": row["is_trained"] and row["puzzle"] not in ("concept_2", "evaluation_1")}
        for row in make_rows()
    ]
    folder = make_arrays(tmp_path, rows)
    stream = ArcExamples(open_arc_arrays(folder, "train"), 3, 0)
    assert stream.arrays.puzzle_names == ("training_0", "evaluation_1", "evaluation_3", "training_4")
    assert len(stream.arrays.index) == 4
    pairs = stream.examples(0, len(stream.arrays)).pairs
    assert sorted(pairs.tolist()) == list(range(len(stream.arrays)))
    assert set(arrays_module.open_arc_evaluation(folder, 3).answers()) == {"evaluation_1", "evaluation_3"}


# Variants.


@settings(max_examples=20)
@given(names, seeds, st.integers(1, 60))
def test_variants_differ_begin_with_the_transforms_and_are_nested(puzzle: str, seed: int, num: int) -> None:
    variants = draw_variants(puzzle, 1000, seed)
    assert len(np.unique(variants, axis=0)) == 1000
    assert variants[:8, 0].tolist() == list(range(8))
    assert (variants[:8, 1:] == np.arange(10)).all()
    assert (variants[8:, 1:] != np.arange(10)).any(axis=1).all()
    assert (np.sort(variants[:, 1:], axis=1) == np.arange(10)).all()
    assert not variants[:, 1].any(), "colour 0 stays"
    assert np.array_equal(draw_variants(puzzle, num, seed), variants[:num])


def test_the_same_variants_on_every_machine() -> None:
    # A change would make every recorded result irreproducible.
    assert draw_variants("007bbfb7", 11, 0)[8:].tolist() == [
        [6, 0, 5, 3, 7, 9, 2, 1, 4, 8, 6],
        [3, 0, 5, 2, 4, 8, 1, 6, 7, 9, 3],
        [6, 0, 1, 3, 2, 7, 6, 8, 4, 9, 5],
    ]


@pytest.mark.parametrize("num", [0, -1, arrays_module.NUM_DRAWABLE + 9])
def test_more_variants_than_there_are_are_refused(folder: Path, num: int) -> None:
    with pytest.raises(ValueError, match=rf"^{num} .*\b2903040\b"):
        draw_variants("a", num, 0)
    with pytest.raises(ValueError, match="variants"):
        arrays_module.open_arc_evaluation(folder, min(num, NUM_ON_DISK + 1))


# Training examples.


@given(seed=seeds, epoch=st.integers(0, 10**6))
def test_an_epoch_is_every_pair_once_puzzle_by_puzzle(stream: ArcExamples, seed: int, epoch: int) -> None:
    stream = ArcExamples(stream.arrays, stream.num_variants, seed)
    pairs, slots, shifts = stream.examples(epoch * NUM_PAIRS, NUM_PAIRS)
    assert sorted(pairs) == list(range(NUM_PAIRS))
    puzzles = stream.arrays.puzzles[pairs]
    assert np.count_nonzero(np.diff(puzzles)) == NUM_PUZZLES - 1, "one puzzle after the other"
    assert len(set(zip(puzzles.tolist(), slots.tolist(), strict=True))) == NUM_PUZZLES, "one variant each"
    stays = puzzles[(shifts == 0).all(axis=1)]
    assert sorted(stays) == list(range(NUM_PUZZLES)), "one pair of each puzzle stays at the corner"
    batch = stream.gather(epoch * NUM_PAIRS, NUM_PAIRS)
    for example, pair in enumerate(pairs.tolist()):
        puzzle, transform, permutation = describe(stream, int(batch.task_types[example]))
        assert puzzle == stream.arrays.puzzle_names[puzzles[example]]
        grids = [
            recoloured(transformed(decode(np.asarray(tokens[pair]), SIDE), transform), permutation)
            for tokens in (stream.arrays.questions, stream.arrays.answers)
        ]
        room = [SIDE - max(grid.shape[axis] for grid in grids) for axis in (0, 1)]
        top, left = (int(shifts[example, axis] * (room[axis] + 1)) for axis in (0, 1))
        assert 0 <= top <= room[0] and 0 <= left <= room[1]
        assert np.array_equal(batch.questions[example], encode(grids[0], SIDE, (top, left)))
        assert np.array_equal(batch.answers[example], encode(grids[1], SIDE, (top, left)))


@given(seed=seeds, start=positions, cut=st.integers(0, 20), num=st.integers(1, 20))
def test_example_n_is_a_function_of_n(stream: ArcExamples, seed: int, start: int, cut: int, num: int) -> None:
    stream = ArcExamples(stream.arrays, stream.num_variants, seed)
    whole = stream.gather(start, cut + num)
    part = ArcExamples(stream.arrays, stream.num_variants, seed).gather(start + cut, num)
    assert all(np.array_equal(a[cut:], b) for a, b in zip(whole, part, strict=True))


def test_epochs_and_seeds_are_shuffled_differently_and_variants_evenly(stream: ArcExamples) -> None:
    streams = [ArcExamples(stream.arrays, stream.num_variants, seed) for seed in (0, 1)]
    orders = {each.examples(NUM_PAIRS * e, NUM_PAIRS).pairs.tobytes() for each in streams for e in range(20)}
    assert len(orders) == 40
    num_epochs = 4000
    # A puzzle's pairs share their variant: count one pair of each puzzle.
    drawn = stream.examples(0, num_epochs * NUM_PAIRS)
    first = drawn.variants[np.isin(drawn.pairs, np.unique(stream.arrays.puzzles, return_index=True)[1])]
    mean = num_epochs * NUM_PUZZLES / NUM_VARIANTS
    assert np.abs(np.bincount(first, minlength=NUM_VARIANTS) - mean).max() < 5 * mean**0.5


# Questions.


def test_questions_are_variants_at_the_corner_and_answers_come_back(evaluation: ArcEvaluation) -> None:
    scored = {place: row for place, row in TESTS.items() if row["collection"] == "evaluation"}
    asked: Counter[tuple[str, int]] = Counter()
    for start in range(0, evaluation.num_examples, 17):
        batch = evaluation.gather(start, min(17, evaluation.num_examples - start))
        inputs = evaluation.inputs(start, len(batch.answers))
        asked.update(inputs)
        undone = evaluation.undo(start, batch.answers)
        for place, grid, question, row in zip(inputs, undone, batch.questions, batch.task_types, strict=True):
            assert np.array_equal(grid, grid_of(scored[place], "answer"))
            puzzle, transform, permutation = describe(evaluation, int(row))
            assert puzzle == place[0]
            variant = recoloured(transformed(grid_of(scored[place], "question"), transform), permutation)
            assert np.array_equal(question, encode(variant, SIDE))
    assert asked == dict.fromkeys(scored, NUM_VARIANTS)
    answers = {
        (name, n): grid for name, grids in evaluation.answers().items() for n, grid in enumerate(grids)
    }
    assert answers.keys() == scored.keys()
    assert all(np.array_equal(answers[place], grid_of(row, "answer")) for place, row in scored.items())
