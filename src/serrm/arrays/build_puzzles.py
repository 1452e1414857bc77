"""Puzzle sets of tasks on square grids → arrays on disk, in the form that `arrays.puzzles` opens."""

from pathlib import Path

import numpy as np

from serrm.arrays.images import IMAGES, Images
from serrm.arrays.puzzles import AUGMENTATIONS, METADATA, TRAIN
from serrm.datasets.parquet import read_puzzle_set
from serrm.files import write_json
from serrm.manifest import data_hash, new_directory
from serrm.progress import watch


def build_arrays(
    puzzles: Path, target: Path, *, seed: int, num_prebuilt: int = 0, task: str = "sudoku"
) -> None:
    """Turn every Parquet set in `puzzles` into arrays under `target`, with the training set's images.

    `num_prebuilt` is the number of stored images a training puzzle (0: drawn on the fly; mazes store none).
    """
    images = IMAGES[task]
    sets: dict[str, dict[str, int]] = {}
    with new_directory(target) as folder:
        for path in sorted(puzzles.glob("*.parquet")):
            grids = read_puzzle_set(path)
            num_puzzles, side = len(grids[0]), round(grids[0].shape[1] ** 0.5)
            name = path.stem.removeprefix("test_")
            (folder / name).mkdir()
            for part, cells in zip(("questions", "answers"), grids, strict=True):
                np.save(folder / name / f"{part}.npy", cells + np.uint8(images.offset))
            sets[name] = {"num_puzzles": num_puzzles, "side": side}
            if name == TRAIN and num_prebuilt and images.most is None:
                shape = num_puzzles, num_prebuilt + 1
                _write_images(folder / name / AUGMENTATIONS, images, shape, side, seed)
        metadata = {"task": task, "seed": seed, "sets": sets, "source_hash": data_hash(puzzles)}
        write_json(folder / METADATA, metadata)


def _write_images(path: Path, images: Images, shape: tuple[int, int], side: int, seed: int) -> None:
    size = len(images.draw(seed, 0, 0, side))
    rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.uint8, shape=(*shape, size))
    for puzzle in watch(range(shape[0]), "augmenting puzzles", shape[0]):
        rows[puzzle] = [images.draw(seed, puzzle, member, side) for member in range(shape[1])]
    rows.flush()
