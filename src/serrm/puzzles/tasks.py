"""The tasks: one record each, by name, from which all stages and commands read what differs between tasks.

A record needs neither torch nor a drawing library. A task of one's own is a module and an entry of TASKS. Token 0 is
padding in every task; see the paper's section on symbol-equivariant embeddings for special and usual symbols.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, UInt8

from serrm.files import Origin
from serrm.puzzles import arc, maze, sudoku, sudoku_data
from serrm.puzzles.raw import Column, Published, RawSet, SubsetSettings
from serrm.settings import Settings

Grid = UInt8[np.ndarray, " I"]
Grids = UInt8[np.ndarray, "N I"]
Cells = UInt8[np.ndarray, "..."]
Rule = Callable[[Grids, Grids], Bool[np.ndarray, " N"]]  # (questions, answers) → which answers obey it
# Digits in boxes, walls and a path between them, or cells read off a canvas.
Look = Literal["digits", "maze", "colours"]


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
    """The record of a task. Grids are tokens unless noted otherwise."""

    alphabet: Callable[[int], Alphabet]  # of grids of a side
    # Where puzzles come from. `source` are the kinds of the download stage's setting of that name, `make` is
    # (source, directory, seed) → the origins of the files made here, `mirrored` is source → names of files to copy,
    # and `in_words` describes (source, augment), as a params file has them.
    source: Any
    subset: type[Settings]  # settings of the augment stage
    make: Callable[[Any, Path, int], dict[str, Origin]]
    published: Iterable[Published] = ()  # what the source `hub` downloads
    mirrored: Callable[[Any], list[str]] = lambda source: []
    in_words: Callable[[Mapping[str, Any], Mapping[str, Any]], str]
    # Numbers of the published set, by the names of the settings; means a puzzle: training examples and test inputs.
    counts: Mapping[str, int | float] = field(default_factory=dict)
    # Answers.
    verify: Rule | None = None  # which predictions are right, without the answer
    blank: int | None = None  # the token of the cells that a question leaves open
    # Which questions break no rule. Where there is one, tokens above the blank may be guessed in its place.
    allows: Callable[[Grids], Bool[np.ndarray, " N"]] | None = None
    is_symmetric: bool = False  # its usual symbols may be exchanged for one another
    # Pictures: `judge` is (side, prediction, question, answer) → a remark, such as "7 of 51 blanks wrong".
    look: Look
    judge: Callable[[int, Grid, Grid, Grid | None], str]


@dataclass(frozen=True, kw_only=True)
class GridTask(Task):
    """A task on square grids with one answer a puzzle."""

    # (raw directory, settings of the subset) → the training set, then the test sets.
    raw_sets: Callable[[Path, Any], Mapping[str, RawSet]]
    are_answers: Rule  # as cells of a set
    format: Callable[[Grid], str]  # of the cells of a set
    offset: int  # added to a cell of a set to make it a token
    columns: Mapping[str, Column] = field(default_factory=dict)  # of a set
    # (training questions, test questions, side) → entries of audit.json.
    audit: Callable[[Grids, Grids, int], dict[str, Any]] | None = None
    most_augmentations: int | None  # of a puzzle; None: any number
    # (seed, puzzle, augmentation, side) → a row of numbers; that of augmentation 0 leaves the puzzle as it is.
    draw: Callable[[int, int, int, int], UInt8[np.ndarray, " P"]]
    apply: Callable[[Grids, UInt8[np.ndarray, "N P"], int], Grids]  # (tokens, a row each, side)
    # By cells of a set: why a question has no solution, if that is quick to see, and its solutions by an exact method.
    flaw: Callable[[Grid], str | None] = lambda question: None
    solutions: Callable[[Grid, Mapping[int, int]], Iterator[Grid]] | None = None  # with likely values by cell
    exact_method: str = ""
    # What is counted of predictions besides those that are the answer, by the name of the score.
    rules: Mapping[str, Rule] = field(default_factory=dict)

    def tokens(self, cells: Cells) -> Cells:
        """Cells of a set as tokens."""
        return cells + np.uint8(self.offset)

    def cells(self, tokens: Cells) -> Cells:
        """Tokens as cells of a set."""
        return tokens - np.uint8(self.offset)

    def solution(self, question: Grid) -> Grid | None:
        """A solution of a question by the exact method; None if there is none, or no such method."""
        return None if self.solutions is None else next(self.solutions(question, {}), None)


@dataclass(frozen=True, kw_only=True)
class ArcTask(Task):
    """An ARC-AGI: puzzles are pairs of coloured grids, and variants of a question vote on its answer."""

    version: arc.Version


TASKS: dict[str, Task] = {
    "sudoku": GridTask(
        alphabet=lambda side: Alphabet(side + 2),  # 1 blank, 2…n+1 the digits 1…n
        source=sudoku_data.SudokuSource,
        subset=sudoku_data.SudokuSubsetSettings,
        make=sudoku_data.make,
        published=sudoku_data.PUBLISHED,
        mirrored=sudoku_data.mirrored,
        in_words=sudoku_data.in_words,
        counts={"side": 9, "num_train": 3_831_994, "num_test": 422_786, "num_4x4": 288, "num_25x25": 42},
        verify=sudoku.solves,
        blank=sudoku.BLANK,
        allows=sudoku.allows,
        is_symmetric=True,
        look="digits",
        judge=sudoku.judge,
        raw_sets=sudoku_data.raw_sets,
        are_answers=sudoku.are_answers,
        format=sudoku.format_grid,
        offset=sudoku.BLANK,
        columns=sudoku_data.COLUMNS,
        most_augmentations=None,
        draw=sudoku.draw_symmetry,
        apply=sudoku.apply_symmetries,
        flaw=sudoku.flaw,
        solutions=sudoku.solutions,
        exact_method="cp-sat",
    ),
    "maze": GridTask(
        alphabet=lambda side: Alphabet(6),  # 1 wall, 2 space, 3 start, 4 goal, 5 path
        source=maze.MazeSource,
        subset=SubsetSettings,
        make=maze.make,
        published=maze.PUBLISHED,
        mirrored=maze.mirrored,
        in_words=maze.in_words,
        counts={"side": 30, "num_train": 1_000, "num_test": 1_000},
        verify=maze.are_valid_paths,
        blank=maze.SPACE,
        look="maze",
        judge=maze.judge,
        raw_sets=maze.raw_sets,
        are_answers=maze.are_shortest_paths,
        format=maze.format_maze,
        offset=0,
        columns=maze.COLUMNS,
        audit=maze.audit,
        most_augmentations=arc.NUM_TRANSFORMS - 1,
        draw=maze.draw_transform,
        apply=maze.apply_transforms,
        flaw=maze.flaw,
        solutions=maze.solutions,
        exact_method="breadth-first search",
        # No maze of Maze-Hard has a unique shortest path: exact match also tests the tie-breaking of the labels.
        rules={"valid": maze.are_valid_paths, "valid_shortest": maze.are_shortest_paths},
    ),
    **{
        f"arc_agi_{version}": ArcTask(
            alphabet=lambda side: Alphabet(arc.NUM_SYMBOLS),  # 1 end of grid, 2…11 the colours 0…9
            source=arc.ArcSource,
            subset=arc.ArcSubsetSettings,
            make=arc.copy_packaged,
            published=arc.PUBLISHED,
            mirrored=arc.mirrored,
            in_words=arc.in_words,
            counts=arc.COUNTS[version],
            is_symmetric=True,
            look="colours",
            judge=arc.judge,
            version=version,
        )
        for version in arc.VERSIONS
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
