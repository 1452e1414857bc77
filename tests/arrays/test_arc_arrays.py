"""ARC arrays hold the pairs of their set as tokens, and no test pair of an evaluation puzzle to train on."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from serrm.arrays.arc import ArcArrays, open_arc_arrays, scored_set
from serrm.arrays.arc_evaluation import open_arc_evaluation
from serrm.arrays.arc_index import build_index
from serrm.arrays.arc_stream import open_arc_examples
from serrm.arrays.build_arc import build_arc_arrays
from serrm.arrays.puzzles import TRAIN
from serrm.datasets.arc import AUDIT
from serrm.manifest import data_hash
from serrm.puzzles.arc.canvas import encode
from tests.arrays.made_arc import Row, grid_of, make_arrays, make_rows


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
    ("change", "message"),
    [
        (lambda row: {"is_trained": True}, "test pair 0 of evaluation puzzle evaluation_1 is trained on"),
        (lambda row: {"role": "demonstration"}, "no test pair of an evaluation puzzle"),
        (
            lambda row: {"collection": "held_out"} if row["puzzle"] == "evaluation_1" else {},
            "evaluation puzzles beside held-out ones",
        ),
        (
            lambda row: {"collection": "held_out", "is_trained": True},
            "test pair 0 of held-out puzzle evaluation_1 is trained on",
        ),
        (
            lambda row: {"question_rows": 6, "question_cols": 1, "question": bytes(6)},
            r"question of demonstration 0 of evaluation_1: a grid of 6 x 1 at \(0, 0\) is not within",
        ),
    ],
)
def test_wrong_sets_are_refused_and_leave_the_old_arrays(
    tmp_path: Path, change: Callable[[Row], Row], message: str
) -> None:
    arrays = make_arrays(tmp_path, make_rows())
    before = data_hash(arrays)
    rows = [row | (change(row) if row["collection"] == "evaluation" else {}) for row in make_rows()]
    with pytest.raises(ValueError, match=message):
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
    with pytest.raises(ValueError, match="no pair to train on"):
        make_arrays(tmp_path, [row | {"is_trained": False} for row in rows])


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no ARC set '9x9' here, but \['evaluation', 'train'\]"):
        open_arc_arrays(make_arrays(tmp_path, make_rows()), "9x9")
    with pytest.raises(ValueError, match=r"no arrays here"):
        open_arc_arrays(tmp_path, TRAIN)
    (tmp_path / "pairs" / AUDIT).unlink()
    for folder, name in ((tmp_path / "pairs", AUDIT), (tmp_path, "pairs.parquet")):
        with pytest.raises(ValueError, match=f"{name}: no such file"):
            build_arc_arrays(folder, tmp_path / "new", task="arc_agi_1", num_variants=10, seed=0)
