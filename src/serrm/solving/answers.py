"""Answers to puzzles as `serrm solve` gives them: what each is worth, and how it is written as text, CSV or JSON."""

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from jaxtyping import UInt8

from serrm.puzzles.files import ARC, MAZE
from serrm.puzzles.maze import parse_maze
from serrm.puzzles.sudoku import parse_grid


class Status(StrEnum):
    """The worth of an answer, or why there is none."""

    VERIFIED = "verified"  # it obeys the rules and keeps what was given
    UNVERIFIED = "unverified"  # the network's best guess
    CONTRADICTORY = "contradictory"  # the puzzle has no solution
    UNSUPPORTED = "unsupported"  # the checkpoint cannot take it


@dataclass(frozen=True, eq=False)
class Trace:
    """Tokens of a question, and of the prediction after each supervision step of the attempt that gave the answer."""

    task: str
    side: int
    question: UInt8[np.ndarray, " I"]
    predictions: Sequence[UInt8[np.ndarray, " I"]]


@dataclass(frozen=True, eq=False)
class Answer:
    """The outcome of one puzzle of the input.

    `place` is where the puzzle stands, `steps` are the supervision steps of all `attempts`, `seconds` the puzzle's
    share of the time they took; `by` names what gave the answer, the network or an exact method.
    """

    place: str
    task: str
    question: str
    answer: str
    status: Status
    by: str = ""
    steps: int = 0
    attempts: int = 0
    seconds: float = 0.0
    remark: str = ""
    trace: Trace | None = None

    @property
    def grid(self) -> UInt8[np.ndarray, "R C"]:
        """The answer as an array: a Sudoku's values 1…n, a maze's tokens, an ARC grid's colours; 0 × 0 without one."""
        if not self.answer:
            return np.zeros((0, 0), dtype=np.uint8)
        if self.task == ARC:
            cells = np.array(json.loads(self.answer), dtype=np.uint8)
            return cells.reshape(cells.shape if cells.ndim == 2 else (0, 0))
        cells = parse_maze(self.answer) if self.task == MAZE else parse_grid(self.answer)
        return cells.reshape(math.isqrt(len(cells)), -1)


def as_text(answer: Answer) -> str:
    """Place, answer, status, cost and remark, separated by tabs."""
    unit = "step" if answer.steps == 1 else "steps"
    cost = f"{answer.steps} {unit}, {answer.seconds:.3f} s" if answer.steps else ""
    return "\t".join([answer.place, answer.answer, answer.status, cost, answer.remark]).rstrip()


def as_csv(answer: Answer) -> str:
    """The fields separated by commas."""
    return _row(values(answer).values())


def csv_header() -> str:
    """The names of the fields, separated by commas."""
    return _row(values(Answer("", "", "", "", Status.UNSUPPORTED)))


def as_json(answer: Answer) -> str:
    """An object of the fields on one line; an ARC answer is a text of JSON rows within it."""
    return json.dumps(values(answer))


def values(answer: Answer) -> dict[str, str | int | float]:
    """The fields of an answer by name but for its trace, seconds rounded to microseconds."""
    fields = {name: value for name, value in vars(answer).items() if name != "trace"}
    return fields | {"seconds": round(answer.seconds, 6)}


def summary(statuses: Counter[Status], num_steps: int, seconds: float) -> str:
    """All answers in one line."""
    num = statuses.total()
    counts = ", ".join(f"{statuses[status]} {status}" for status in Status if statuses[status])
    return f"{num} puzzle{'' if num == 1 else 's'}: {counts}; {num_steps} steps, {seconds:.1f} s"


def _row(cells: Iterable[str | int | float]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(cells)
    return line.getvalue()


FORMATS: dict[str, Callable[[Answer], str]] = {"text": as_text, "csv": as_csv, "json": as_json}
