"""The tasks by name. A custom task is a module with its record, and an entry here (docs/extend.md, "Add a task")."""

from typing import Final

from serrm.core.entries import Entries
from serrm.puzzles.arc.record import ARC_AGI_1, ARC_AGI_2
from serrm.puzzles.maze.record import MAZE
from serrm.puzzles.sudoku.record import SUDOKU
from serrm.puzzles.task import Alphabet, ArcTask, GridTask, Task
from serrm.puzzles.text import shorten

TASKS: Final = Entries[Task](
    {
        "sudoku": SUDOKU,
        "maze": MAZE,
        "arc_agi_1": ARC_AGI_1,
        "arc_agi_2": ARC_AGI_2,
    }
)

ARC: Final = "arc"
"""The task of questions of both ARC-AGIs, because files do not say which of the two they belong to."""


def question_task(task: str) -> str:
    """Return the task that the reader gives to questions of this one: `arc` for both ARC-AGIs."""
    return ARC if isinstance(TASKS[task], ArcTask) else task


def task_of(text: str) -> str:
    """Find the task of a user's grid: the last one that recognises it."""
    for name in reversed(TASKS.data):
        record = TASKS[name]
        if isinstance(record, GridTask) and record.recognises(text):
            return name
    raise ValueError(f"no task has such grids: {shorten(text)}")


def drawn_signs() -> str:
    """Return the characters of the tasks with a space among them, in whose grids white space counts."""
    records = (TASKS[name] for name in TASKS.data)
    texts = [record.text.characters for record in records if isinstance(record, GridTask)]
    return "".join(text for text in texts if " " in text)


def alphabet(task: str, side: int) -> Alphabet:
    """Return the alphabet of a task on grids of a side."""
    return TASKS[task].alphabet(side)


def grid_task(task: str) -> GridTask:
    """Return the record of a task on square grids."""
    record = TASKS[task]
    assert isinstance(record, GridTask), f"{task} is not a task on square grids"
    return record
