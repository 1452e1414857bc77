"""ARC arrays hold the pairs of their set as tokens, and no test pair of an evaluation puzzle to train on."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from serrm.arrays.arc import ArcArrays, open_arc_arrays, scored_set
from serrm.arrays.arc_evaluation import open_arc_evaluation
from serrm.arrays.arc_index import build_index
from serrm.arrays.arc_stream import open_arc_stream
from serrm.arrays.build_arc import build_arc_arrays
from serrm.arrays.puzzles import TRAIN
from serrm.datasets.arc import AUDIT
from serrm.manifest import data_hash
from serrm.puzzles.arc.canvas import encode

Rows = list[dict[str, Any]]
RowMaker, Writer = Callable[..., Rows], Callable[..., Path]
BUILD: dict[str, Any] = {"task": "arc_agi_1", "num_variants": 10, "seed": 0}


def pairs_of(arrays: ArcArrays) -> list[tuple[str, int, bytes, bytes]]:
    names = [arrays.puzzle_names[puzzle] for puzzle in arrays.puzzles]
    parts = zip(names, arrays.numbers.tolist(), arrays.questions, arrays.answers, strict=True)
    return [(name, number, question.tobytes(), answer.tobytes()) for name, number, question, answer in parts]


def expected_pairs(rows: Rows, side: int) -> list[tuple[str, int, bytes, bytes]]:
    def tokens(row: dict[str, Any], part: str) -> bytes:
        cells = np.frombuffer(row[part], dtype=np.uint8)
        return encode(cells.reshape(row[f"{part}_rows"], row[f"{part}_cols"]), side).tobytes()

    return [(row["puzzle"], row["number"], tokens(row, "question"), tokens(row, "answer")) for row in rows]


def test_each_set_has_its_pairs_as_tokens_at_the_corner(
    make_arc_rows: RowMaker, write_arc_rows: Writer, tmp_path: Path
) -> None:
    rows = make_arc_rows(side=5)
    build_arc_arrays(write_arc_rows(rows), tmp_path / "arrays", side=7, **BUILD)
    train, evaluation = (open_arc_arrays(tmp_path / "arrays", name) for name in (TRAIN, "evaluation"))
    is_asked = [row["role"] == "test" and row["collection"] == "evaluation" for row in rows]
    for arrays, chosen in (
        (train, [row for row, asked in zip(rows, is_asked, strict=True) if not asked]),
        (evaluation, [row for row, asked in zip(rows, is_asked, strict=True) if asked]),
    ):
        assert isinstance(arrays.questions, np.memmap) and isinstance(arrays.index, np.memmap)
        assert len(arrays) == len(chosen)
        assert pairs_of(arrays) == expected_pairs(chosen, 7)
        assert (np.diff(arrays.puzzles) >= 0).all(), "the pairs of one puzzle lie side by side"
        sizes = [[row["answer_rows"], row["answer_cols"]] for row in chosen]
        assert arrays.answer_sizes.tolist() == sizes
        assert np.array_equal(arrays.index, build_index(arrays.puzzle_names, 10, seed=0))
    assert len(train) == 20


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda row: row | {"is_trained": True},
            "test pair 0 of evaluation puzzle evaluation_1 is trained on",
        ),
        (lambda row: row | {"role": "demonstration"}, "no test pair of an evaluation puzzle"),
        (
            lambda row: row | {"collection": ("concept", "training")[row["number"] % 2]},
            "puzzle evaluation_1 is in two collections",
        ),
        (
            lambda row: row | {"collection": "held_out"} if row["puzzle"] == "evaluation_1" else row,
            "evaluation puzzles beside held-out ones",
        ),
        (
            lambda row: row | {"collection": "held_out", "is_trained": True},
            "test pair 0 of held-out puzzle evaluation_1 is trained on",
        ),
    ],
)
def test_wrong_sets_are_refused_and_leave_the_old_arrays(
    make_arc_rows: RowMaker,
    write_arc_rows: Writer,
    tmp_path: Path,
    change: Callable[[dict[str, Any]], dict[str, Any]],
    message: str,
) -> None:
    build_arc_arrays(write_arc_rows(make_arc_rows()), tmp_path / "arrays", **BUILD)
    before = data_hash(tmp_path / "arrays")
    rows = [change(row) if row["collection"] == "evaluation" else row for row in make_arc_rows()]
    with pytest.raises(ValueError, match=message):
        build_arc_arrays(write_arc_rows(rows), tmp_path / "arrays", **BUILD)
    assert data_hash(tmp_path / "arrays") == before
    assert [path.name for path in tmp_path.iterdir()] == ["arrays"]


def test_a_puzzle_that_the_audit_takes_out_is_in_no_set(
    make_arc_rows: RowMaker, write_arc_rows: Writer, tmp_path: Path
) -> None:
    rows = [
        row | {"is_trained": row["is_trained"] and row["puzzle"] != "concept_2"} for row in make_arc_rows()
    ]
    build_arc_arrays(write_arc_rows(rows), tmp_path / "arrays", **BUILD)
    arrays = open_arc_arrays(tmp_path / "arrays", TRAIN)
    assert arrays.puzzle_names == ("training_0", "evaluation_1", "evaluation_3", "training_4")
    assert len(arrays.index) == 4
    assert set(arrays.puzzles.tolist()) == {0, 1, 2, 3}


def test_a_grid_larger_than_the_canvas_is_named(
    make_arc_rows: RowMaker, write_arc_rows: Writer, tmp_path: Path
) -> None:
    with pytest.raises(
        ValueError, match=r"(question|answer) of \w+ \d of \w+: a grid of . x . at .0, 0. is not"
    ):
        build_arc_arrays(write_arc_rows(make_arc_rows(side=5), canvas=3), tmp_path / "arrays", **BUILD)
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_there_is_named(make_arc_rows: RowMaker, write_arc_rows: Writer, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"pairs.parquet: no such file"):
        build_arc_arrays(tmp_path, tmp_path / "arrays", **BUILD)
    pairs = write_arc_rows(make_arc_rows())
    (pairs / AUDIT).unlink()
    with pytest.raises(ValueError, match=r"audit.json: no such file"):
        build_arc_arrays(pairs, tmp_path / "arrays", **BUILD)
    with pytest.raises(ValueError, match=r"no arrays here"):
        open_arc_arrays(tmp_path, TRAIN)
    build_arc_arrays(write_arc_rows(make_arc_rows()), tmp_path / "arrays", **BUILD)
    with pytest.raises(ValueError, match=r"no ARC set '9x9' here, but \['evaluation', 'train'\]"):
        open_arc_arrays(tmp_path / "arrays", "9x9")


def test_puzzles_held_out_are_the_set_to_score(
    make_arc_rows: RowMaker, write_arc_rows: Writer, tmp_path: Path
) -> None:
    renamed = {"evaluation": "held_out"}
    rows = [
        row | {"collection": renamed.get(row["collection"], row["collection"])} for row in make_arc_rows()
    ]
    for name, each in (("held_out", rows), ("evaluation", make_arc_rows())):
        build_arc_arrays(write_arc_rows(each), tmp_path / name, **BUILD)
        assert scored_set(tmp_path / name) == name
        assert open_arc_evaluation(tmp_path / name, 3).set_name == name
    held_out, evaluation = (open_arc_arrays(tmp_path / name, name) for name in ("held_out", "evaluation"))
    assert pairs_of(held_out) == pairs_of(evaluation)
    trained, as_before = (open_arc_arrays(tmp_path / name, TRAIN) for name in ("held_out", "evaluation"))
    assert pairs_of(trained) == pairs_of(as_before)


def test_an_evaluation_puzzle_that_the_audit_left_without_pairs_is_still_scored(
    make_arc_rows: RowMaker, write_arc_rows: Writer, tmp_path: Path
) -> None:
    rows = [row | {"is_trained": row["collection"] == "training"} for row in make_arc_rows()]
    build_arc_arrays(write_arc_rows(rows), tmp_path / "arrays", **BUILD)
    stream = open_arc_stream(tmp_path / "arrays", 3, 0)
    pairs = stream.examples(0, 5 * stream.num_examples).pairs
    assert (
        sorted(set(pairs.tolist())) == list(range(stream.num_examples))
        and len(stream.gather(0, 7).questions) == 7
    )
    scored = open_arc_evaluation(tmp_path / "arrays", 3).answers()
    assert set(scored) == {row["puzzle"] for row in rows if row["collection"] == "evaluation"}
    nothing = [row | {"is_trained": False} for row in rows]
    with pytest.raises(ValueError, match="no pair to train on"):
        build_arc_arrays(write_arc_rows(nothing), tmp_path / "none", **BUILD)
