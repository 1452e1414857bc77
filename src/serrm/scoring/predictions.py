"""Predictions for every test puzzle after every scored number of supervision steps: a Parquet file per run.

Rows are in the order of sets, puzzles and steps. Columns:

    task, set, side     names of task and set, and the side of the grids
    puzzle, name        the puzzle's number in its set, from 0, and its name; on ARC-AGI those of a test input
    steps               supervision steps
    solved              as FSR counts it; on ARC-AGI true if one of the two answers with most votes is right
    right, blank        right cells, and cells to fill; null on ARC-AGI
    confidence          certainty of the least certain cell, as the loss defines it; on ARC-AGI the mean of the votes
    halting             probability of being right that a trained Q head states; null without one
    question, answer, prediction    tokens as bytes, row by row; on ARC-AGI the answer with most votes
    grade, family, …    the groups of the puzzle, where the set has some; null in other sets

Whoever draws or tabulates reads it here. Needs no torch.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from jaxtyping import Bool, Float32, Int, UInt8

from serrm.core.files import existing

PREDICTIONS: Final = "predictions.parquet"
CHUNK: Final = 2**14  # puzzles per row group


class Rows(NamedTuple):
    """The rows of N puzzles after one number of steps; `right` and `blank` are of cells, None on ARC-AGI."""

    solved: Bool[np.ndarray, " N"]
    right: Int[np.ndarray, " N"] | None
    blank: Int[np.ndarray, " N"] | None
    confidence: Float32[np.ndarray, " N"]
    halting: Float32[np.ndarray, " N"] | None
    prediction: UInt8[np.ndarray, "N I"]


class SetPredictions(NamedTuple):
    """The predictions for a set: names, grids and groups of its N puzzles, and their rows by number of steps."""

    name: str
    side: int
    names: Sequence[str]
    questions: UInt8[np.ndarray, "N I"]
    answers: UInt8[np.ndarray, "N I"]
    groups: Mapping[str, Sequence[str]]
    after: Mapping[int, Rows]


def join_rows(blocks: Sequence[Rows]) -> Rows:
    """Join the rows of blocks of puzzles."""
    columns: list[Any] = [*zip(*blocks, strict=True)]
    whole: list[Any] = [None if column[0] is None else np.concatenate(column) for column in columns]
    return Rows(*whole)


def write_predictions(path: Path, task: str, sets: Iterable[SetPredictions]) -> None:
    """Write the predictions of a run for its sets."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sets = list(sets)
    kinds = dict.fromkeys(kind for predictions in sets for kind in predictions.groups)
    types = {
        "task": pa.string(),
        "set": pa.string(),
        "side": pa.int32(),
        "puzzle": pa.int32(),
        "name": pa.string(),
        "steps": pa.int32(),
        "solved": pa.bool_(),
        "right": pa.int32(),
        "blank": pa.int32(),
        "confidence": pa.float32(),
        "halting": pa.float32(),
        **dict.fromkeys(("question", "answer", "prediction"), pa.binary()),
        **dict.fromkeys(kinds, pa.string()),
    }
    schema = pa.schema(types)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for predictions in sets:
            for start in range(0, len(predictions.names), CHUNK):
                columns = _columns(predictions, slice(start, start + CHUNK))
                num = len(columns["puzzle"])
                columns |= {"task": pa.repeat(task, num), "set": pa.repeat(predictions.name, num)}
                arrays = [
                    pa.nulls(num, kind) if (column := columns.get(name)) is None else pa.array(column, kind)
                    for name, kind in types.items()
                ]
                writer.write_table(pa.table(arrays, schema=schema))


def _columns(predictions: SetPredictions, chunk: slice) -> dict[str, Any]:
    """Make the columns of a chunk of a set's puzzles, one row per puzzle and number of steps that it had."""
    import pyarrow as pa

    steps, after = zip(*sorted(predictions.after.items()), strict=True)
    numbers = [np.arange(len(rows.solved))[chunk] for rows in after]
    puzzles, step_of_row = np.concatenate(numbers), np.repeat(np.array(steps, np.int32), [*map(len, numbers)])
    order = np.lexsort((step_of_row, puzzles))
    puzzles = puzzles[order]

    def in_order(columns: Sequence[Any]) -> Any:
        if columns[0] is None:
            return None
        return np.concatenate([column[chunk] for column in columns])[order]

    def as_bytes(tokens: UInt8[np.ndarray, "M I"]) -> Any:
        num, width = tokens.shape
        offsets = np.arange(num + 1, dtype=np.int32) * np.int32(width)
        buffers = [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(tokens.tobytes())]
        return pa.BinaryArray.from_buffers(pa.binary(), num, buffers)

    texts = {"name": predictions.names, **predictions.groups}
    columns = {
        name: in_order(column) for name, column in zip(Rows._fields, zip(*after, strict=True), strict=True)
    }
    return {
        **columns,
        **{name: [values[puzzle] for puzzle in puzzles.tolist()] for name, values in texts.items()},
        "side": np.full(len(puzzles), predictions.side, dtype=np.int32),
        "puzzle": puzzles,
        "steps": step_of_row[order],
        "question": as_bytes(predictions.questions[puzzles]),
        "answer": as_bytes(predictions.answers[puzzles]),
        "prediction": as_bytes(columns["prediction"]),
    }


def read_predictions(path: Path, columns: Sequence[str] | None = None) -> Any:
    """Read the predictions of a run as a pyarrow table, all columns or some. ValueError, with the file, if damaged."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_table(existing(path), columns=None if columns is None else [*columns])
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"{path}: no predictions of an evaluation: {reason}") from error
