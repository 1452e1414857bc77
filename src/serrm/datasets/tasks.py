"""What the `augment` stage does for each task: raw files → puzzle sets."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from serrm.datasets.arc import write_arc_sets
from serrm.datasets.maze import write_maze_sets
from serrm.datasets.sudoku import write_puzzle_sets

# (raw folder, target folder, settings of the task's augment section)
WRITE_SETS: dict[str, Callable[[Path, Path, Any], None]] = {
    "sudoku": write_puzzle_sets,
    "maze": write_maze_sets,
    "arc_agi_1": partial(write_arc_sets, version=1),
    "arc_agi_2": partial(write_arc_sets, version=2),
}
"""By task. A task of one's own is one entry more."""


def write_sets(raw: Path, target: Path, task: str, settings: Any) -> None:
    """The `augment` stage: seeded subsets of a task's raw files, every answer checked, as Parquet in `target`."""
    WRITE_SETS[task](raw, target, settings)
