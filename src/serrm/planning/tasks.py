"""What a task comes to: how many puzzles its settings give, before any is there, and what an answer to one takes.

Of those made here the number is exact, of published ones as known.
Which ARC-AGI puzzles fit a canvas only the files tell, so its pairs are the published sets' average a puzzle.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from sys import maxsize
from typing import Any

from serrm.datasets.settings import ArcSubsetSettings, SubsetSettings, SudokuSubsetSettings
from serrm.puzzles.dihedral import NUM_TRANSFORMS
from serrm.sources.sudoku_layout import NUM_HELD_OUT
from serrm.sources.sudoku_settings import GeneratedSource, MirrorSource

EXTREME_1K = (1_000, 9_488)  # and the rest of the test puzzles beside them
SUDOKU_EXTREME = (3_831_994, 422_786)  # training and test puzzles
NUM_4X4, NUM_25X25 = 288, 42  # published; of the 100 of 25×25 only these have a solution
MAZE_HARD = (1_000, 1_000)
MAZE_SIDE = 30


@dataclass(frozen=True)
class Counts:
    """Examples of an epoch and the side of their grids; by side of grid, the puzzles or test inputs to be scored on."""

    side: int
    num_train: int
    tests: dict[int, int]
    num_puzzles: int = 1  # that have task types of their own
    num_demonstrations: int = 0  # pairs of the scored puzzles that are trained on


@dataclass(frozen=True)
class PlannedTask:
    """A task as a forecast and a rehearsal see it."""

    counts: Callable[[Any, Any], Counts]  # (source, subset), the settings of the download and augment stages
    has_votes: bool = False  # many variants of a puzzle vote on its answer, which no rule verifies
    is_symmetric: bool = False  # its usual symbols may be exchanged for one another
    has_blanks: bool = False  # that may be guessed
    most_symmetries: int = maxsize  # of a puzzle
    rehearsed: int = 1  # supervision steps at most in a rehearsal


def _sudoku(source: Any, subset: SudokuSubsetSettings) -> Counts:
    train, test = SUDOKU_EXTREME
    others = {"4x4": NUM_4X4, "16x16": source.num_16x16, "25x25": NUM_25X25}
    if isinstance(source, GeneratedSource):
        train, test, others["25x25"] = source.num_train, source.num_test, source.num_25x25
    elif isinstance(source, MirrorSource) and source.folder_9x9.endswith("1k"):
        train, test = EXTREME_1K
    if subset.scored == "held_out":
        return Counts(9, subset.num_train or train, {9: subset.num_test or NUM_HELD_OUT})
    tests = {9: subset.num_test or test} | {
        int(name.partition("x")[0]): num or others[name] for name, num in subset.num_test_sizes.items()
    }
    return Counts(9, subset.num_train or train, tests)


def _maze(source: Any, subset: SubsetSettings) -> Counts:
    is_made_here = source.kind == "generated"
    train, test = (source.num_train, source.num_test) if is_made_here else MAZE_HARD
    side = source.side if is_made_here else MAZE_SIDE
    return Counts(side, subset.num_train or train, {side: subset.num_test or test})


@dataclass(frozen=True)
class ArcSet:
    """A published ARC-AGI: puzzles trained on, with ConceptARC's, and scored on; pairs trained on; test inputs."""

    num_train: int
    num_test: int
    num_pairs: int
    num_inputs: int
    num_demonstrations: int

    def __call__(self, source: Any, subset: ArcSubsetSettings) -> Counts:
        """The subset's counts."""
        train, test = subset.num_train or self.num_train, subset.num_test or self.num_test
        pairs = round((train + test) * self.num_pairs / (self.num_train + self.num_test))
        inputs = round(test * self.num_inputs / self.num_test)
        demonstrations = round(test * self.num_demonstrations / self.num_test)
        return Counts(subset.canvas, pairs, {subset.canvas: inputs}, train + test, demonstrations)


ARC = partial(PlannedTask, has_votes=True, is_symmetric=True)
# By task. A task of one's own is one entry more.
TASKS = {
    # Sudoku's steps are cheap, and the tables show the 16th.
    "sudoku": PlannedTask(_sudoku, is_symmetric=True, has_blanks=True, rehearsed=16),
    "maze": PlannedTask(_maze, most_symmetries=NUM_TRANSFORMS, rehearsed=3),
    "arc_agi_1": ARC(ArcSet(560, 400, 3988, 419, 1363)),
    "arc_agi_2": ARC(ArcSet(1160, 120, 5573, 172, 358)),
}
