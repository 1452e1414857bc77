"""The tasks by name. A task of one's own is a module with its record, and an entry here."""

from typing import Final

from serrm.puzzles.arc.record import ARC_AGI_1, ARC_AGI_2
from serrm.puzzles.maze.record import MAZE
from serrm.puzzles.sudoku.record import SUDOKU
from serrm.puzzles.task import Alphabet, ArcTask, GridTask, Task

TASKS: Final[dict[str, Task]] = {
    "sudoku": SUDOKU,
    "maze": MAZE,
    "arc_agi_1": ARC_AGI_1,
    "arc_agi_2": ARC_AGI_2,
}

ARC: Final = "arc"
"""The task of questions of either ARC-AGI, as files do not tell which."""


def asked_as(task: str) -> str:
    """The task of the questions that a checkpoint of a task answers, as `serrm.reading` has it."""
    return ARC if isinstance(TASKS[task], ArcTask) else task


def alphabet(task: str, side: int) -> Alphabet:
    """The alphabet of a task on grids of a side."""
    return TASKS[task].alphabet(side)


def grid_task(task: str) -> GridTask:
    """The record of a task on square grids."""
    record = TASKS[task]
    assert isinstance(record, GridTask), f"{task} is no task on square grids"
    return record
