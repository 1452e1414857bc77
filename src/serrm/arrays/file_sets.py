"""The `read_tests` stage: the puzzles of a user's file as a further test set, in the form of `serrm.arrays.stream`.

    arrays/<data_set>/test/files/<entry>/
        metadata.json
        <set>/          questions.npy, answers.npy

The set has the name of the entry of `tests` in params.yaml; a file with grids of several sizes gives one set per size,
such as mine_4x4 and mine_9x9.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from serrm.arrays.stream import METADATA, PuzzleArrays
from serrm.core.files import new_directory, write_array, write_json
from serrm.puzzles.raw import Grids, Tokens
from serrm.puzzles.tasks import grid_task
from serrm.puzzles.text import shorten
from serrm.reading.question import Question
from serrm.reading.reader import read_file


def write_test_set(file: Path, target: Path, entry: str, task: str, num_puzzles: int | None = None) -> None:
    """Write the test sets of a file's first `num_puzzles` puzzles as arrays; after a ValueError nothing is left."""
    sets = read_test_sets(file, entry, task, num_puzzles)
    with new_directory(target) as folder:
        for puzzles in sets:
            (folder / puzzles.name).mkdir()
            write_array(folder / puzzles.name / "questions.npy", puzzles.questions)
            write_array(folder / puzzles.name / "answers.npy", puzzles.answers)
        sizes = {puzzles.name: {"num_puzzles": len(puzzles), "side": puzzles.side} for puzzles in sets}
        write_json(folder / METADATA, {"task": task, "sets": sizes})


def read_test_sets(file: Path, entry: str, task: str, num_puzzles: int | None = None) -> list[PuzzleArrays]:
    """Read the puzzles of a file, or the first `num_puzzles`, as a test set per grid size of a task on square grids.

    A puzzle without an answer gets its solution by the task's exact method. On mazes this is one of the shortest paths.

    Raises:
        ValueError: a puzzle is of another task, an answer may not be a label (`GridTask.wrong_label`), or the exact
            method finds no solution or more than one of a puzzle without an answer. The message is one line with the
            place in the file.
    """
    by_side: dict[int, list[Question]] = {}
    for question in read_file(file)[:num_puzzles]:
        if question.task != task:
            raise ValueError(f"{question.place}: not a puzzle of {task}: {shorten(question.text)}")
        by_side.setdefault(question.side, []).append(question)
    return [
        PuzzleArrays(
            entry if len(by_side) == 1 else f"{entry}_{side}x{side}",
            side,
            *token_grids(questions, task),
            task,
        )
        for side, questions in sorted(by_side.items())
    ]


def token_grids(questions: Sequence[Question], task: str) -> tuple[Grids, Grids]:
    """Questions and answers of one size as tokens. ValueError: see `read_test_sets`."""
    record, labels = grid_task(task), list[Tokens]()
    layout = "".join(f": {words}" for words in [record.layout(questions[0].side)] if words)
    grids = np.stack([question.cells.reshape(-1) for question in questions])
    for question, cells in zip(questions, grids, strict=True):
        try:
            labels.append(
                record.only_solution(cells) if question.answer is None else question.answer.reshape(-1)
            )
        except ValueError as error:
            raise ValueError(f"{question.place}: {error}{layout}") from None
    if (wrong := record.wrong_label(grids, np.stack(labels))) is not None:
        raise ValueError(f"{questions[wrong[0]].place}: the given answer {wrong[1]}{layout}")
    return grids, np.stack(labels)
