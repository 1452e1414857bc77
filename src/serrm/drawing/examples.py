"""Puzzles with a run's predictions, as an evaluation keeps them (`serrm.scoring.predictions`), to be drawn.

A malformed file is a ValueError of one line with its name.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from serrm.drawing.puzzles import DrawnPuzzle, Scene
from serrm.puzzles.raw import Tokens
from serrm.scoring.predictions import read_predictions


class Example(NamedTuple):
    """A puzzle with a run's predictions by the number of supervision steps, as an evaluation keeps them."""

    set: str
    name: str
    is_right: bool  # after the most steps
    puzzle: DrawnPuzzle


def read_examples(path: Path, *, num_per_set: int | None = None, number: int | None = None) -> list[Example]:
    """Read the predictions.parquet of a run: all puzzles, the first ones of every set, or one by its number, from 1.

    The name of a puzzle of ARC-AGI ends with the number of the test, as "0a1b2c3d, test 2". ValueError, with the file,
    if it is malformed or has no such puzzle.
    """
    table = read_predictions(path)
    try:
        if num_per_set is not None:
            table = table.filter(table["puzzle"].to_numpy() < num_per_set)
        if number is not None:
            steps = table["steps"].to_numpy()
            starts = [*np.flatnonzero(steps == min(steps, default=0)), len(table)]
            if number >= len(starts):
                raise ValueError(f"there is no puzzle {number}")
            table = table.slice(starts[number - 1], starts[number] - starts[number - 1])
        rows = table.to_pylist()
        return [
            _example(list(puzzle_rows)) for _, puzzle_rows in groupby(rows, lambda r: (r["set"], r["puzzle"]))
        ]
    except KeyError as error:
        raise ValueError(f"{path}: no column {error}") from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _example(rows: Sequence[Mapping[str, Any]]) -> Example:
    """Build a puzzle from its rows, one per number of steps, ascending. ValueError if a grid does not fit the task."""
    last = rows[-1]
    question, answer = _tokens(last["question"]), _tokens(last["answer"])
    predictions = {row["steps"]: _tokens(row["prediction"]) for row in rows}
    puzzle = DrawnPuzzle(last["task"], last["side"], question, answer, predictions)
    return Example(last["set"], last["name"], last["solved"], puzzle)


def example_scene(path: Path, example: Example) -> Scene:
    """Build a scene from a puzzle of a predictions.parquet."""
    return Scene(f"{path.parent.name}: {example.set}, {example.name}", [example.puzzle])


def _tokens(content: bytes) -> Tokens:
    return np.frombuffer(content, dtype=np.uint8)
