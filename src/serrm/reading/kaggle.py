"""ARC puzzles in Kaggle's files: challenges, the solutions to their tests in files of their own, a sample submission.

The files may lie side by side, in a folder or in an archive, with or without compression.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from serrm.core.files import parse_content
from serrm.puzzles.arc.data import SOLUTIONS
from serrm.reading.arc import grid_of
from serrm.reading.inputs import ENDINGS, Document
from serrm.reading.question import Question

SUBMISSION = "sample_submission"  # has no puzzles


def solutions_beside(path: Path) -> list[Path]:
    """The file of solutions beside a file of challenges; empty if there is none."""
    name = _name_of_solutions(path.name)
    stem = name.partition(".")[0]
    names = [name, *(f"{stem}.json{ending}" for ending in ("", *ENDINGS))]
    files = [path.with_name(name) for name in names if path.with_name(name).is_file()]
    return [] if name == path.name else files[:1]


def paired(documents: Sequence[Document]) -> list[tuple[Document, Document | None]]:
    """The documents with puzzles, each with its solutions if they are among the documents."""
    names = {(document.folder, document.stem) for document in documents}
    of_solutions = {(folder, _name_of_solutions(stem)) for folder, stem in names if "challenges" in stem}
    solutions = {
        (document.folder, document.stem): document
        for document in documents
        if (document.folder, document.stem) in of_solutions
    }
    return [
        (document, solutions.get((document.folder, _name_of_solutions(document.stem))))
        for document in documents
        if (document.folder, document.stem) not in solutions
        and (document.stem != SUBMISSION or len(documents) == 1)
    ]


def with_answers(questions: Iterable[Question], solutions: Document) -> list[Question]:
    """The tests of ARC puzzles with their answers. ValueError if a puzzle has too few or too many of them."""
    answers = parse_content(str(solutions.content).encode(), solutions.name, SOLUTIONS.validate_json)
    complete = list[Question]()
    for name, group in groupby(questions, lambda question: question.name):
        tests, grids = list(group), answers.get(name, [])
        if len(tests) != len(grids):
            raise ValueError(f"{solutions.name}: {len(grids)} answers to the {len(tests)} tests of {name}")
        pairs = zip(tests, grids, strict=True)
        complete += [replace(test, answer=grid_of(rows)) for test, rows in pairs]
    return complete


def _name_of_solutions(name: str) -> str:
    """The name of the file of solutions to a file of challenges; other names unchanged."""
    return name.replace("challenges", "solutions")
