"""What the stages of data do for each task, as visible dicts: raw files → puzzle sets → arrays → training stream.

The stages call these functions and know no task; a new task is an entry in each dict.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from serrm.data.arc_arrays import build_arc_arrays
from serrm.data.arc_sets import write_arc_sets
from serrm.data.arc_stream import open_arc_stream
from serrm.data.arrays import TRAIN, build_arrays, open_arrays, read_metadata
from serrm.data.batches import ExampleStream, Stream
from serrm.data.maze_sets import write_maze_sets
from serrm.data.puzzle_sets import write_puzzle_sets

ARC_VERSIONS: dict[str, Literal[1, 2]] = {"arc_agi_1": 1, "arc_agi_2": 2}

# (raw folder, target folder, task, settings of the task's augment section)
WRITE_SETS: dict[str, Callable[[Path, Path, str, dict[str, Any]], None]] = {
    "sudoku": lambda raw, target, task, settings: write_puzzle_sets(raw, target, **settings),
    "maze": lambda raw, target, task, settings: write_maze_sets(raw, target, **settings),
    "arc_agi_1": lambda raw, target, task, settings: _write_arc(raw, target, task, settings),
    "arc_agi_2": lambda raw, target, task, settings: _write_arc(raw, target, task, settings),
}


def write_sets(raw: Path, target: Path, task: str, settings: dict[str, Any]) -> None:
    """The `augment` stage: seeded subsets of a task's raw files, every answer checked, as Parquet in `target`."""
    WRITE_SETS[task](raw, target, task, settings)


def build(
    puzzles: Path, target: Path, task: str, *, num_augmentations: int, prebuilt: bool, seed: int
) -> None:
    """The `build_arrays` stage: a task's puzzle sets as memory-mapped arrays in `target`."""
    if task in ARC_VERSIONS:
        build_arc_arrays(puzzles, target, task=task, num_variants=num_augmentations + 1, seed=seed)
    else:
        build_arrays(puzzles, target, seed=seed, num_prebuilt=num_augmentations if prebuilt else 0, task=task)


def open_stream(
    arrays: Path, num_augmentations: int, seed: int, *, has_identity_twice: bool = False
) -> Stream:
    """The training examples of a folder of arrays, with that many symmetric images of each puzzle.

    `has_identity_twice` makes the ARC puzzle itself a variant more, a fault of the published code.
    """
    if read_metadata(arrays)["task"] in ARC_VERSIONS:
        return open_arc_stream(arrays, num_augmentations + 1, seed, has_identity_twice=has_identity_twice)
    return ExampleStream(open_arrays(arrays, TRAIN), num_augmentations, seed)


def _write_arc(raw: Path, target: Path, task: str, settings: dict[str, Any]) -> None:
    write_arc_sets(raw, target, version=ARC_VERSIONS[task], **settings)
