"""Puzzle sets → arrays: the `build_arrays` stage, for every task."""

from pathlib import Path

from serrm.arrays.build_arc import build_arc_arrays
from serrm.arrays.build_puzzles import build_arrays
from serrm.arrays.settings import ArraySettings
from serrm.puzzles.tasks import TASKS, GridTask


def build(puzzles: Path, target: Path, task: str, settings: ArraySettings) -> None:
    """Write a task's puzzle sets as memory-mapped arrays to `target`."""
    if isinstance(TASKS[task], GridTask):
        build_arrays(puzzles, target, seed=settings.seed, task=task)
    else:
        num_variants = settings.num_augmentations + 1
        build_arc_arrays(puzzles, target, task=task, num_variants=num_variants, seed=settings.seed)
