"""Puzzle sets of Sudokus and mazes → arrays on disk, in the form that `arrays.puzzles` opens."""

import json
from pathlib import Path

import numpy as np

from serrm.arrays.puzzles import AUGMENTATIONS, METADATA, TRAIN, draw_augmentation
from serrm.datasets.sudoku import read_puzzle_set
from serrm.manifest import data_hash, new_directory
from serrm.progress import watch
from serrm.puzzles.sudoku.grid import box_for_side

# What is added to a cell of a puzzle set to make it a token: Sudoku sets hold digits, maze sets tokens.
OFFSETS = {"sudoku": 1, "maze": 0}


def build_arrays(
    puzzles: Path, target: Path, *, seed: int, num_prebuilt: int = 0, task: str = "sudoku"
) -> None:
    """Turn every Parquet set in `puzzles` into arrays under `target`, with the training set's augmentations.

    `num_prebuilt` is the number of stored augmentations a training puzzle (0: drawn on the fly; mazes store none).
    """
    with new_directory(target) as folder:
        _write_sets(puzzles, folder, task, seed, num_prebuilt if task == "sudoku" else 0)


def _write_sets(puzzles: Path, target: Path, task: str, seed: int, num_prebuilt: int) -> None:
    sets: dict[str, dict[str, int]] = {}
    offset = np.uint8(OFFSETS[task])
    for path in sorted(puzzles.glob("*.parquet")):
        questions, answers = read_puzzle_set(path)
        side = round(questions.shape[1] ** 0.5)
        folder = target / path.stem.removeprefix("test_")
        folder.mkdir()
        np.save(folder / "questions.npy", questions + offset)
        np.save(folder / "answers.npy", answers + offset)
        sets[folder.name] = {"num_puzzles": len(questions), "side": side}
        if folder.name == TRAIN and num_prebuilt:
            _write_augmentations(folder / AUGMENTATIONS, len(questions), num_prebuilt, side, seed)
    metadata = {"task": task, "seed": seed, "sets": sets, "source_hash": data_hash(puzzles)}
    (target / METADATA).write_text(json.dumps(metadata, indent=2) + "\n")


def _write_augmentations(path: Path, num_puzzles: int, num: int, side: int, seed: int) -> None:
    box = box_for_side(side)
    shape = (num_puzzles, num + 1, 3 * side + 1)
    rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.uint8, shape=shape)
    for puzzle in watch(range(num_puzzles), "augmenting puzzles", num_puzzles):
        rows[puzzle] = [draw_augmentation(seed, puzzle, member, box) for member in range(num + 1)]
    rows.flush()
