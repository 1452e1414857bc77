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


def joined(blocks: Sequence[Rows]) -> Rows:
    """The rows of blocks of puzzles in one."""
    columns: list[Any] = [*zip(*blocks, strict=True)]
    whole: list[Any] = [None if column[0] is None else np.concatenate(column) for column in columns]
    return Rows(*whole)


def write_predictions(path: Path, task: str, sets: Iterable[SetPredictions]) -> None:
    """Write the predictions of a run for its sets."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sets = list(sets)
    kinds = dict.fromkeys(kind for of_set in sets for kind in of_set.groups)
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
        for of_set in sets:
            for start in range(0, len(of_set.names), CHUNK):
                columns = _columns(of_set, slice(start, start + CHUNK))
                num = len(columns["puzzle"])
                columns |= {"task": pa.repeat(task, num), "set": pa.repeat(of_set.name, num)}
                arrays = [
                    pa.nulls(num, kind) if (column := columns.get(name)) is None else pa.array(column, kind)
                    for name, kind in types.items()
                ]
                writer.write_table(pa.table(arrays, schema=schema))


def _columns(of_set: SetPredictions, part: slice) -> dict[str, Any]:
    """The columns of a part of a set's puzzles, one row per puzzle and number of steps."""
    import pyarrow as pa

    steps = sorted(of_set.after)
    numbers = np.arange(len(of_set.names))[part]

    def repeated(values: Sequence[str]) -> list[str]:
        return [value for value in values[part] for _ in steps]

    def of_steps(name: str) -> Any:
        columns = [getattr(of_set.after[step], name) for step in steps]
        if columns[0] is None:
            return None
        stacked = np.stack([column[part] for column in columns], axis=1)
        return stacked.reshape(len(numbers) * len(steps), *stacked.shape[2:])

    def as_bytes(tokens: UInt8[np.ndarray, "M I"]) -> Any:
        num, width = tokens.shape
        offsets = np.arange(num + 1, dtype=np.int32) * np.int32(width)
        content = np.ascontiguousarray(tokens).tobytes()
        buffers = [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(content)]
        return pa.BinaryArray.from_buffers(pa.binary(), num, buffers)

    grids = {"question": of_set.questions, "answer": of_set.answers}
    return {
        "side": np.full(len(numbers) * len(steps), of_set.side, dtype=np.int32),
        "puzzle": np.repeat(numbers, len(steps)),
        "name": repeated(of_set.names),
        "steps": np.tile(np.array(steps, dtype=np.int32), len(numbers)),
        **{name: of_steps(name) for name in ("solved", "right", "blank", "confidence", "halting")},
        **{name: as_bytes(np.repeat(grid[part], len(steps), axis=0)) for name, grid in grids.items()},
        "prediction": as_bytes(of_steps("prediction")),
        **{kind: repeated(names) for kind, names in of_set.groups.items()},
    }


def read_predictions(path: Path, columns: Sequence[str] | None = None) -> Any:
    """The predictions of a run as a pyarrow table, all columns or some. ValueError, with the file, if malformed."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_table(existing(path), columns=None if columns is None else [*columns])
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"{path}: no predictions of an evaluation: {reason}") from error
