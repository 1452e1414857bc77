"""The `build_arrays` stage: puzzle sets become arrays on disk, in the forms that `stream` and `arc` open."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from serrm.arrays.arc import INDEX, build_index
from serrm.arrays.groups import Groups, write_groups
from serrm.arrays.stream import METADATA, TEST, TRAIN, TRAINING
from serrm.core.files import existing, new_directory, write_array, write_json
from serrm.datasets.arc import AUDIT, PAIRS
from serrm.datasets.sets import GRADE, read_grades, read_puzzle_set
from serrm.puzzles.arc.grids import NUM_SYMBOLS, SCORED, encode
from serrm.puzzles.settings import ArraySettings
from serrm.puzzles.task import GridTask
from serrm.puzzles.tasks import TASKS

Row = dict[str, Any]  # of the Parquet file


def build(puzzles: Path, target: Path, task: str, settings: ArraySettings) -> None:
    """Write a data set's puzzles as memory-mapped arrays to the folders `training` and `test/drawn` of `target`."""
    if isinstance(TASKS[task], GridTask):
        build_grid_arrays(puzzles, target, task=task, seed=settings.seed)
    else:
        num_variants = settings.num_augmentations + 1
        build_arc_arrays(puzzles, target, task=task, num_variants=num_variants, seed=settings.seed)


def build_grid_arrays(puzzles: Path, target: Path, *, task: str, seed: int) -> None:
    """Turn every Parquet set of square grids in `puzzles` into arrays under `target`."""
    sets: dict[str, dict[str, int]] = {}
    with new_directory(target / TRAINING) as training, new_directory(target / TEST) as test:
        for path in sorted(puzzles.glob("*.parquet")):
            grids = read_puzzle_set(path)
            name = path.stem.removeprefix("test_")
            sets[name] = {"num_puzzles": len(grids[0]), "side": round(grids[0].shape[1] ** 0.5)}
            folder = training if name == TRAIN else test / name
            folder.mkdir(exist_ok=True)
            for part, tokens in zip(("questions", "answers"), grids, strict=True):
                write_array(folder / f"{part}.npy", tokens)
            grades = read_grades(path) if name != TRAIN else None
            if grades is not None:
                write_groups(folder, Groups({GRADE: grades}))
        of_training = {TRAIN: sets.pop(TRAIN)}
        write_json(training / METADATA, {"task": task, "seed": seed, "sets": of_training})
        write_json(test / METADATA, {"task": task, "sets": sets})


def build_arc_arrays(puzzles: Path, target: Path, *, task: str, num_variants: int, seed: int) -> None:
    """Turn the pairs of the folder `puzzles`, which stage `choose_puzzles` wrote, into arrays under `target`.

    The order of the puzzles stays. A puzzle that is not scored and has no pair left after the audit is left out.

    Args:
        puzzles: a folder with `pairs.parquet`, one row per pair, and `audit.json`, which names the side of the canvas.
        num_variants: variants per puzzle in the index, first the eight dihedral transforms, then others by the seed.

    Raises:
        ValueError: there is no pair to train on, or none to score.
    """
    import pyarrow.parquet as pq

    rows: list[Row] = pq.read_table(existing(puzzles / PAIRS)).to_pylist()
    side = int(json.loads(existing(puzzles / AUDIT).read_text(encoding="utf-8"))["canvas"])
    # A data set scores evaluation puzzles or, to choose settings, held-out puzzles in their place.
    collections = {row["collection"] for row in rows} & {*SCORED}
    assert len(collections) < 2, "both evaluation and held-out puzzles are scored"
    if not collections:
        raise ValueError(f"{puzzles}: no pair in a set to score")
    (scored_name,) = collections
    scored = [row for row in rows if row["collection"] in collections and row["role"] == "test"]
    assert not any(row["is_trained"] for row in scored), "a pair that is scored is trained on"
    sets = {TRAIN: [row for row in rows if row["is_trained"]], scored_name: scored}
    for name, chosen in sets.items():
        if not chosen:
            raise ValueError(f"{puzzles}: no pair in the set {name}")
    used = {row["puzzle"] for chosen in sets.values() for row in chosen}
    names = tuple(dict.fromkeys(row["puzzle"] for row in rows if row["puzzle"] in used))
    with new_directory(target / TRAINING) as training, new_directory(target / TEST) as test:
        counts: dict[str, dict[str, int]] = {}
        for name, chosen in sets.items():
            _write_pairs(training if name == TRAIN else test / name, chosen, names, side)
            num_puzzles = len({row["puzzle"] for row in chosen})
            counts[name] = {"num_puzzles": num_puzzles, "num_pairs": len(chosen), "side": side}
        if groups := _groups_of_rules(scored, names):
            write_groups(test / scored_name, groups)
        write_array(training / INDEX, build_index(names, num_variants, seed))
        metadata = {
            "task": task,
            "side": side,
            "num_symbols": NUM_SYMBOLS,
            "num_variants": num_variants,
            "seed": seed,
            "sets": {TRAIN: counts.pop(TRAIN)},
            "puzzles": names,
        }
        write_json(training / METADATA, metadata)
        write_json(test / METADATA, {"task": task, "side": side, "sets": counts})


def _groups_of_rules(rows: list[Row], names: tuple[str, ...]) -> Groups | None:
    """Return the families and the rules of generated puzzles in the order of `names`; None for published puzzles."""
    by_puzzle = {row["puzzle"]: row for row in rows if row["rule"] is not None}
    ordered = [by_puzzle[name] for name in names if name in by_puzzle]
    groups = {
        "family": [row["family"] for row in ordered],
        "parts": ["one part" if row["num_parts"] == 1 else "two parts" for row in ordered],
    }
    return Groups(groups, [row["rule"] for row in ordered]) if ordered else None


def _write_pairs(folder: Path, rows: list[Row], names: tuple[str, ...], side: int) -> None:
    folder.mkdir(exist_ok=True)
    numbers = {name: number for number, name in enumerate(names)}
    rows = sorted(rows, key=lambda row: (numbers[row["puzzle"]], row["role"], row["number"]))
    for part in ("question", "answer"):
        sizes = [(row[f"{part}_rows"], row[f"{part}_cols"]) for row in rows]
        grids = [
            np.frombuffer(row[part], np.uint8).reshape(size) for row, size in zip(rows, sizes, strict=True)
        ]
        write_array(folder / f"{part}s.npy", np.stack([encode(grid, side) for grid in grids]))
        write_array(folder / f"{part}_sizes.npy", np.array(sizes, dtype=np.uint8))
    write_array(folder / "puzzles.npy", np.array([numbers[row["puzzle"]] for row in rows], dtype=np.int64))
    write_array(folder / "numbers.npy", np.array([row["number"] for row in rows], dtype=np.int64))
