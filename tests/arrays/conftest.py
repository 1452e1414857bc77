"""Folders of made-up ARC pairs, in the form that the augment stage leaves them in."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from serrm.datasets.arc import AUDIT, PAIRS, schema

# Collection, demonstrations and test pairs of the puzzles.
PUZZLES = [
    ("training", 3, 1),
    ("evaluation", 2, 2),
    ("concept", 4, 3),
    ("evaluation", 3, 1),
    ("training", 2, 2),
]
Row = dict[str, Any]


@pytest.fixture(scope="session")
def make_arc_rows() -> Callable[[int, int], list[Row]]:
    """Random pairs on grids of every size up to `side`, as rows of the Parquet file."""

    def make(side: int = 5, seed: int = 0) -> list[Row]:
        rng = np.random.default_rng(seed)
        return [
            row(rng, side, f"{collection}_{place}", collection, role, number)
            for place, (collection, *counts) in enumerate(PUZZLES)
            for role, num in zip(("demonstration", "test"), counts, strict=True)
            for number in range(num)
        ]

    return make


def row(rng: np.random.Generator, side: int, puzzle: str, collection: str, role: str, number: int) -> Row:
    parts: Row = {}
    for part in ("question", "answer"):
        grid = rng.integers(0, 10, rng.integers(1, side + 1, 2), dtype=np.uint8)
        parts |= {f"{part}_rows": grid.shape[0], f"{part}_cols": grid.shape[1], part: grid.tobytes()}
    is_trained = role == "demonstration" or collection != "evaluation"
    facts = {"puzzle": puzzle, "collection": collection, "role": role, "number": number}
    return facts | {"is_trained": is_trained} | parts


@pytest.fixture(scope="session")
def write_arc_rows(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Write rows as the Parquet file of a new folder, with the audit that names the canvas."""

    def write(rows: list[Row], canvas: int = 5) -> Path:
        folder = tmp_path_factory.mktemp("pairs")
        pq.write_table(pa.Table.from_pylist(rows, schema=schema()), folder / PAIRS)
        (folder / AUDIT).write_text(json.dumps({"canvas": canvas}))
        return folder

    return write
