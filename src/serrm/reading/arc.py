"""ARC puzzles of decoded JSON: a question per test input, with demonstrations; Kaggle's answers in files of their own.

Kaggle's files (challenges, solutions, a sample submission) may lie side by side, in a folder or in an archive.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np

from serrm.core.archives import Document
from serrm.core.files import parse_content
from serrm.puzzles.arc.data import SOLUTIONS, RawPuzzle
from serrm.puzzles.arc.grids import Grid, Pair
from serrm.puzzles.tasks import ARC
from serrm.puzzles.text import as_text
from serrm.reading.question import Question

FORM = 'an ARC puzzle is {"train": pairs, "test": pairs}, and a pair {"input": rows, "output": rows}'


def arc_questions(value: Mapping[str, Any], place: str, name: str) -> Iterator[Question]:
    """Yield the test inputs of an ARC puzzle, as questions. ValueError naming the first wrong key."""
    puzzle = parse_content(as_text(value).encode(), f"{place}: ARC puzzle", RawPuzzle.model_validate_json)
    if not puzzle.test or any(pair.output is None for pair in puzzle.train):
        raise ValueError(f"{place}: no test, or a demonstration without output; {FORM}")
    name = str(next((value[key] for key in ("name", "id", "task_id", "puzzle_id") if key in value), name))
    demonstrations = tuple(Pair(grid_of(pair.input), grid_of(pair.output or [])) for pair in puzzle.train)
    for number, test in enumerate(puzzle.test, start=1):
        answer, text = None if test.output is None else grid_of(test.output), json.dumps(test.input)
        yield Question(ARC, grid_of(test.input), f"{place} test {number}", text, answer, name, demonstrations)


def grid_of(rows: list[list[int]]) -> Grid:
    """Convert rows of colours to an ARC grid."""
    return np.array(rows, dtype=np.uint8)


def solutions_to(document: Document, documents: Sequence[Document]) -> Document | None:
    """Find the solutions to a file of challenges among these documents."""
    stem, folder = document.stem.replace("challenges", "solutions"), document.path.parent
    others = [other for other in documents if other.stem == stem] if stem != document.stem else []
    return max(others, key=lambda other: other.path.parent == folder, default=None)


def with_answers(questions: Iterable[Question], solutions: Document | None) -> list[Question]:
    """Return the tests of ARC puzzles with their answers, if there are any.

    ValueError for too few or too many of them.
    """
    if solutions is None:
        return [*questions]
    name_of_file, complete = str(solutions.path), list[Question]()
    answers = parse_content(str(solutions.content).encode(), name_of_file, SOLUTIONS.validate_json)
    for name, group in groupby(questions, lambda question: question.name):
        tests, grids = list(group), answers.get(name, [])
        if len(tests) != len(grids):
            raise ValueError(f"{name_of_file}: {len(grids)} answers to the {len(tests)} tests of {name}")
        complete += [replace(test, answer=grid_of(rows)) for test, rows in zip(tests, grids, strict=True)]
    return complete
