"""What scoring and solving ask of a task: one record each, found by the task's name.

A task whose record has no tally is scored by votes: one answer to a puzzle comes from many variants of it (ARC-AGI).
"""

from collections.abc import Callable
from dataclasses import dataclass

from serrm.inference.breadth import Symmetries, maze_symmetries, sudoku_symmetries
from serrm.inference.verify import Verify, solves_sudoku
from serrm.puzzles.maze.paths import are_valid_paths
from serrm.scoring.metrics import MazeTally, SudokuTally


@dataclass(frozen=True)
class TaskEvaluation:
    """How predictions of a task are counted and verified, and which images of a puzzle are as good as itself."""

    tally: Callable[[], SudokuTally] | None = None  # counts one answer a puzzle
    verify: Verify | None = None  # tells a right answer without knowing it
    symmetries: Symmetries | None = None
    is_symmetric: bool = False  # its usual symbols may be exchanged for one another


ARC = TaskEvaluation(is_symmetric=True)
TASKS = {
    "sudoku": TaskEvaluation(SudokuTally, solves_sudoku, sudoku_symmetries, is_symmetric=True),
    "maze": TaskEvaluation(MazeTally, are_valid_paths, maze_symmetries),
    "arc_agi_1": ARC,
    "arc_agi_2": ARC,
}
