"""Puzzle sets → arrays: the `build_arrays` stage, for every task."""

from collections.abc import Callable
from pathlib import Path

from serrm.arrays.build_arc import build_arc_arrays
from serrm.arrays.build_puzzles import build_arrays
from serrm.arrays.settings import ArraySettings


def build(puzzles: Path, target: Path, task: str, settings: ArraySettings) -> None:
    """The `build_arrays` stage: a task's puzzle sets as memory-mapped arrays in `target`."""
    BUILD.get(task, _build_grids)(puzzles, target, task, settings)


def _build_grids(puzzles: Path, target: Path, task: str, settings: ArraySettings) -> None:
    build_arrays(puzzles, target, seed=settings.seed, task=task)


def _build_arc(puzzles: Path, target: Path, task: str, settings: ArraySettings) -> None:
    num_variants = settings.num_augmentations + 1
    build_arc_arrays(puzzles, target, task=task, num_variants=num_variants, seed=settings.seed)


BUILD: dict[str, Callable[[Path, Path, str, ArraySettings], None]] = {
    "arc_agi_1": _build_arc,
    "arc_agi_2": _build_arc,
}
"""Of the tasks that are not on square grids with one answer a puzzle."""
