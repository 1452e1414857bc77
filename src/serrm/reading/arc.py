"""ARC puzzles of decoded JSON: a question for each test input, with the puzzle's demonstrations."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from pydantic import ValidationError

from serrm.puzzles.arc.data import RawPuzzle
from serrm.puzzles.arc.grids import Grid, Pair
from serrm.puzzles.tasks import ARC
from serrm.puzzles.text import as_text, shorten
from serrm.reading.question import Question

FORM = 'an ARC puzzle is {"train": pairs, "test": pairs}, and a pair {"input": rows, "output": rows}'


def arc_questions(value: Mapping[str, Any], place: str, name: str) -> Iterator[Question]:
    """The test inputs of an ARC puzzle, as questions. ValueError naming the first wrong key."""
    try:
        puzzle = RawPuzzle.model_validate({"train": [], **value})
    except ValidationError as error:
        first = error.errors()[0]
        key, value_text = "/".join(map(str, first["loc"])), shorten(as_text(first["input"]))
        raise ValueError(f"{place}: {key}: {first['msg']}: {value_text}") from None
    if not puzzle.test:
        raise ValueError(f"{place}: an ARC puzzle without a test: {FORM}")
    pairs = [(grid_of(pair.input), pair.output) for pair in puzzle.train]
    demonstrations = tuple(Pair(question, grid_of(rows)) for question, rows in pairs if rows is not None)
    for number, test in enumerate(puzzle.test, start=1):
        cells, answer = grid_of(test.input), None if test.output is None else grid_of(test.output)
        text = json.dumps(test.input)
        yield Question(ARC, cells, f"{place} test {number}", text, answer, name, demonstrations)


def grid_of(rows: list[list[int]]) -> Grid:
    """Rows of colours as an ARC grid."""
    return np.array(rows, dtype=np.uint8)
