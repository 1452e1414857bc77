"""The tasks: one record each, which holds all that the stages need to know of it, found by the task's name.

A record needs neither torch nor a drawing library. A task of one's own is a module and an entry of TASKS. Token 0 is
padding in every task; see the paper's section on symbol-equivariant embeddings for special and usual symbols.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, UInt8

from serrm.manifest import Origin
from serrm.puzzles import arc_data, dihedral, maze_data, sudoku_data
from serrm.puzzles.arc import NUM_SYMBOLS
from serrm.puzzles.maze import are_shortest_paths, format_maze
from serrm.puzzles.raw import Column, Published, RawSet, SubsetSettings
from serrm.puzzles.sudoku import apply_symmetries, are_answers, draw_symmetry, format_grid
from serrm.settings import Settings

Grid = UInt8[np.ndarray, " I"]
Grids = UInt8[np.ndarray, "N I"]


@dataclass(frozen=True)
class Alphabet:
    """The token ids 0…K-1 of one task.

    `num_symbols` is K, padding included; `special` are the ids that no symbol permutation may move.
    """

    num_symbols: int
    special: tuple[int, ...] = (0, 1)

    @property
    def usual(self) -> tuple[int, ...]:
        """The ids that symbol permutations act on, ascending."""
        return tuple(token for token in range(self.num_symbols) if token not in self.special)


@dataclass(frozen=True, kw_only=True)
class Task:
    """What every task has."""

    alphabet: Callable[[int], Alphabet]  # of grids of a side
    source: Any  # the kinds of its source, as settings of the download stage
    subset: type[Settings]  # settings of the augment stage
    # (source, directory, seed) → the origins of the files that are made here.
    make: Callable[[Any, Path, int], dict[str, Origin]]
    published: Iterable[Published] = ()  # what the source `hub` downloads
    mirrored: Callable[[Any], list[str]] = (
        lambda source: []
    )  # the names of the files that the source `mirror` copies


@dataclass(frozen=True, kw_only=True)
class GridTask(Task):
    """A task on square grids with one answer a puzzle."""

    # (raw directory, settings of the subset) → the training set, then the test sets.
    raw_sets: Callable[[Path, Any], Mapping[str, RawSet]]
    # By the rules: (questions, answers), as cells of a set.
    are_answers: Callable[[Grids, Grids], Bool[np.ndarray, " N"]]
    format: Callable[[Grid], str]
    offset: int  # added to a cell of a set to make it a token
    most_augmentations: int | None  # of a puzzle; None: any number
    # (seed, puzzle, augmentation, side) → a row of numbers; that of augmentation 0 leaves the puzzle as it is.
    draw: Callable[[int, int, int, int], UInt8[np.ndarray, " P"]]
    apply: Callable[[Grids, UInt8[np.ndarray, "N P"], int], Grids]  # (tokens, a row each, side)
    columns: Mapping[str, Column] = field(default_factory=dict)
    # (training questions, test questions, side) → what audit.json says of them.
    audit: Callable[[Grids, Grids, int], dict[str, Any]] | None = None


@dataclass(frozen=True, kw_only=True)
class ArcTask(Task):
    """An ARC-AGI: puzzles are pairs of coloured grids."""

    version: arc_data.Version


TASKS: dict[str, Task] = {
    "sudoku": GridTask(
        alphabet=lambda side: Alphabet(side + 2),  # 1 blank, 2…n+1 the digits 1…n
        source=sudoku_data.SudokuSource,
        subset=sudoku_data.SudokuSubsetSettings,
        make=sudoku_data.make,
        published=sudoku_data.PUBLISHED,
        mirrored=sudoku_data.mirrored,
        raw_sets=sudoku_data.raw_sets,
        are_answers=are_answers,
        format=format_grid,
        offset=1,
        most_augmentations=None,
        draw=draw_symmetry,
        apply=apply_symmetries,
        columns=sudoku_data.COLUMNS,
    ),
    "maze": GridTask(
        alphabet=lambda side: Alphabet(6),  # 1 wall, 2 space, 3 start, 4 goal, 5 path
        source=maze_data.MazeSource,
        subset=SubsetSettings,
        make=maze_data.make,
        published=maze_data.PUBLISHED,
        mirrored=maze_data.mirrored,
        raw_sets=maze_data.raw_sets,
        are_answers=are_shortest_paths,
        format=format_maze,
        offset=0,
        most_augmentations=dihedral.NUM_TRANSFORMS - 1,
        draw=dihedral.draw_transform,
        apply=dihedral.apply_transforms,
        columns=maze_data.COLUMNS,
        audit=maze_data.audit,
    ),
    **{
        f"arc_agi_{version}": ArcTask(
            alphabet=lambda side: Alphabet(NUM_SYMBOLS),  # 1 end of grid, 2…11 the colours 0…9
            source=arc_data.ArcSource,
            subset=arc_data.ArcSubsetSettings,
            make=arc_data.copy_packaged,
            published=arc_data.PUBLISHED,
            mirrored=arc_data.mirrored,
            version=version,
        )
        for version in arc_data.VERSIONS
    },
}


def alphabet(task: str, side: int) -> Alphabet:
    """The alphabet of a task on grids of a side."""
    return TASKS[task].alphabet(side)


def grid_task(task: str) -> GridTask:
    """The record of a task on square grids."""
    record = TASKS[task]
    assert isinstance(record, GridTask), f"{task} is no task on square grids"
    return record
