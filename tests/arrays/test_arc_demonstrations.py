"""Which trained pairs are asked: demonstrations of the puzzles to score, a seeded few, as they were published."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from serrm.arrays.arc_demonstrations import ArcDemonstrations, open_arc_demonstrations
from serrm.arrays.arc_stream import open_arc_stream
from serrm.arrays.build_arc import build_arc_arrays
from serrm.puzzles.arc.canvas import encode
from tests.references import describe

SIDE, NUM_VARIANTS = 5, 12
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def rows(make_arc_rows: Callable[..., Rows]) -> Rows:
    """With one demonstration of an evaluation puzzle that the audit has dropped."""
    dropped = ("evaluation_3", "demonstration", 1)
    return [
        row | {"is_trained": row["is_trained"] and (row["puzzle"], row["role"], row["number"]) != dropped}
        for row in make_arc_rows(side=SIDE, seed=1)
    ]


@pytest.fixture(scope="module")
def folder(
    rows: Rows, write_arc_rows: Callable[[Rows], Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    target = tmp_path_factory.mktemp("arc") / "arrays"
    build_arc_arrays(write_arc_rows(rows), target, task="arc_agi_1", num_variants=NUM_VARIANTS, seed=0)
    return target


def names(pairs: ArcDemonstrations) -> list[tuple[str, int]]:
    puzzles = [pairs.arrays.puzzle_names[puzzle] for puzzle in pairs.arrays.puzzles[pairs.places]]
    return list(zip(puzzles, pairs.arrays.numbers[pairs.places].tolist(), strict=True))


def test_they_are_the_trained_demonstrations_of_the_scored_puzzles(folder: Path) -> None:
    expected = [("evaluation_1", 0), ("evaluation_1", 1), ("evaluation_3", 0), ("evaluation_3", 2)]
    assert names(open_arc_demonstrations(folder, NUM_VARIANTS, 99)) == expected
    assert len(open_arc_demonstrations(folder, NUM_VARIANTS, 0)) == 0


def test_a_few_of_them_are_the_same_few_for_every_model(folder: Path) -> None:
    few, fewer = (names(open_arc_demonstrations(folder, num, 2)) for num in (NUM_VARIANTS, 8))
    assert few == fewer and len(few) == 2
    assert set(few) < set(names(open_arc_demonstrations(folder, NUM_VARIANTS, 3)))


@pytest.mark.parametrize("has_identity_twice", [False, True])
def test_they_are_asked_at_the_corner_with_the_task_types_of_training(
    folder: Path, rows: Rows, has_identity_twice: bool
) -> None:
    pairs = open_arc_demonstrations(folder, 8, 99, has_identity_twice=has_identity_twice)
    stream = open_arc_stream(folder, 8, seed=0, has_identity_twice=has_identity_twice)
    demonstrations = {(row["puzzle"], row["number"]): row for row in rows if row["role"] == "demonstration"}
    asked = [pairs.gather(start, 3) for start in (0, 3)]
    assert [len(batch.questions) for batch in asked] == [3, 1]
    for part, given in (("question", "questions"), ("answer", "answers")):
        tokens = np.concatenate([getattr(batch, given) for batch in asked])
        for name, canvas in zip(names(pairs), tokens, strict=True):
            row = demonstrations[name]
            grid = np.frombuffer(row[part], np.uint8).reshape(row[f"{part}_rows"], -1)
            assert np.array_equal(canvas, encode(grid, SIDE))
    for (name, _), row_of_table in zip(names(pairs), [r for b in asked for r in b.task_types], strict=True):
        assert describe(stream.task_types, int(row_of_table))[:2] == (name, 0)
