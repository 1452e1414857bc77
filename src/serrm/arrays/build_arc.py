"""ARC pairs of the augment stage → arrays on disk, in the form that `arrays.arc` opens and describes."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt8

from serrm.arrays.arc import INDEX
from serrm.arrays.arc_index import build_index
from serrm.arrays.puzzles import METADATA, TRAIN
from serrm.datasets.arc import AUDIT, PAIRS
from serrm.files import existing, write_json
from serrm.manifest import data_hash, new_directory
from serrm.puzzles.arc.canvas import encode
from serrm.puzzles.arc.grid import SCORED
from serrm.puzzles.tasks import alphabet

Row = dict[str, Any]  # of the Parquet file


def build_arc_arrays(puzzles: Path, target: Path, *, task: str, num_variants: int, seed: int) -> None:
    """Turn the pairs of the augment stage's folder `puzzles` into arrays under `target`.

    Args:
        puzzles: a folder with `pairs.parquet`, one row a pair, and `audit.json`, which names the side of the canvas.
        target: the folder to write, whole or not at all.
        task: arc_agi_1 or arc_agi_2.
        num_variants: variants of a puzzle in the index, first the eight dihedral transforms, then others by the seed.

    Raises:
        ValueError: a grid is larger than the canvas, there is no pair to train on, a test pair of a puzzle to score
            is marked as trained, there is none, or evaluation puzzles are there beside held-out ones.
    """
    import pyarrow.parquet as pq

    rows: list[Row] = pq.read_table(existing(puzzles / PAIRS)).to_pylist()
    side = int(json.loads(existing(puzzles / AUDIT).read_text(encoding="utf-8"))["canvas"])
    sets = {
        TRAIN: [row for row in rows if row["is_trained"]],
        _scored_collection(rows): [
            row for row in rows if row["collection"] in SCORED and row["role"] == "test"
        ],
    }
    check_sets(sets)
    names = _puzzle_names(rows, sets)
    with new_directory(target) as folder:
        for name, chosen in sets.items():
            _write_set(folder / name, chosen, names, side)
        np.save(folder / INDEX, build_index(names, num_variants, seed))
        metadata = {
            "task": task,
            "side": side,
            "num_symbols": alphabet(task, side).num_symbols,
            "num_variants": num_variants,
            "seed": seed,
            "source_hash": data_hash(puzzles),
            "sets": {name: _counts(chosen, side) for name, chosen in sets.items()},
            "puzzles": names,
        }
        write_json(folder / METADATA, metadata)


def _puzzle_names(rows: list[Row], sets: Mapping[str, list[Row]]) -> tuple[str, ...]:
    """In their order, but for those not scored of which the audit keeps all pairs from training."""
    used = {row["puzzle"] for chosen in sets.values() for row in chosen}
    return tuple(dict.fromkeys(row["puzzle"] for row in rows if row["puzzle"] in used))


def _scored_collection(rows: list[Row]) -> str:
    """The collection whose test pairs are scored: evaluation, or held_out. ValueError if there are both."""
    found = [name for name in SCORED if any(row["collection"] == name for row in rows)]
    if len(found) > 1:
        raise ValueError("evaluation puzzles beside held-out ones: settings are chosen without them")
    return found[0] if found else SCORED[0]


def check_sets(sets: dict[str, list[Row]]) -> None:
    """ValueError if a set is wrong; see `build_arc_arrays`."""
    (name,) = sets.keys() - {TRAIN}
    for row in sets[name]:
        if row["is_trained"]:
            which = name.replace("_", "-")
            raise ValueError(f"test pair {row['number']} of {which} puzzle {row['puzzle']} is trained on")
    if not sets[TRAIN]:
        raise ValueError("no pair to train on")
    if not sets[name]:
        raise ValueError("no test pair of an evaluation puzzle")


def _write_set(folder: Path, rows: list[Row], names: tuple[str, ...], side: int) -> None:
    folder.mkdir()
    places = {name: place for place, name in enumerate(names)}
    rows = sorted(rows, key=lambda row: (places[row["puzzle"]], row["role"], row["number"]))
    for part in ("question", "answer"):
        sizes = [(row[f"{part}_rows"], row[f"{part}_cols"]) for row in rows]
        np.save(folder / f"{part}s.npy", np.stack([_tokens(row, part, side) for row in rows]))
        np.save(folder / f"{part}_sizes.npy", np.array(sizes, dtype=np.uint8))
    np.save(folder / "puzzles.npy", np.array([places[row["puzzle"]] for row in rows], dtype=np.int64))
    np.save(folder / "numbers.npy", np.array([row["number"] for row in rows], dtype=np.int64))


def _tokens(row: Row, part: str, side: int) -> UInt8[np.ndarray, " I"]:
    cells = np.frombuffer(row[part], dtype=np.uint8)
    try:
        return encode(cells.reshape(row[f"{part}_rows"], row[f"{part}_cols"]), side)
    except ValueError as error:
        raise ValueError(f"{part} of {row['role']} {row['number']} of {row['puzzle']}: {error}") from error


def _counts(rows: list[Row], side: int) -> dict[str, int]:
    return {"num_puzzles": len({row["puzzle"] for row in rows}), "num_pairs": len(rows), "side": side}
