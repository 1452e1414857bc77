"""Puzzle sets → arrays: the `build_arrays` stage, for every task."""

from pathlib import Path

from serrm.arrays.build_arc import build_arc_arrays
from serrm.arrays.build_puzzles import build_arrays
from serrm.puzzles.arc.grid import ARC_VERSIONS


def build(
    puzzles: Path, target: Path, task: str, *, num_augmentations: int, prebuilt: bool, seed: int
) -> None:
    """The `build_arrays` stage: a task's puzzle sets as memory-mapped arrays in `target`."""
    if task in ARC_VERSIONS:
        build_arc_arrays(puzzles, target, task=task, num_variants=num_augmentations + 1, seed=seed)
    else:
        build_arrays(puzzles, target, seed=seed, num_prebuilt=num_augmentations if prebuilt else 0, task=task)
