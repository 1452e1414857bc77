"""The stage `choose_puzzles`: puzzle sets as Parquet.

Tasks on square grids have one file per set, with one row per puzzle. The stage draws the puzzles to train on and to
score; augmentations are drawn when a batch is gathered. A set is a seeded subset of a raw file. Every answer is checked
by the rules, and no test puzzle is a training puzzle. Files are streamed, so memory holds one row group and the drawn
subset; for the comparison with the test puzzles the written training set is read back whole.
Paper: sections "Sudoku" and "Maze", data.
"""

import heapq
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from jaxtyping import UInt8

from serrm.core.files import new_directory, write_json
from serrm.core.progress import with_progress
from serrm.core.randomness import Purpose, keyed_rng
from serrm.datasets.arc import AUDIT, PARTS, write_arc_sets
from serrm.puzzles.raw import Grids, Numbered
from serrm.puzzles.task import ArcTask, GridTask
from serrm.puzzles.tasks import TASKS

logger = logging.getLogger(__name__)

TRAIN = "train"
GRADE = "grade"
"""The column of grades of difficulty."""
# Rows of a row group; the rule check needs about 6 kB per row of a 9×9 Sudoku.
ROW_GROUP = 4096

T = TypeVar("T")


def set_file(name: str) -> str:
    """File name of a set: "train", "held_out", or the test set of a size such as 9x9."""
    return f"{TRAIN}.parquet" if name == TRAIN else f"test_{name}.parquet"


def write_sets(raw: Path, target: Path, task: str, settings: Any) -> None:
    """Write seeded subsets of a data set's raw files, every answer checked, to the directory `target`."""
    record = TASKS[task]
    if isinstance(record, GridTask):
        write_grid_sets(raw, target, settings, record)
    elif isinstance(record, ArcTask):
        write_arc_sets(raw, target, settings, record.version)


def write_grid_sets(raw: Path, target: Path, settings: Any, record: GridTask) -> None:
    """Write the training set and the test sets of a raw directory, and an audit if the task has one, to `target`.

    A subset depends only on the seed and its raw file, and with `is_rest` also on the training set.

    Raises:
        ValueError: a row is malformed, an answer is wrong, a test puzzle is also a training puzzle, or there are fewer
            puzzles than requested. Nothing is left behind.
    """
    with new_directory(target) as directory:
        sets = record.raw_sets(raw, settings)
        numbers: dict[str, set[int]] = {}
        for name, raw_set in sets.items():
            barred = numbers[TRAIN] if raw_set.is_rest else set()
            puzzles = (row for row in raw_set.puzzles if row[0] not in barred)
            rng = keyed_rng(settings.seed, Purpose.SUBSET, raw_set.stream)
            drawn = draw(with_progress(puzzles, f"{name} puzzles"), raw_set.num, rng, name)
            numbers[name] = write_set(directory / set_file(name), drawn, raw_set.side, name, record)
            logger.info("%s: %d puzzles", target / set_file(name), len(numbers[name]))
        train_side = sets[TRAIN].side
        names = [name for name, raw_set in sets.items() if name != TRAIN and raw_set.side == train_side]
        train, *tests = (read_puzzle_set(directory / set_file(name))[0] for name in (TRAIN, *names))
        for name, test in zip(names, tests, strict=True):
            _refuse_leaks(train, test, name, record)
        if record.audit is not None:
            entries = record.audit(train, tests[0], train_side)
            if record.grading is not None:
                entries |= {
                    "grades": {
                        name: count_grades(directory / set_file(name), record.grading.names) for name in sets
                    }
                }
            write_json(directory / AUDIT, entries)


def draw(
    puzzles: Iterable[tuple[int, T]], num: int | None, rng: np.random.Generator, name: str
) -> Iterator[tuple[int, T]]:
    """Draw a uniform random subset of `num` puzzles, in their order; None means all of them.

    In one pass, every puzzle draws a key, and the puzzles with the `num` largest keys stay. A larger draw with an equal
    rng contains a smaller one. ValueError if there are fewer than `num`.
    """
    if num is None:
        yield from puzzles
        return
    kept = heapq.nlargest(num, ((rng.random(), number, puzzle) for number, puzzle in puzzles))
    if len(kept) < num:
        raise ValueError(f"{name}: {num} puzzles requested, only {len(kept)} available")
    yield from sorted(((number, puzzle) for _, number, puzzle in kept), key=lambda entry: entry[0])


def write_set(path: Path, puzzles: Iterable[Numbered], side: int, name: str, record: GridTask) -> set[int]:
    """Check numbered puzzles of one side and write them, a row group at a time; returns their numbers.

    Columns: question and answer, I tokens as bytes, and the grade if the task has grades. ValueError if there are no
    puzzles, one of another side, or a wrong answer.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    fields = [pa.field(part, pa.binary(side * side), nullable=False) for part in PARTS]
    grade_fields = [pa.field(GRADE, pa.string(), nullable=False)] if record.grading is not None else []
    schema = pa.schema(fields + grade_fields)
    numbers: set[int] = set()
    iterator = iter(puzzles)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        while rows := list(islice(iterator, ROW_GROUP)):
            check_answers(rows, side, name, record)
            grids = {part: [getattr(puzzle, part).tobytes() for _, puzzle in rows] for part in PARTS}
            columns: dict[str, Any] = dict(grids)
            if record.grading is not None:
                columns[GRADE] = record.grading.of(np.stack([puzzle.question for _, puzzle in rows]))
            writer.write_table(pa.table(columns, schema=schema))
            numbers.update(number for number, _ in rows)
    if not numbers:
        raise ValueError(f"{name}: no puzzles")
    return numbers


def check_answers(rows: list[Numbered], side: int, name: str, record: GridTask) -> None:
    """Raise ValueError for a puzzle of another side, without an answer, or with a wrong one."""
    for number, puzzle in rows:
        if (num_cells := len(puzzle.question)) != side**2:
            raise ValueError(f"{name}: puzzle {number} has {num_cells} cells, not those of {side}x{side}")
        if puzzle.answer is None:
            raise ValueError(f"{name}: puzzle {number} has no answer")
    questions, answers = (np.stack([getattr(puzzle, part) for _, puzzle in rows]) for part in PARTS)
    if (wrong := record.wrong_label(questions, answers)) is not None:
        index, reason = wrong
        number, puzzle = rows[index]
        raise ValueError(
            f"{name}: the answer of puzzle {number} {reason}: {record.text.format(puzzle.question)}"
        )


def read_puzzle_set(path: Path) -> tuple[Grids, Grids]:
    """Read all questions "N I" and answers "N I" of a puzzle set."""
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=list(PARTS))
    questions, answers = (
        np.frombuffer(b"".join(table[part].to_pylist()), np.uint8).reshape(len(table), -1) for part in PARTS
    )
    return questions, answers


def read_grades(path: Path) -> list[str] | None:
    """Read the grades of the puzzles of a set; None if its task has none."""
    import pyarrow.parquet as pq

    has_grades = GRADE in pq.read_schema(path).names
    return pq.read_table(path, columns=[GRADE])[GRADE].to_pylist() if has_grades else None


def count_grades(path: Path, names: Sequence[str]) -> dict[str, int]:
    """Count the puzzles of a set by grade, easiest first."""
    counts = Counter(read_grades(path))
    return {name: counts[name] for name in names}


def _refuse_leaks(train: Grids, test: UInt8[np.ndarray, "M I"], name: str, record: GridTask) -> None:
    rows = {question.tobytes(): row for row, question in enumerate(test)}
    for question in train:
        if (row := rows.get(question.tobytes())) is not None:
            raise ValueError(
                f"row {row} of {set_file(name)} is also in the training set: {record.text.format(question)}"
            )
