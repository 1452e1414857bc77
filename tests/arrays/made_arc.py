"""Made-up ARC pairs, in the form that the augment stage leaves them in, and arrays of them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from serrm.arrays.build import build_arc_arrays
from serrm.datasets.arc import AUDIT, PAIRS, schema
from serrm.puzzles.arc import Grid

# Collection, demonstrations and test pairs of the puzzles.
PUZZLES = [
    ("training", 3, 1),
    ("evaluation", 2, 2),
    ("concept", 4, 3),
    ("evaluation", 3, 1),
    ("training", 2, 2),
]
Row = dict[str, Any]


def make_rows(side: int = 5, seed: int = 0) -> list[Row]:
    """Random pairs on grids of every size up to `side`, as rows of the Parquet file."""
    rng = np.random.default_rng(seed)
    return [
        make_row(rng, side, f"{collection}_{place}", collection, role, number)
        for place, (collection, *counts) in enumerate(PUZZLES)
        for role, num in zip(("demonstration", "test"), counts, strict=True)
        for number in range(num)
    ]


def make_row(
    rng: np.random.Generator, side: int, puzzle: str, collection: str, role: str, number: int
) -> Row:
    parts: Row = {}
    for part in ("question", "answer"):
        grid = rng.integers(0, 10, rng.integers(1, side + 1, 2), dtype=np.uint8)
        parts |= {f"{part}_rows": grid.shape[0], f"{part}_cols": grid.shape[1], part: grid.tobytes()}
    is_trained = role == "demonstration" or collection != "evaluation"
    facts = {"puzzle": puzzle, "collection": collection, "role": role, "number": number}
    return facts | {"is_trained": is_trained} | parts


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
