"""Raw Sudoku files become puzzle sets: one typed Parquet file a set, one row a puzzle.

This is the work of the `augment` stage for Sudoku: a seeded subset of each raw file, every answer checked,
no test puzzle among the training puzzles. (The augmentations themselves are drawn when a batch is gathered.)
Files are streamed; memory holds one row group and the drawn subset, never a whole published file.
Paper: section "Sudoku", data: 1,000 training puzzles; test sets of four sizes.
"""

import heapq
import logging
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import numpy as np
from jaxtyping import UInt8, UInt64

from serrm.datasets.sudoku_raw import Numbered, read_held_out, read_scored, read_training
from serrm.manifest import check_manifest, new_directory
from serrm.progress import watch
from serrm.puzzles.sudoku.grid import are_solutions, box_for_side
from serrm.puzzles.sudoku.parse import Puzzle
from serrm.puzzles.sudoku.text import format_grid
from serrm.randomness import Purpose, keyed_rng
from serrm.sources.sudoku_layout import NUM_HELD_OUT

logger = logging.getLogger(__name__)

TRAIN = "train"
HELD_OUT: Final = "held_out"  # 9×9 puzzles to choose settings on, which are never scored otherwise
STREAMS = {TRAIN: 0, HELD_OUT: 1}  # of random numbers; a test set's is its side
OTHER_SIZES = ("4x4", "16x16", "25x25")
# Rows of a row group; the rule check needs some 6 kB a 9×9 row.
ROW_GROUP = 4096

T = TypeVar("T")
Grids = UInt8[np.ndarray, "N I"]


def write_puzzle_sets(
    raw: Path,
    target: Path,
    *,
    num_train: int | None,
    num_test: int | None,
    num_test_sizes: Mapping[str, int | None],
    seed: int,
    scored: Literal["evaluation", "held_out"] = "evaluation",
) -> None:
    """Write the training set and the test sets of a raw directory to the directory `target`.

    Args:
        raw: what `fetch` wrote.
        num_train: puzzles drawn for training, 9×9; None takes all.
        num_test: puzzles drawn for the 9×9 test; None takes all.
        num_test_sizes: the other test sets to write, of 4x4, 16x16, 25x25, with the puzzles drawn for each.
        seed: of the subsets; a subset depends on it and on the raw file alone.
        scored: held_out writes 9×9 puzzles to choose settings on in place of all test sets; None takes 512.

    Raises:
        ValueError: the raw files are not those of the manifest, a row is malformed, an answer is wrong, a
            test puzzle also is a training puzzle, or there are fewer puzzles than asked for. Nothing is left
            behind.
    """
    for size in num_test_sizes:
        if size not in OTHER_SIZES:
            raise ValueError(f"num_test_sizes: {size!r} is not one of {', '.join(OTHER_SIZES)}")
    check_manifest(raw)
    tests = (
        {HELD_OUT: num_test or NUM_HELD_OUT} if scored == HELD_OUT else {"9x9": num_test, **num_test_sizes}
    )
    with new_directory(target) as directory:
        for size, num in {TRAIN: num_train, **tests}.items():
            side = 9 if size in STREAMS else int(size.partition("x")[0])
            # Every set has its own stream, so that no set's size moves another's draw.
            rng = keyed_rng(seed, Purpose.SUBSET, STREAMS.get(size, side))
            puzzles = watch(_read(raw, size, directory), f"{size} puzzles")
            drawn = draw(puzzles, num, rng, size)
            num_written = write_puzzle_set(directory / set_file(size), drawn, side, size)
            logger.info("%s: %d puzzles", set_file(size), num_written)
        refuse_leaks(directory / set_file(TRAIN), directory / set_file(next(iter(tests))))


def _read(raw: Path, size: str, written: Path) -> Iterator[Numbered]:
    """The raw puzzles that a set is drawn from; those held out are none of the training set already written."""
    if size == TRAIN:
        return read_training(raw)
    if size != HELD_OUT:
        return read_scored(raw, size)
    import pyarrow.parquet as pq

    ids = pq.read_table(written / set_file(TRAIN), columns=["id"])["id"].to_pylist()
    return read_held_out(raw, set(ids))


def set_file(size: str) -> str:
    """The file name of a set: "train", "held_out", or the test set of size 4x4, 9x9, 16x16 or 25x25."""
    return f"{TRAIN}.parquet" if size == TRAIN else f"test_{size}.parquet"


def draw(
    puzzles: Iterable[tuple[int, T]], num: int | None, rng: np.random.Generator, name: str
) -> Iterator[tuple[int, T]]:
    """A uniform random subset of `num` puzzles, in their order; all of them for None.

    One pass: every puzzle draws a key, and those with the `num` largest stay; a larger draw with an equal rng
    holds a smaller one. `ValueError` if there are fewer than `num`, or none are asked for.
    """
    if num is None:
        yield from puzzles
        return
    if num < 1:
        raise ValueError(f"{name}: {num} puzzles asked for")
    kept: list[tuple[float, int, T]] = []
    for number, puzzle in puzzles:
        entry = (rng.random(), number, puzzle)
        if len(kept) < num:
            heapq.heappush(kept, entry)
        elif entry > kept[0]:
            heapq.heapreplace(kept, entry)
    if len(kept) < num:
        raise ValueError(f"{name}: {num} puzzles asked for, only {len(kept)} there")
    yield from sorted(((number, puzzle) for _, number, puzzle in kept), key=lambda entry: entry[0])


def write_puzzle_set(path: Path, puzzles: Iterable[Numbered], side: int, name: str) -> int:
    """Check puzzles of one side and write them as Parquet, a row group at a time; returns how many.

    Columns: id (the puzzle's number in its raw file), side, question and answer (I bytes, one a cell, 0 is
    blank), num_clues, rating (null if unknown), source.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    cells = pa.binary(side * side)
    schema = pa.schema(
        [
            pa.field("id", pa.int32(), nullable=False),
            pa.field("side", pa.uint8(), nullable=False),
            pa.field("question", cells, nullable=False),
            pa.field("answer", cells, nullable=False),
            pa.field("num_clues", pa.int16(), nullable=False),
            pa.field("rating", pa.int32()),
            pa.field("source", pa.string(), nullable=False),
        ]
    )
    num_written = 0
    iterator = iter(puzzles)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        while rows := list(islice(iterator, ROW_GROUP)):
            check_puzzles(rows, side, name)
            writer.write_table(pa.Table.from_pylist([_row(*row) for row in rows], schema=schema))
            num_written += len(rows)
    if not num_written:
        raise ValueError(f"{name}: no puzzles")
    return num_written


def _row(number: int, puzzle: Puzzle) -> dict[str, int | bytes | str | None]:
    assert puzzle.answer is not None, "checked before"
    return {
        "id": number,
        "side": puzzle.side,
        "question": puzzle.question.tobytes(),
        "answer": puzzle.answer.tobytes(),
        "num_clues": int((puzzle.question > 0).sum()),
        "rating": puzzle.rating,
        "source": puzzle.source,
    }


def check_puzzles(rows: list[Numbered], side: int, name: str) -> None:
    """`ValueError` for the first puzzle with another side, no answer, or an answer that breaks the rules.

    That the answer keeps the question's digits is true of every `Puzzle`.
    """
    for number, puzzle in rows:
        if puzzle.side != side:
            raise ValueError(f"{name}: puzzle {number} is {puzzle.side}x{puzzle.side}")
        if puzzle.answer is None:
            raise ValueError(f"{name}: puzzle {number} has no answer")
    answers = np.stack([puzzle.answer for _, puzzle in rows if puzzle.answer is not None])
    is_solution = are_solutions(answers, box_for_side(side))
    if not is_solution.all():
        number, puzzle = rows[int(np.argmin(is_solution))]
        question = format_grid(puzzle.question)
        raise ValueError(f"{name}: the answer of puzzle {number} is no solution: {question}")


def refuse_leaks(train: Path, test: Path) -> None:
    """`ValueError` naming the first test puzzle whose question also is a training question."""
    known = np.concatenate([fingerprints(questions) for questions, _ in read_puzzle_batches(train)])
    num_before = 0
    for questions, _ in read_puzzle_batches(test):
        for index in np.flatnonzero(np.isin(fingerprints(questions), known)):
            # Fingerprints may coincide, questions decide.
            if any((batch == questions[index]).all(axis=1).any() for batch, _ in read_puzzle_batches(train)):
                place = f"row {num_before + index} of {test.name}"
                raise ValueError(f"{place} is also in {train.name}: {format_grid(questions[index])}")
        num_before += len(questions)


def fingerprints(grids: Grids) -> UInt64[np.ndarray, " N"]:
    """A 64-bit hash of each grid: a fixed random linear combination of its cells, modulo 2^64."""
    weights = np.random.default_rng(0).integers(2**64, size=grids.shape[1], dtype=np.uint64)
    return np.asarray((grids * weights).sum(axis=1, dtype=np.uint64))


def read_puzzle_batches(path: Path) -> Iterator[tuple[Grids, Grids]]:
    """Questions and answers of a puzzle set, "N I" each with N at most ROW_GROUP, in the file's order."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=ROW_GROUP, columns=["question", "answer"]):
            yield _to_array(batch.column("question")), _to_array(batch.column("answer"))


def read_puzzle_set(path: Path) -> tuple[Grids, Grids]:
    """All questions "N I" and answers "N I" of a puzzle set, 0 for a blank."""
    questions, answers = zip(*read_puzzle_batches(path), strict=True)
    return np.concatenate(questions), np.concatenate(answers)


def _to_array(column: Any) -> Grids:
    """The rows of a column of bytes, all of one width (pyarrow's FixedSizeBinaryArray)."""
    width = column.type.byte_width
    cells = np.frombuffer(column.buffers()[1], dtype=np.uint8)
    return cells[column.offset * width : (column.offset + len(column)) * width].reshape(-1, width)
