"""Puzzle sets of tasks on square grids → arrays on disk, in the form that `arrays.puzzles` opens."""

from pathlib import Path

import numpy as np

from serrm.arrays.puzzles import METADATA
from serrm.datasets.sets import read_puzzle_set
from serrm.files import write_json
from serrm.manifest import data_hash, new_directory
from serrm.puzzles.tasks import grid_task


def build_arrays(puzzles: Path, target: Path, *, seed: int, task: str = "sudoku") -> None:
    """Turn every Parquet set in `puzzles` into arrays under `target`."""
    sets: dict[str, dict[str, int]] = {}
    with new_directory(target) as folder:
        for path in sorted(puzzles.glob("*.parquet")):
            grids = read_puzzle_set(path)
            num_puzzles, side = len(grids[0]), round(grids[0].shape[1] ** 0.5)
            name = path.stem.removeprefix("test_")
            (folder / name).mkdir()
            for part, cells in zip(("questions", "answers"), grids, strict=True):
                np.save(folder / name / f"{part}.npy", cells + np.uint8(grid_task(task).offset))
            sets[name] = {"num_puzzles": num_puzzles, "side": side}
        metadata = {"task": task, "seed": seed, "sets": sets, "source_hash": data_hash(puzzles)}
        write_json(folder / METADATA, metadata)
