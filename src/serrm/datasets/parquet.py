"""Puzzle sets on disk: Parquet, one typed file a set, one row a puzzle, written and read a row group at a time.

What the sets of tasks on square grids share: the seeded draw of a subset, the writer, the reader, and
the search for puzzles that are in two of them.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from jaxtyping import UInt8

TRAIN = "train"
PARTS = ("question", "answer")
# Rows of a row group; the rule check of a Sudoku needs some 6 kB a 9×9 row.
ROW_GROUP = 4096

T = TypeVar("T")
Grids = UInt8[np.ndarray, "N I"]


def set_file(name: str) -> str:
    """The file name of a set: "train", "held_out", or the test set of size 4x4, 9x9, 16x16 or 25x25."""
    return f"{TRAIN}.parquet" if name == TRAIN else f"test_{name}.parquet"


def draw(
    puzzles: Iterable[tuple[int, T]], num: int | None, rng: np.random.Generator, name: str
) -> Iterator[tuple[int, T]]:
    """A uniform random subset of `num` puzzles, in their order; all of them for None.

    One pass: every puzzle draws a key, and those with the `num` largest stay; a larger draw with an equal rng
    holds a smaller one. `ValueError` if there are fewer than `num`.
    """
    if num is None:
        yield from puzzles
        return
    kept = heapq.nlargest(num, ((rng.random(), number, puzzle) for number, puzzle in puzzles))
    if len(kept) < num:
        raise ValueError(f"{name}: {num} puzzles asked for, only {len(kept)} there")
    yield from sorted(((number, puzzle) for _, number, puzzle in kept), key=lambda entry: entry[0])


def write_set(
    path: Path,
    puzzles: Iterable[tuple[int, Any]],
    side: int,
    name: str,
    check: Callable[[list[tuple[int, Any]]], None],
    columns: list[Any],
    facts: Callable[[Any], Mapping[str, int | None]],
) -> int:
    """Check numbered puzzles of one side and write them, a row group at a time; returns how many.

    Columns: id (the puzzle's number in its raw file), side, question and answer (I bytes, one a cell), `columns`
    (pyarrow's fields), of which `facts` gives a puzzle's values, and source. ValueError if there are no puzzles, or one
    of another side.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    first = {"id": pa.int32(), "side": pa.uint8()} | dict.fromkeys(PARTS, pa.binary(side * side))
    fields = [pa.field(name, kind, nullable=False) for name, kind in first.items()]
    schema = pa.schema([*fields, *columns, pa.field("source", pa.string(), nullable=False)])

    def row(number: int, puzzle: Any) -> dict[str, Any]:
        grids = {part: getattr(puzzle, part).tobytes() for part in PARTS}
        return {"id": number, "side": puzzle.side, "source": puzzle.source, **grids, **facts(puzzle)}

    num_written, iterator = 0, iter(puzzles)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        while rows := list(islice(iterator, ROW_GROUP)):
            for number, puzzle in rows:
                if puzzle.side != side:
                    raise ValueError(
                        f"{name}: puzzle {number} is {puzzle.side}x{puzzle.side}, not {side}x{side}"
                    )
            check(rows)
            writer.write_table(pa.Table.from_pylist([row(*each) for each in rows], schema=schema))
            num_written += len(rows)
    if not num_written:
        raise ValueError(f"{name}: no puzzles")
    return num_written


def read_puzzle_batches(path: Path) -> Iterator[tuple[Grids, Grids]]:
    """Questions and answers of a puzzle set, "N I" each with N at most ROW_GROUP, in the file's order."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=ROW_GROUP, columns=list(PARTS)):
            questions, answers = (_to_array(batch.column(part)) for part in PARTS)
            yield questions, answers


def refuse_leaks(train: Path, test: Path, show: Callable[[UInt8[np.ndarray, " I"]], str]) -> None:
    """`ValueError` naming a test puzzle whose question also is a training question, as `show` writes it."""
    rows = {question.tobytes(): row for row, question in enumerate(_questions(test))}
    for question in _questions(train):
        if (row := rows.get(question.tobytes())) is not None:
            raise ValueError(f"row {row} of {test.name} is also in {train.name}: {show(question)}")


def _questions(path: Path) -> Iterator[UInt8[np.ndarray, " I"]]:
    for questions, _ in read_puzzle_batches(path):
        yield from questions


def read_puzzle_set(path: Path) -> tuple[Grids, Grids]:
    """All questions "N I" and answers "N I" of a puzzle set, 0 for a blank."""
    questions, answers = zip(*read_puzzle_batches(path), strict=True)
    return np.concatenate(questions), np.concatenate(answers)


def _to_array(column: Any) -> Grids:
    """The rows of a column of bytes, all of one width (pyarrow's FixedSizeBinaryArray)."""
    width = column.type.byte_width
    cells = np.frombuffer(column.buffers()[1], dtype=np.uint8)
    return cells[column.offset * width : (column.offset + len(column)) * width].reshape(-1, width)
