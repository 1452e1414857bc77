"""What the `augment` stage does for each task, as a visible dict: raw files → puzzle sets.

The stage knows no task; a new one is an entry.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from serrm.datasets.arc import write_arc_sets
from serrm.datasets.maze import write_maze_sets
from serrm.datasets.sudoku import write_puzzle_sets
from serrm.puzzles.arc.grid import ARC_VERSIONS

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


def _write_arc(raw: Path, target: Path, task: str, settings: dict[str, Any]) -> None:
    write_arc_sets(raw, target, version=ARC_VERSIONS[task], **settings)
